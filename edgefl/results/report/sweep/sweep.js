"use strict";
(async () => {
  const MOST_LINES = 8; // in a chart
  const { template, colours, dashes, scale, keys, at, goals, measures, curves } = JSON.parse(
    document.getElementById("data").textContent,
  );
  const config = { responsive: true, displayModeBar: false };
  const find = (id) => document.getElementById(id);
  const all = (selector) => [...document.querySelectorAll(selector)];
  const number = (id) => Number(find(id).value);

  /** Plotly reads some HTML tags in its texts. */
  const safe = (text) => text.replace(/[&<>]/g, (sign) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[sign]);
  const pressed = (group) => document.querySelector(`#${group} [aria-pressed="true"]`);
  const told = (point, without = -1) =>
    keys
      .map((key, place) => (place === without ? "" : `${key.title} ${key.texts[at[point][place]]}`))
      .filter(Boolean)
      .join(" · ");
  const named = (point) => safe(told(point)) || "the only point";

  async function loadPlotly() {
    const bytes = Uint8Array.from(atob(find("plotly").textContent), (sign) => sign.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const script = document.createElement("script");
    script.textContent = await new Response(stream).text();
    document.head.append(script);
  }

  function plot(id, data, layout) {
    Plotly.react(find(id), data, structuredClone({ template, ...layout }), config);
  }

  /** The points that the filters leave. */
  function visible() {
    const wanted = keys.map((_, place) => number(`only-${place}`) - 1);
    return at.map((_, point) => point).filter((point) =>
      wanted.every((value, place) => value < 0 || at[point][place] === value),
    );
  }

  /** Points that share the values of all keys but the axis's; of very many the first, with a line that says so. */
  function lines(points, axis, section) {
    const groups = new Map();
    for (const point of points) {
      const name = told(point, axis);
      groups.set(name, [...(groups.get(name) ?? []), point]);
    }
    return some([...groups], section, "settings of the other keys");
  }

  function some(every, section, things) {
    const left = document.querySelector(`#${section} .note.left`);
    left.textContent =
      every.length > MOST_LINES ? `${MOST_LINES} of ${every.length} ${things} are drawn: choose values to see others.` : "";
    return every.slice(0, MOST_LINES);
  }

  const colour = (turn) => colours[turn % colours.length];
  const dash = (turn) => dashes[Math.floor(turn / colours.length) % dashes.length];

  function legend(section, names) {
    const items = names.map((name, turn) => {
      const swatch = document.createElement("i");
      swatch.className = "swatch";
      swatch.style.borderTop = `3px ${dash(turn) === "solid" ? "solid" : "dashed"} ${colour(turn)}`;
      const item = document.createElement("span");
      item.append(swatch, name);
      return item;
    });
    document.querySelector(`#${section} .key`).replaceChildren(...(names.length > 1 ? items : []));
  }

  function area(x, y, half, turn) {
    const ends = [...y.map((value, place) => value + half[place]), ...y.map((value, place) => value - half[place]).reverse()];
    return {
      type: "scatter", mode: "lines", x: [...x, ...[...x].reverse()], y: ends, fill: "toself", fillcolor: colour(turn),
      opacity: 0.16, line: { width: 0 }, hoverinfo: "skip",
    };
  }

  /** Stretches of known half widths: a band has no place where there is a single run, or a median. */
  function stretches(known) {
    const found = [];
    known.forEach((ok, place) => {
      if (ok && known[place - 1]) found.at(-1).push(place);
      else if (ok) found.push([place]);
    });
    return found;
  }

  function across(axis, points) {
    const { numbers, texts } = keys[axis];
    return points.map((point) => (numbers ? numbers[at[point][axis]] : safe(texts[at[point][axis]])));
  }

  /** A measure against a key: lines with bands, open marks where it is censored. */
  function against(id, measure, axis, drawn) {
    const data = [];
    const shown = drawn.flatMap(([, points]) => points);
    const heights = shown.map((point) => Math.max((measure.y[point] ?? 0) + (measure.half[point] ?? 0), measure.above[point] ?? 0));
    const ceiling = 1.06 * Math.max(0, ...heights);
    drawn.forEach(([, members], turn) => {
      const points = [...members].sort((one, other) => at[one][axis] - at[other][axis]);
      const x = across(axis, points);
      const [y, half] = [points.map((point) => measure.y[point]), points.map((point) => measure.half[point])];
      if (keys[axis].numbers) {
        for (const places of stretches(half.map((value) => value !== null)).filter((stretch) => stretch.length > 1)) {
          const pick = (values) => places.map((place) => values[place]);
          data.push(area(pick(x), pick(y), pick(half), turn));
        }
      }
      const look = { color: colour(turn), line: { color: colour(turn), width: 2 } };
      data.push({
        type: "scatter", mode: keys[axis].numbers ? "lines+markers" : "markers", x, y,
        line: { color: colour(turn), width: 2.2, dash: dash(turn) },
        marker: { ...look, size: 9, symbol: points.map((point) => (measure.mean[point] ? "circle" : "circle-open")) },
        error_y: { array: half.map((value) => value ?? 0), color: colour(turn), thickness: 1.4, visible: half.some((value) => value !== null) },
        text: points.map((point) => `${named(point)}<br>${safe(measure.text[point])}`), hovertemplate: "%{text}<extra></extra>",
      });
      const missed = points.filter((point) => measure.above[point] !== null);
      data.push({
        type: "scatter", mode: "markers", x: across(axis, missed), y: missed.map(() => ceiling), cliponaxis: false,
        marker: { ...look, size: 12, symbol: "triangle-up-open" },
        text: missed.map((point) => `${named(point)}<br>${safe(measure.text[point])}`), hovertemplate: "%{text}<extra></extra>",
      });
    });
    const { log, numbers, axis: title, texts } = keys[axis];
    const order = numbers ? {} : { type: "category", categoryorder: "array", categoryarray: texts.map(safe) };
    const powers = log ? { type: "log", tickvals: numbers, ticktext: numbers.map(String) } : {};
    const rising = measure.log ? { type: "log" } : measure.accuracy ? {} : { range: [0, 1.03 * ceiling] };
    plot(id, data, { xaxis: { title: { text: safe(title) }, ...order, ...powers }, yaxis: { title: { text: measure.title }, ...rising } });
    find(id).previousElementSibling.textContent = measure.title.replace(/ \[.*/, "");
  }

  function learning(points) {
    if (!curves) return;
    const view = pressed("views").dataset.value;
    const drawn = some(points.filter((point) => curves.points[point]?.[view]), "learning", "points with curves");
    const data = drawn.flatMap((point, turn) => {
      const { x, y, half } = curves.points[point][view];
      const bands = half.every((value) => value !== null) ? [area(x, y, half, turn)] : [];
      const line = { type: "scatter", mode: x.length > 1 ? "lines" : "markers", x, y, line: { color: colour(turn), width: 2.2, dash: dash(turn) } };
      return [...bands, { ...line, marker: { color: colour(turn) }, hovertemplate: `${named(point)}<br>%{y:.4~g} at %{x:.4~g}<extra></extra>` }];
    });
    if (!drawn.length) document.querySelector("#learning .left").textContent = "None of the points chosen has its curves on this page.";
    legend("learning", drawn.map((point) => told(point)));
    const height = { title: { text: curves.percent ? `${curves.title} [%]` : curves.title } };
    plot("curves", data, { xaxis: { title: { text: curves.views[view] }, rangemode: "tozero" }, yaxis: { ...height, ...(curves.percent ? { range: [0, 101] } : {}) } });
  }

  function heat(id, measure, points, [across, up]) {
    const columns = [...new Set(points.map((point) => at[point][across]))].sort((a, b) => a - b);
    const rows = [...new Set(points.map((point) => at[point][up]))].sort((a, b) => a - b);
    const z = rows.map(() => columns.map(() => null));
    const text = rows.map(() => columns.map(() => ""));
    for (const point of points.filter((one) => measure.y[one] !== null)) {
      const [row, column] = [rows.indexOf(at[point][up]), columns.indexOf(at[point][across])];
      if (z[row][column] === null || measure.y[point] < z[row][column]) {
        z[row][column] = measure.y[point];
        text[row][column] = `${named(point)}<br>${safe(measure.text[point])}`;
      }
    }
    const trace = {
      type: "heatmap", z, text, colorscale: scale, hovertemplate: "%{text}<extra></extra>", hoverongaps: false, xgap: 1, ygap: 1,
      x: columns.map((value) => keys[across].texts[value]), y: rows.map((value) => keys[up].texts[value]),
      texttemplate: z.flat().length <= 120 ? "%{z:.3~g}" : "", colorbar: { thickness: 12, outlinewidth: 0 },
    };
    const ordinal = (key) => ({ title: { text: safe(key.title) }, type: "category", showgrid: false });
    plot(id, [trace], { xaxis: ordinal(keys[across]), yaxis: ordinal(keys[up]), margin: { r: 8 } });
    find(id).previousElementSibling.textContent = measure.title;
  }

  /** Whether one point is at least as good as another in all costs, and better in one. */
  const beats = (one, other) =>
    one.every((value, place) => value <= other[place]) && one.some((value, place) => value < other[place]);

  function front(goal, points) {
    const [time, energy, accuracy] = [measures[goal.time], measures[goal.energy], measures.final_accuracy];
    const known = points.filter((point) => time.y[point] !== null && energy.y[point] !== null);
    const costs = known.map((point) => [time.y[point], energy.y[point], ...(accuracy ? [-(accuracy.y[point] ?? 0)] : [])]);
    const best = known.map((_, place) => !costs.some((other) => beats(other, costs[place])));
    const marker = accuracy
      ? { color: known.map((point) => accuracy.y[point]), colorscale: scale, colorbar: { title: { text: "final accuracy [%]", side: "right" }, thickness: 12, outlinewidth: 0 } }
      : { color: colours[0] };
    const text = known.map((point) => `${named(point)}<br>${[time, energy, accuracy].filter(Boolean).map((one) => safe(one.text[point])).join("<br>")}`);
    const ringed = known.filter((_, place) => best[place]);
    const symbol = known.map((point) => (time.mean[point] && energy.mean[point] ? "circle" : "diamond"));
    const places = (some) => ({ type: "scatter", mode: "markers", x: some.map((point) => time.y[point]), y: some.map((point) => energy.y[point]) });
    const rings = { ...places(ringed), hoverinfo: "skip", marker: { symbol: "circle-open", size: 17, color: colours[1], line: { width: 2.5 } } };
    const trace = {
      ...places(known), text, hovertemplate: "%{text}<extra></extra>",
      marker: { ...marker, size: 10, symbol, line: { color: "#7d8894", width: 0.8 } },
    };
    const axis = (measure) => ({ title: { text: measure.title }, ...(measure.log ? { type: "log" } : {}) });
    plot("front", [trace, rings], { xaxis: axis(time), yaxis: axis(energy) });
    const missing = points.length - known.length;
    document.querySelector("#pareto .left").textContent = missing ? `${missing} points are not there: half of their runs or more never got there, or none has finished.` : "";
  }

  function draw() {
    const goal = goals[Number(pressed("goals").dataset.value)];
    const points = visible();
    const shown = new Set(points);
    all(".points tbody tr").forEach((row) => (row.hidden = !shown.has(Number(row.dataset.point))));
    find("count").textContent = `${points.length} of ${at.length} points`;
    const axis = keys.length ? number("axis") : -1;
    all(".story").forEach((text) => (text.hidden = Number(text.dataset.key) !== axis || goals[Number(text.dataset.goal)] !== goal));
    find("takes").hidden = axis < 0;
    if (axis >= 0) {
      const drawn = lines(points, axis, "takes");
      legend("takes", drawn.map(([name]) => name));
      against("time", measures[goal.time], axis, drawn);
      against("energy", measures[goal.energy], axis, drawn);
      find("accuracy").parentElement.hidden = !measures.final_accuracy;
      if (measures.final_accuracy) against("accuracy", measures.final_accuracy, axis, drawn);
    }
    learning(points);
    const numeric = keys.map((key, place) => place).filter((place) => keys[place].numbers);
    const pair = [...numeric.filter((place) => place === axis), ...numeric.filter((place) => place !== axis)].slice(0, 2);
    find("heat").hidden = pair.length < 2;
    if (pair.length === 2) {
      heat("heat-time", measures[goal.time], points, pair);
      heat("heat-energy", measures[goal.energy], points, pair);
    }
    front(goal, points);
  }

  function sort(head, column) {
    const down = head.getAttribute("aria-sort") === "ascending";
    all(".points th").forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const rows = all(".points tbody tr");
    const value = (row) => Number(row.cells[column].dataset.sort);
    rows.sort((one, other) => (down ? -1 : 1) * (value(one) - value(other)));
    document.querySelector(".points tbody").append(...rows);
  }

  await loadPlotly();
  for (const group of ["goals", "views"]) {
    const buttons = all(`#${group} button`);
    for (const button of buttons) {
      button.addEventListener("click", () => {
        buttons.forEach((other) => other.setAttribute("aria-pressed", String(other === button)));
        draw();
      });
    }
  }
  all(".controls select").forEach((select) => select.addEventListener("change", draw));
  all(".points th").forEach((head, column) => head.firstElementChild.addEventListener("click", () => sort(head, column)));
  draw();
})();
