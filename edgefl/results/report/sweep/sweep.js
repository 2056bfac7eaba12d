"use strict";
edgefl.whenBuilt((data) => {
  const MOST_PANELS = 48; // of a chart; more would take the browser too long
  const PANEL_WIDTH = 300; // pixels, at least
  const MOST_ABREAST = 4;
  const PANEL_HEIGHT = 210; // pixels, of the plot alone
  const GAP_ABOVE = 74; // between panels: an axis with its title, and the heading of the next one
  const GAP_BESIDE = 46;
  const MARGIN = { l: 62, r: 16, t: 30, b: 46 };
  const TICK_GAP = 26; // pixels between two ticks, at least
  const MOST_SPOKEN = 8; // points of a line that its chart's label names
  const MOST_LABELLED_CELLS = 120; // of a heat map; in more the numbers would not fit
  const BORDER_COLOUR = "#7d8894";
  const WIDEST_NAMES = 50; // characters of all names of a key's values that fit side by side below a chart
  const ROW_HEIGHT = 24; // pixels, of a name where they stand one below the other
  const AXIS_HEIGHT = 76; // pixels, of what stands below them

  const { colours, dashes, scale, keys, points, goals, measures, curves } = data;

  const find = (id) => document.getElementById(id);
  const titleOf = (id) => find(id).closest(".card").querySelector("h3");
  const findAll = (selector) => [...document.querySelectorAll(selector)];
  const chosenNumber = (id) => Number(find(id).value);
  const pressedButton = (group) => document.querySelector(`#${group} [aria-pressed="true"]`);

  /** Plotly reads some HTML tags in its texts. */
  const safe = (text) => text.replace(/[&<>]/g, (sign) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[sign]);

  /** The values of a point; one key may be left out. */
  function pointText(point, without = -1) {
    const parts = [];
    keys.forEach((key, number) => {
      if (number !== without) parts.push(key.named[points[point][number]]);
    });
    return parts.join(" · ");
  }

  const pointLabel = (point) => safe(pointText(point)) || "the only point";

  /** What a chart says about a point under the pointer. */
  const hoverText = (measure, point) => `${pointLabel(point)}<br>${safe(measure.text[point])}`;

  const plot = (id, traces, layout) => edgefl.plot(find(id), traces, layout);

  /** The points that the filters let through. */
  function visiblePoints() {
    const wanted = keys.map((_, number) => chosenNumber(`only-${number}`) - 1); // -1 is "all"
    const passes = (point) => wanted.every((value, number) => value < 0 || points[point][number] === value);
    return points.map((_, point) => point).filter(passes);
  }

  /** The values of a key that these points have, in order. */
  function valuesOf(key, chosen) {
    const values = new Set(chosen.map((point) => points[point][key]));
    return [...values].sort((one, other) => one - other);
  }

  /** The panels of a chart: [heading, points] for each setting of the keys that are neither of these. */
  function panelsBeside(taken, visible, section) {
    const beside = keys.map((_, number) => number).filter((number) => !taken.includes(number));
    const varying = beside.filter((number) => valuesOf(number, visible).length > 1);
    const panels = new Map();
    for (const point of visible) {
      const heading = varying.map((number) => keys[number].named[points[point][number]]).join(" · ");
      const order = varying.map((number) => String(points[point][number]).padStart(6, "0")).join();
      if (!panels.has(order)) panels.set(order, [heading, []]);
      panels.get(order)[1].push(point);
    }
    const ordered = [...panels.keys()].sort().map((order) => panels.get(order));
    const note = document.querySelector(`#${section} .note.left`);
    const more = ordered.length > MOST_PANELS;
    note.textContent = more ? `${MOST_PANELS} of ${ordered.length} panels are drawn. Choose values to see others.` : "";
    return ordered.slice(0, MOST_PANELS);
  }

  /** The lines of a panel: [number, points] for each value of a key, or the only line. */
  function linesOf(key, members, values) {
    if (key < 0) return [[0, members]];
    const lines = values.map((value, number) => [number, members.filter((point) => points[point][key] === value)]);
    return lines.filter(([, own]) => own.length);
  }

  /** How many panels stand side by side in an element, in rows of similar length. */
  function abreastIn(div, count) {
    const fit = Math.max(1, Math.min(MOST_ABREAST, Math.floor(div.clientWidth / PANEL_WIDTH)));
    return Math.ceil(count / Math.ceil(count / fit));
  }

  const axisName = (letter, number) => (number ? `${letter}${number + 1}` : letter);

  /**
   * Draw panels as small multiples, which share their axes.
   *
   * Each panel is [heading, traces]; the axes are those of one of them. Heights are of the plots alone, in pixels.
   */
  function drawPanels(div, panels, { xaxis, yaxis }, panelHeight = PANEL_HEIGHT) {
    const isSingle = panels.length < 2;
    div.closest(".card").classList.toggle("wide", !isSingle);
    div.dataset.tall = isSingle ? "" : "yes";
    if (isSingle) {
      if (!div.dataset.fixed) div.style.height = panelHeight === PANEL_HEIGHT ? "" : `${panelHeight + AXIS_HEIGHT}px`;
      plot(div.id, panels.flatMap(([, traces]) => traces), { xaxis, yaxis });
      return;
    }
    const abreast = abreastIn(div, panels.length);
    div.dataset.abreast = abreast;
    const rows = Math.ceil(panels.length / abreast);
    const innerWidth = Math.max(120, div.clientWidth - MARGIN.l - MARGIN.r);
    const innerHeight = rows * panelHeight + (rows - 1) * GAP_ABOVE;
    const width = (innerWidth - (abreast - 1) * GAP_BESIDE) / abreast / innerWidth;
    const height = panelHeight / innerHeight;
    const layout = { margin: MARGIN, annotations: [] };
    panels.forEach(([heading], number) => {
      const row = Math.floor(number / abreast);
      const left = (number % abreast) * (width + GAP_BESIDE / innerWidth);
      const top = 1 - row * (height + GAP_ABOVE / innerHeight);
      const isLast = number + abreast >= panels.length; // no panel stands below it
      const shared = (letter) => (number ? { matches: letter } : {});
      const titled = (axis, isShown) => (isShown ? axis : { ...axis, title: {} });
      layout[`xaxis${number ? number + 1 : ""}`] = {
        ...titled(xaxis, isLast), ...shared("x"), domain: [left, Math.min(1, left + width)], anchor: axisName("y", number),
      };
      layout[`yaxis${number ? number + 1 : ""}`] = {
        ...titled(yaxis, number % abreast === 0), ...shared("y"), domain: [Math.max(0, top - height), top], anchor: axisName("x", number),
      };
      layout.annotations.push({
        text: safe(heading), showarrow: false, font: { size: 12.5 },
        xref: "paper", yref: "paper", x: left + width / 2, y: top, xanchor: "center", yanchor: "bottom", yshift: 4,
      });
    });
    const traces = panels.flatMap(([heading, own], number) => own.map((trace) => {
      const axes = { xaxis: axisName("x", number), yaxis: axisName("y", number) };
      const name = [trace.name, safe(heading)].filter(Boolean).join(" · ");
      return { ...trace, ...axes, name };
    }));
    div.style.height = `${innerHeight + MARGIN.t + MARGIN.b}px`;
    plot(div.id, traces, layout);
  }

  // The dashes change, too, as one line may cover another.
  const colourOf = (number) => colours[number % colours.length];
  const dashOf = (number) => dashes[number % dashes.length];
  const lineStyle = (number) => ({ color: colourOf(number), width: 2.2, dash: dashOf(number) });

  function drawLegend(section, names) {
    const items = names.map((name, number) => {
      const swatch = document.createElement("i");
      swatch.className = "swatch";
      const style = dashOf(number) === "solid" ? "solid" : "dashed";
      swatch.style.borderTop = `3px ${style} ${edgefl.onPage(colourOf(number))}`;
      const item = document.createElement("span");
      item.append(swatch, name);
      return item;
    });
    const shown = names.length > 1 ? items : [];
    document.querySelector(`#${section} .key`).replaceChildren(...shown);
  }

  /** A confidence band: along its upper edge, and back along the lower one. */
  function bandTrace(x, y, half, number) {
    const upper = y.map((value, place) => value + half[place]);
    const lower = y.map((value, place) => value - half[place]);
    return {
      type: "scatter",
      mode: "lines",
      x: [...x, ...[...x].reverse()],
      y: [...upper, ...lower.reverse()],
      fill: "toself",
      fillcolor: colourOf(number),
      opacity: 0.16,
      line: { width: 0 },
      hoverinfo: "skip",
    };
  }

  /** Runs of neighbouring places with a known interval: a single run has none, nor has a median. */
  function stretches(known) {
    const found = [];
    known.forEach((isKnown, place) => {
      if (!isKnown) return;
      if (known[place - 1]) found.at(-1).push(place);
      else found.push([place]);
    });
    return found;
  }

  /** The places of points on the axis of a key. */
  function placesOn(axis, chosen) {
    const { numbers, texts } = keys[axis];
    return chosen.map((point) => {
      const value = points[point][axis];
      return numbers ? numbers[value] : safe(texts[value]);
    });
  }

  /** Returns whether the values of a key stand below each other, as their names would not fit side by side. */
  function isUpright(axis) {
    const { numbers, texts } = keys[axis];
    return !numbers && texts.join("").length > WIDEST_NAMES;
  }

  /** Lay a trace on its side: the key on the vertical axis, the measure on the horizontal one. */
  function upright({ x, y, error_y, marker, ...rest }) {
    const symbol = marker.symbol === "triangle-up-open" ? "triangle-right-open" : marker.symbol;
    const meta = { ...rest.meta, isUpright: true };
    return { ...rest, x: y, y: x, error_x: error_y, marker: { ...marker, symbol }, meta };
  }

  /** Half of the interval that is chosen. */
  const spreadOf = (measure) => (find("interval").value === "sd" ? measure.sd : measure.half);

  /** The value above all points and their intervals, at which missed targets are marked. */
  function ceilingOf(measure, chosen) {
    const tops = chosen.map((point) => {
      const upper = (measure.y[point] ?? 0) + (spreadOf(measure)[point] ?? 0);
      return Math.max(upper, measure.above[point] ?? 0, ...measure.runs[point]);
    });
    return 1.06 * Math.max(0, ...tops);
  }

  /** The estimates of a line in words, with their intervals; nothing of many, which are too much to listen to. */
  function lineWords(name, measure, axis, members) {
    if (members.length > MOST_SPOKEN) return undefined;
    const parts = members.map((point) => `${measure.text[point]} at ${keys[axis].texts[points[point][axis]]}`);
    return { words: [name, parts.join(", ")].filter(Boolean).join(": ") };
  }

  /** The traces of one line: bands, then means and medians, then marks of missed targets. */
  function lineTraces(measure, axis, [name, members], number, ceiling) {
    const ordered = [...members].sort((one, other) => points[one][axis] - points[other][axis]);
    const x = placesOn(axis, ordered);
    const y = ordered.map((point) => measure.y[point]);
    const half = ordered.map((point) => spreadOf(measure)[point]);
    const known = half.map((value) => value !== null);
    const isNumeric = keys[axis].numbers !== null;
    const traces = [];
    if (isNumeric) {
      for (const places of stretches(known)) {
        const pick = (values) => places.map((place) => values[place]);
        if (places.length > 1) traces.push(bandTrace(pick(x), pick(y), pick(half), number));
      }
    }
    const marker = { color: colourOf(number), line: { color: colourOf(number), width: 2 } };
    traces.push({
      type: "scatter",
      mode: isNumeric ? "lines+markers" : "markers",
      x,
      y,
      line: lineStyle(number),
      marker: { ...marker, size: 9, symbol: ordered.map((point) => (measure.mean[point] ? "circle" : "circle-open")) },
      error_y: {
        array: half.map((value) => value ?? 0),
        color: colourOf(number),
        thickness: 1.4,
        visible: known.some(Boolean),
      },
      text: ordered.map((point) => hoverText(measure, point)),
      hovertemplate: "%{text}<extra></extra>",
      name: safe(name),
      meta: lineWords(name, measure, axis, ordered),
    });
    const missed = ordered.filter((point) => measure.above[point] !== null);
    traces.push({
      type: "scatter",
      mode: "markers",
      x: placesOn(axis, missed),
      y: missed.map(() => ceiling),
      cliponaxis: false,
      marker: { ...marker, size: 12, symbol: "triangle-up-open" },
      meta: { words: `${missed.length} points missed the target and stand at the top`, isMark: true },
      text: missed.map((point) => hoverText(measure, point)),
      hovertemplate: "%{text}<extra></extra>",
    });
    const runs = ordered.flatMap((point) => measure.runs[point].map((value) => [point, value]));
    if (runs.length) {
      traces.push({
        type: "scatter",
        mode: "markers",
        x: placesOn(axis, runs.map(([point]) => point)),
        y: runs.map(([, value]) => value),
        marker: { color: colourOf(number), size: 5, opacity: 0.6 },
        hoverinfo: "skip",
      });
    }
    return traces;
  }

  /** The values at which an axis of some pixels has room for a tick, from the highest down. */
  function ticksOf(numbers, log, pixels) {
    const places = log ? numbers.map(Math.log) : numbers;
    const length = Math.abs(places.at(-1) - places[0]) || 1;
    const kept = [numbers.length - 1];
    for (let number = numbers.length - 2; number >= 0; number -= 1) {
      if (((places[kept.at(-1)] - places[number]) / length) * pixels >= TICK_GAP) kept.push(number);
    }
    return kept.reverse().map((number) => numbers[number]);
  }

  function keyAxis({ log, numbers, texts, axis }, pixels) {
    const layout = { title: { text: safe(axis) } };
    if (!numbers) return { ...layout, type: "category", categoryorder: "array", categoryarray: texts.map(safe) };
    const tickvals = ticksOf(numbers, log, pixels);
    return { ...layout, tickvals, ticktext: tickvals.map(String), ...(log ? { type: "log" } : {}) };
  }

  function measureAxis(measure, ceiling) {
    const layout = { title: { text: measure.title } };
    if (measure.log) return { ...layout, type: "log" };
    // From zero on, differences of accuracies would vanish; below 0 % and above 100 % there are none.
    if (measure.share) return { ...layout, autorangeoptions: { clipmin: 0, clipmax: 100 } };
    return { ...layout, range: [0, 1.03 * ceiling] };
  }

  /** Draw a measure over a key. */
  function drawOverKey(id, measure, axis, lineKey, panels) {
    titleOf(id).textContent = measure.title.replace(/ \[.*/, ""); // before the chart, which is labelled with it
    const everyPoint = panels.flatMap(([, members]) => members);
    const ceiling = ceilingOf(measure, everyPoint);
    const values = lineKey < 0 ? [] : valuesOf(lineKey, everyPoint);
    const nameOf = (number) => (lineKey < 0 ? "" : keys[lineKey].named[values[number]]);
    const drawn = panels.map(([heading, members]) => {
      const lines = linesOf(lineKey, members, values);
      return [heading, lines.flatMap(([number, own]) => lineTraces(measure, axis, [nameOf(number), own], number, ceiling))];
    });
    const div = find(id);
    const alongKey = keyAxis(keys[axis], div.clientWidth / abreastIn(div, panels.length) - 80);
    const alongMeasure = measureAxis(measure, ceiling);
    if (!isUpright(axis)) {
      drawPanels(div, drawn, { xaxis: alongKey, yaxis: alongMeasure });
      return;
    }
    const turned = drawn.map(([heading, traces]) => [heading, traces.map(upright)]);
    const axes = {
      xaxis: { ...alongMeasure, showgrid: true },
      yaxis: { ...alongKey, title: {}, autorange: "reversed" },
    };
    drawPanels(div, turned, axes, keys[axis].texts.length * ROW_HEIGHT);
  }

  function curveTraces(point, view, number) {
    const { x, y, half, runs } = curves.points[point][view];
    const traces = [];
    if (half) traces.push(bandTrace(x, y, half, number));
    const few = runs?.length > 1 ? runs : []; // a single run is the curve itself
    for (const values of few) {
      const line = { ...lineStyle(number), width: 1 };
      traces.push({ type: "scatter", mode: "lines", x, y: values, line, opacity: 0.45, hoverinfo: "skip" });
    }
    traces.push({
      type: "scatter",
      mode: x.length > 1 ? "lines" : "markers",
      x,
      y,
      line: lineStyle(number),
      marker: { color: colourOf(number) },
      name: pointLabel(point),
      hovertemplate: `${pointLabel(point)}<br>%{y:.4~g} at %{x:.4~g}<extra></extra>`,
    });
    return traces;
  }

  function drawLearning(axis, lineKey, visible) {
    if (!curves) return;
    const view = pressedButton("views").dataset.value;
    const withCurves = visible.filter((point) => curves.points[point]?.[view]);
    const key = lineKey < 0 ? axis : lineKey; // without lines of its own, a line for each value along the axis
    const panels = panelsBeside([key], withCurves, "learning");
    const values = key < 0 ? [] : valuesOf(key, withCurves);
    if (!panels.length) {
      document.querySelector("#learning .left").textContent = "This page has no curves of the points you chose.";
    }
    drawLegend("learning", key < 0 ? [] : values.map((value) => keys[key].named[value]));
    const drawn = panels.map(([heading, members]) => {
      const lines = linesOf(key, members, values);
      return [heading, lines.flatMap(([number, own]) => own.flatMap((point) => curveTraces(point, view, number)))];
    });
    const xaxis = { title: { text: curves.views[view] }, rangemode: "tozero" };
    const yaxis = curves.percent
      ? { title: { text: `${curves.title} [%]` }, range: [0, 100] }
      : { title: { text: curves.title } };
    drawPanels(find("curves"), drawn, { xaxis, yaxis });
  }

  /** Draw a measure over two keys; of points that share a cell the lowest. */
  function drawHeatMap(id, measure, visible, [columnKey, rowKey]) {
    titleOf(id).textContent = measure.title;
    const columns = valuesOf(columnKey, visible);
    const rows = valuesOf(rowKey, visible);
    const z = rows.map(() => columns.map(() => null));
    const text = rows.map(() => columns.map(() => ""));
    for (const point of visible) {
      const value = measure.y[point];
      if (value === null) continue;
      const row = rows.indexOf(points[point][rowKey]);
      const column = columns.indexOf(points[point][columnKey]);
      if (z[row][column] === null || value < z[row][column]) {
        z[row][column] = value;
        text[row][column] = hoverText(measure, point);
      }
    }
    const fits = rows.length * columns.length <= MOST_LABELLED_CELLS;
    const trace = {
      type: "heatmap",
      x: columns.map((value) => keys[columnKey].texts[value]),
      y: rows.map((value) => keys[rowKey].texts[value]),
      z,
      text,
      colorscale: scale,
      colorbar: { thickness: 12, outlinewidth: 0 },
      texttemplate: fits ? "%{z:.3~g}" : "",
      hovertemplate: "%{text}<extra></extra>",
      hoverongaps: false,
      xgap: 1,
      ygap: 1,
    };
    const categories = (key) => ({ title: { text: safe(keys[key].title) }, type: "category", showgrid: false });
    plot(id, [trace], { xaxis: categories(columnKey), yaxis: categories(rowKey), margin: { r: 8 } });
  }

  /** Returns whether one point is at least as good as another in all costs, and better in one. */
  function dominates(one, other) {
    const isNoWorse = one.every((cost, place) => cost <= other[place]);
    const isBetter = one.some((cost, place) => cost < other[place]);
    return isNoWorse && isBetter;
  }

  /** The points on the Pareto front in words. */
  function frontWords(count, onFront, shown) {
    const named = onFront.slice(0, MOST_SPOKEN).map((point) => {
      const values = shown.map((measure) => measure.text[point]);
      return `${pointText(point) || "the only point"} (${values.join(", ")})`;
    });
    return `${count} points, ${onFront.length} on the Pareto front: ${named.join("; ")}`;
  }

  /** Draw time against energy, with rings around the Pareto front. */
  function drawFront(goal, visible) {
    const time = measures[goal.time];
    const energy = measures[goal.energy];
    const accuracy = measures.final_accuracy;
    const shown = accuracy ? [time, energy, accuracy] : [time, energy];
    const known = visible.filter((point) => time.y[point] !== null && energy.y[point] !== null);
    const costs = known.map((point) => {
      const cost = [time.y[point], energy.y[point]];
      if (accuracy) cost.push(-(accuracy.y[point] ?? 0)); // of accuracies more is better
      return cost;
    });
    const isOnFront = (_, place) => !costs.some((other) => dominates(other, costs[place]));
    const onFront = known.filter(isOnFront);
    const positions = (chosen) => ({
      type: "scatter",
      mode: "markers",
      x: chosen.map((point) => time.y[point]),
      y: chosen.map((point) => energy.y[point]),
    });
    const isMean = (point) => time.mean[point] && energy.mean[point];
    const marker = {
      size: 10,
      symbol: known.map((point) => (isMean(point) ? "circle" : "diamond")),
      line: { color: BORDER_COLOUR, width: 0.8 },
      color: colours[0],
    };
    if (accuracy) {
      marker.color = known.map((point) => accuracy.y[point]);
      marker.colorscale = scale;
      marker.colorbar = { title: { text: "final accuracy [%]", side: "right" }, thickness: 12, outlinewidth: 0 };
    }
    const trace = {
      ...positions(known),
      marker,
      meta: { words: frontWords(known.length, onFront, shown) },
      text: known.map((point) => {
        const values = shown.map((measure) => safe(measure.text[point]));
        return [pointLabel(point), ...values].join("<br>");
      }),
      hovertemplate: "%{text}<extra></extra>",
    };
    const rings = {
      ...positions(onFront),
      marker: { symbol: "circle-open", size: 17, color: colours[1], line: { width: 2.5 } },
      hoverinfo: "skip",
    };
    const axis = (measure) => ({ title: { text: measure.title }, ...(measure.log ? { type: "log" } : {}) });
    plot("front", [trace, rings], { xaxis: axis(time), yaxis: axis(energy) });
    noteMissing(visible.length - known.length);
  }

  function noteMissing(count) {
    const note = document.querySelector("#pareto .left");
    const subject = count === 1 ? "1 point is" : `${count} points are`;
    const reason = "at least half of the runs missed the target, or no run has finished";
    note.textContent = count ? `${subject} not shown: ${reason}.` : "";
  }

  /** The two keys of the heat maps: numeric ones, that of the horizontal axis first. */
  function heatMapKeys(axis) {
    const numeric = keys.map((_, number) => number).filter((number) => keys[number].numbers);
    const others = numeric.filter((number) => number !== axis);
    const ordered = numeric.includes(axis) ? [axis, ...others] : others;
    return ordered.slice(0, 2);
  }

  /** Returns whether the time of a goal says anything: that of rounds that end at a deadline is the deadline's. */
  const timeCounts = (goal) => Boolean(goal.target) || !data.deadline;

  /** The measures that have a chart over a key, by the name of their place. */
  function measuresOf(goal) {
    return {
      time: timeCounts(goal) ? goal.time : "",
      energy: goal.energy,
      accuracy: "final_accuracy",
      received: "received_share",
      wasted: "wasted_j",
      ...Object.fromEntries(data.more.map((name) => [`of-${name}`, name])),
    };
  }

  function drawKeys(goal, axis, lineKey, visible) {
    find("effect").hidden = axis < 0;
    if (axis < 0) return;
    const panels = panelsBeside([axis, lineKey], visible, "effect");
    const values = lineKey < 0 ? [] : valuesOf(lineKey, visible);
    drawLegend("effect", values.map((value) => keys[lineKey].named[value]));
    const shown = Object.entries(measuresOf(goal)).filter(([, name]) => measures[name]);
    // Before drawing, as the other charts take the room of one that is hidden.
    for (const id of Object.keys(measuresOf(goal))) {
      const card = find(id).closest(".card");
      card.hidden = !shown.some(([name]) => name === id);
      card.classList.toggle("wide", panels.length > 1);
      card.style.order = id === "received" && !timeCounts(goal) ? -1 : "";
    }
    for (const [id, name] of shown) drawOverKey(id, measures[name], axis, lineKey, panels);
  }

  function drawHeatMaps(goal, axis, visible) {
    const pair = heatMapKeys(axis);
    find("heat").hidden = pair.length < 2; // before drawing: Plotly needs the size of its place
    if (pair.length < 2) return;
    const first = timeCounts(goal) ? goal.time : "received_share";
    find("heat-time").closest(".card").hidden = !measures[first];
    if (measures[first]) drawHeatMap("heat-time", measures[first], visible, pair);
    drawHeatMap("heat-energy", measures[goal.energy], visible, pair);
  }

  function showAnswer(goalNumber, axis) {
    for (const text of findAll(".story[data-key]")) {
      const isChosen = Number(text.dataset.goal) === goalNumber && Number(text.dataset.key) === axis;
      text.hidden = !isChosen;
    }
    const baseline = chosenNumber("baseline");
    for (const table of findAll("[data-baseline]")) {
      const isChosen = Number(table.dataset.goal) === goalNumber && Number(table.dataset.baseline) === baseline;
      table.hidden = !isChosen;
    }
  }

  /** The key of the lines: the chosen one, unless it is along the axis; -1 for a single line. */
  function linesBeside(axis) {
    if (keys.length < 2) return -1;
    const chosen = chosenNumber("lines");
    if (chosen !== axis) return chosen;
    return keys.findIndex((_, number) => number !== axis);
  }

  function draw() {
    const goalNumber = Number(pressedButton("goals").dataset.value);
    const goal = goals[goalNumber];
    const axis = keys.length ? chosenNumber("axis") : -1;
    const lineKey = linesBeside(axis);
    const visible = visiblePoints();
    const isVisible = new Set(visible);
    for (const row of findAll(".points tbody tr")) row.hidden = !isVisible.has(Number(row.dataset.point));
    find("count").textContent = `${visible.length} of ${points.length} points`;
    showAnswer(goalNumber, axis);
    drawKeys(goal, axis, lineKey, visible);
    drawLearning(axis, lineKey, visible);
    drawHeatMaps(goal, axis, visible);
    drawFront(goal, visible);
  }

  function sortTable(head, column) {
    const descending = head.getAttribute("aria-sort") === "ascending"; // a second click turns the order round
    for (const other of findAll(".points th")) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", descending ? "descending" : "ascending");
    const value = (row) => Number(row.cells[column].dataset.sort);
    const direction = descending ? -1 : 1;
    const rows = findAll(".points tbody tr");
    rows.sort((one, other) => direction * (value(one) - value(other)));
    document.querySelector(".points tbody").append(...rows);
  }

  /** Shows that the table is wider than its card: not every system shows a scroll bar. */
  function showWidth() {
    const box = document.querySelector("#table .scroll");
    const hidden = box.scrollWidth - box.clientWidth - box.scrollLeft;
    box.classList.toggle("wider", hidden > 1);
    document.querySelector("#table .wide").hidden = box.scrollWidth <= box.clientWidth;
  }

  function press(button, buttons) {
    for (const other of buttons) other.setAttribute("aria-pressed", String(other === button));
    draw();
  }

  for (const group of ["goals", "views"]) {
    const buttons = findAll(`#${group} button`);
    for (const button of buttons) button.addEventListener("click", () => press(button, buttons));
  }
  for (const select of findAll(".controls select")) select.addEventListener("change", draw);
  findAll(".points th").forEach((head, column) => {
    head.firstElementChild.addEventListener("click", () => sortTable(head, column));
  });
  /** Draw again where another number of panels fits side by side. */
  function fitPanels() {
    const grids = findAll(".plot[data-abreast]").filter((div) => div.clientWidth && div.dataset.tall);
    const isOther = (div) => {
      const count = edgefl.chartOf(div).layout.annotations?.length ?? 0;
      return count > 1 && String(abreastIn(div, count)) !== div.dataset.abreast;
    };
    if (grids.some(isOther)) draw();
  }

  draw();
  showWidth();
  window.addEventListener("resize", fitPanels);
  document.querySelector("#table .scroll").addEventListener("scroll", showWidth);
  new ResizeObserver(showWidth).observe(document.querySelector("#table .scroll"));
});
