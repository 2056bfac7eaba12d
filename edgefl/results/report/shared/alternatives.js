"use strict";
/**
 * Each chart in words and as a table, made of what is drawn: for readers who cannot see it, or who want its numbers.
 *
 * The words become the label of the chart's element, and follow when it is drawn again.
 */
edgefl.alternatives = (() => {
  const MOST_LISTED = 8; // values of a trace that are all named
  const MOST_TRACES = 12;
  const MOST_ROWS = 300; // of a table; more are an even pick
  const format = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });

  /** Text without the tags and entities that Plotly reads in it. */
  function plain(text) {
    const withBreaks = String(text ?? "").replace(/<br>/g, "; ");
    return new DOMParser().parseFromString(withBreaks, "text/html").body.textContent;
  }

  /** The card's title, with the run's name where each run has such a card. */
  function titleOf(div) {
    const heading = (div.closest(".card")?.querySelector("h3") ?? div.closest("section")?.querySelector("h2"))?.textContent;
    const run = div.closest("details.run")?.querySelector("summary")?.textContent;
    return [heading ?? "Chart", run?.trim()].filter(Boolean).join(", ");
  }

  function noteOf(div) {
    const notes = [...(div.closest(".card")?.querySelectorAll(":scope > .note") ?? [])];
    return notes.map((note) => note.textContent.trim()).filter(Boolean);
  }

  /** The name and the unit of a trace's axis: "upload [ms]" has both. */
  function axisOf(layout, trace, letter) {
    const axis = layout[`${letter}axis${(trace[`${letter}axis`] ?? "").slice(1)}`];
    const title = plain(axis?.title?.text);
    const parts = title.match(/^(.*) \[(.*)\]$/);
    return parts ? { name: parts[1], unit: parts[2] } : { name: title, unit: "" };
  }

  const isNumber = (value) => typeof value === "number" && Number.isFinite(value);
  const isKnown = (value) => value !== null && value !== undefined && !Number.isNaN(value);

  function valueText(value, unit = "") {
    if (Array.isArray(value)) return value.map((part) => plain(part)).join(", "); // of an axis of two levels
    const text = isNumber(value) ? format.format(value) : plain(value);
    return unit && isNumber(value) ? `${text} ${unit}` : text;
  }

  const isHidden = (trace) => trace.hoverinfo === "skip" || trace.visible === false; // bands, shadings and rings
  const isMark = (trace) => trace.meta?.isMark; // stands where no value is
  const isMap = (trace) => Array.isArray(trace.z);
  const isHorizontal = (trace) => trace.orientation === "h" || trace.meta?.isUpright;
  const isLine = (trace) => trace.type !== "bar" && (trace.mode ?? "lines").includes("lines");

  /** The two axes of categories with two levels as pairs. */
  const placesOf = (values = []) => (Array.isArray(values[0]) ? values[0].map((_, n) => values.map((of) => of[n])) : values);

  /** Where the values of a trace stand, and the values, with their axes. */
  function series(trace, layout) {
    const along = isHorizontal(trace) ? "y" : "x";
    const across = isHorizontal(trace) ? "x" : "y";
    return {
      name: [plain(trace.name), trace.meta?.what].filter(Boolean).join(", "),
      places: placesOf(trace[along]),
      values: trace[across] ?? [],
      place: axisOf(layout, trace, along),
      value: axisOf(layout, trace, across),
    };
  }

  // In words

  /** A place such as "12 s" or "round 3". */
  function placeText(where, { name, unit }) {
    return isNumber(where) && name && !unit ? `${name} ${valueText(where)}` : valueText(where, unit);
  }

  function listText({ pairs, place, value }) {
    return pairs.map(([where, what]) => `${valueText(what, value.unit)} at ${placeText(where, place)}`).join(", ");
  }

  function rangeText(values, unit) {
    return `${valueText(Math.min(...values))} to ${valueText(Math.max(...values), unit)}`;
  }

  function lineText({ pairs, place, value }) {
    const at = (where) => placeText(where, place);
    const of = (what) => valueText(what, value.unit);
    const sorted = [...pairs].sort(([, one], [, other]) => one - other);
    const [first, last, lowest, highest] = [pairs[0], pairs.at(-1), sorted[0], sorted.at(-1)];
    return (
      `from ${of(first[1])} at ${at(first[0])} to ${of(last[1])} at ${at(last[0])}; ` +
      `lowest ${of(lowest[1])} at ${at(lowest[0])}, highest ${of(highest[1])} at ${at(highest[0])}`
    );
  }

  function barText({ pairs, value }) {
    const values = pairs.map(([, what]) => what);
    const mean = values.reduce((sum, what) => sum + what, 0) / values.length;
    return `${pairs.length} bars, ${rangeText(values, value.unit)}, mean ${valueText(mean, value.unit)}`;
  }

  function pointText({ pairs, place, value }) {
    const across = `${value.name} ${rangeText(pairs.map(([, what]) => what), value.unit)}`;
    const wheres = pairs.map(([where]) => where);
    const along = wheres.every(isNumber) ? `, ${place.name} ${rangeText(wheres, place.unit)}` : "";
    return `${pairs.length} points, ${across}${along}`;
  }

  function mapText(trace) {
    const cells = trace.z.flat().filter(isNumber);
    if (!cells.length) return "no values";
    const unit = plain(trace.colorbar?.title?.text);
    const size = `${trace.z.length} rows and ${trace.x.length} columns`;
    return `${size}, ${cells.length} cells with ${rangeText(cells, unit)}`;
  }

  function traceText(trace, layout) {
    if (trace.meta?.words) return trace.meta.words;
    if (isMap(trace)) return mapText(trace);
    const found = series(trace, layout);
    const known = found.places.map((where, n) => [where, found.values[n]]);
    const pairs = known.filter(([where, what]) => isKnown(where) && isNumber(what));
    const shown = { ...found, pairs };
    const name = found.name ? `${found.name}: ` : "";
    if (!pairs.length) return `${name}no values`;
    if (pairs.length <= MOST_LISTED) return name + listText(shown);
    if (trace.type === "bar") return name + barText(shown);
    if (isLine(trace)) return name + lineText(shown);
    return name + pointText(shown);
  }

  function axesText(traces, layout) {
    const first = traces[0];
    if (!first) return "Nothing is drawn";
    const x = axisOf(layout, first, "x");
    const y = axisOf(layout, first, "y");
    const text = ({ name, unit }) => (unit ? `${name} in ${unit}` : name);
    return x.name && y.name ? `${text(y)} over ${text(x)}` : text(x) || text(y);
  }

  /** A chart in a few sentences: its title, what stands above it, its axes, and the main numbers of each trace. */
  function inWords(div, traces, layout) {
    const drawn = traces.filter((trace) => !isHidden(trace) && (isMap(trace) || placesOf(trace.x).length));
    const parts = [titleOf(div), ...noteOf(div), axesText(drawn, layout)];
    parts.push(...drawn.slice(0, MOST_TRACES).map((trace) => traceText(trace, layout)));
    if (drawn.length > MOST_TRACES) parts.push(`and ${drawn.length - MOST_TRACES} more`);
    const sentences = parts.filter(Boolean).map((part) => part.replace(/\.$/, ""));
    return `${sentences.join(". ")}.`;
  }

  // As a table

  function evenPick(rows) {
    if (rows.length <= MOST_ROWS) return rows;
    return Array.from({ length: MOST_ROWS }, (_, n) => rows[Math.round((n * (rows.length - 1)) / (MOST_ROWS - 1))]);
  }

  /** Traces that stand at the same places share a table, with a column each. */
  function bySharedPlaces(traces, layout) {
    const groups = new Map();
    for (const trace of traces) {
      const found = series(trace, layout);
      const key = JSON.stringify([found.places, found.place]);
      if (!groups.has(key)) groups.set(key, []);
      groups.get(key).push(found);
    }
    return [...groups.values()];
  }

  const titled = ({ name, unit }) => (unit ? `${name} [${unit}]` : name);

  function columnTitle({ name, value }) {
    if (!name) return titled(value);
    return value.unit ? `${name} [${value.unit}]` : name;
  }

  /** Heads and rows of the tables of a chart. */
  function tables(traces, layout) {
    const drawn = traces.filter((trace) => !isHidden(trace) && !isMark(trace));
    const found = [];
    for (const trace of drawn.filter(isMap)) {
      const head = [titled(axisOf(layout, trace, "y")), titled(axisOf(layout, trace, "x")), plain(trace.name) || "value"];
      const cells = trace.z.flatMap((row, r) => row.map((cell, c) => [trace.y[r], trace.x[c], cell]));
      found.push({ head, rows: cells.filter(([, , cell]) => isKnown(cell)) });
    }
    for (const group of bySharedPlaces(drawn.filter((trace) => !isMap(trace)), layout)) {
      const [{ places, place }] = group;
      const head = [titled(place) || "place", ...group.map(columnTitle)];
      const rows = places.map((where, n) => [where, ...group.map(({ values }) => values[n])]);
      found.push({ head, rows: rows.filter(([where]) => isKnown(where)) });
    }
    return found.filter(({ rows }) => rows.length);
  }

  function tableElement(title, { head, rows }) {
    const table = document.createElement("table");
    const picked = evenPick(rows);
    const left = picked.length < rows.length ? `, ${picked.length} of ${rows.length} rows, evenly picked` : "";
    table.createCaption().textContent = `${title}${left}`;
    const titles = table.createTHead().insertRow();
    for (const text of head) {
      const cell = document.createElement("th");
      cell.scope = "col";
      cell.textContent = text;
      titles.append(cell);
    }
    const body = table.createTBody();
    for (const [where, ...values] of picked) {
      const row = body.insertRow();
      const heading = document.createElement("th");
      heading.scope = "row";
      heading.textContent = valueText(where);
      row.append(heading);
      for (const value of values) row.insertCell().textContent = isKnown(value) ? valueText(value) : "–";
    }
    return table;
  }

  /** The tables of a chart as elements. */
  function asTables(div) {
    const { traces, layout } = edgefl.chartOf(div);
    return tables(traces, layout).map((table) => tableElement(titleOf(div), table));
  }

  edgefl.whenPlotted((div, traces, layout) => {
    div.setAttribute("role", "img");
    div.setAttribute("aria-label", inWords(div, traces, layout));
  });

  return { titleOf, asTables };
})();
