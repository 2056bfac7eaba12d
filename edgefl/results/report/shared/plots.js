"use strict";
/**
 * Shared by the scripts of a page: its data, and Plotly, which draws its charts.
 *
 * A script registers a function with `edgefl.whenBuilt`. It is called with the page's data once Plotly is there.
 *
 * Charts are described in the colours of the light page. `edgefl.plot` draws them in those of the dark page where
 * that is shown, and again when the reader changes over; `edgefl.colour` gives one colour as the page shows it now.
 * Elements get theirs by `edgefl.onPage`, once.
 *
 * `alternatives.js` says each chart in words. Where a trace's values do not speak for themselves, its `meta.words` do.
 */
const edgefl = (() => {
  const config = { responsive: true, displayModeBar: false };
  const PAPER_WIDTH = 686; // pixels of a chart in a card over the whole width of A4
  const HIGHEST_ON_PAPER = 430; // pixels: at least two charts on a page
  const builders = [];
  const afterPlot = [];
  // These hold values, texts and names, which may look like colours.
  const withoutColours = new Set(["x", "y", "z", "text", "hovertext", "customdata", "name", "ticktext"]);
  const charts = new WeakMap(); // element -> its traces and layout, in light colours
  let data = {};
  let printing = false;

  /** The page carries Plotly as gzip in base64, which takes less than half of the space. */
  async function loadPlotly() {
    const packed = document.getElementById("plotly").textContent;
    const bytes = Uint8Array.from(atob(packed), (sign) => sign.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const script = document.createElement("script");
    script.textContent = await new Response(stream).text();
    document.head.append(script);
  }

  /** Returns whether charts are drawn for a dark page; paper is always light. */
  const isDark = () => !printing && document.documentElement.dataset.theme === "dark";

  /** A colour of the light page as the page shows it now. */
  const colour = (light) => (isDark() ? (data.dark?.[light] ?? light) : light);

  /** A colour of the light page for styles, which change it with the page by themselves. */
  const onPage = (light) => `light-dark(${light},${data.dark?.[light] ?? light})`;

  /** Traces or a layout in the colours that the page shows now. */
  function coloured(value) {
    if (typeof value === "string") return colour(value);
    if (Array.isArray(value)) return value.map(coloured);
    if (value === null || typeof value !== "object") return value;
    const copy = {};
    for (const [key, part] of Object.entries(value)) {
      copy[key] = withoutColours.has(key) ? structuredClone(part) : coloured(part);
    }
    return copy;
  }

  /** The size of a chart on paper, which cannot be measured before it is printed; in the window Plotly knows it. */
  function sizeOf(div) {
    if (!printing) return {};
    const highest = div.dataset.tall ? div.clientHeight : HIGHEST_ON_PAPER; // small multiples keep their rows
    return { width: PAPER_WIDTH, height: Math.min(div.clientHeight, highest), autosize: false };
  }

  function draw(div, { traces, layout }) {
    const whole = { template: data.template, ...layout, ...sizeOf(div) };
    // Plotly writes into what it is given: it gets copies, so that the page's data stay as they are.
    return Plotly.react(div, coloured(traces), coloured(whole), config);
  }

  /** Draws a chart in an element, or draws it again. */
  function plot(div, traces, layout) {
    charts.set(div, { traces, layout });
    const done = draw(div, { traces, layout });
    for (const listener of afterPlot) listener(div, traces, layout);
    return done;
  }

  /** The traces and the layout that an element was last drawn with; undefined for one without a chart. */
  const chartOf = (div) => charts.get(div);

  /** Draws all charts again, in the colours that are shown now. */
  function repaint() {
    for (const div of document.querySelectorAll(".js-plotly-plot")) {
      const chart = charts.get(div);
      if (chart) draw(div, chart);
    }
  }

  /** Draws all charts for paper, or for the window again. */
  function setPrinting(isPrinting) {
    printing = isPrinting;
    repaint();
    if (!printing) document.querySelectorAll(".js-plotly-plot").forEach((div) => Plotly.Plots.resize(div));
  }

  /** Reads the page's data and has every script build its part of the page. */
  function build() {
    data = JSON.parse(document.getElementById("data").textContent);
    for (const builder of builders) builder(data);
    document.documentElement.dataset.built = "true";
  }

  const whenBuilt = (builder) => builders.push(builder);
  const whenPlotted = (listener) => afterPlot.push(listener);

  async function start() {
    await loadPlotly();
    build();
    document.addEventListener("edgefl:theme", repaint);
  }

  return { plot, chartOf, colour, onPage, setPrinting, whenBuilt, whenPlotted, start };
})();
