"use strict";
/**
 * What the scripts of a page share: its data, and Plotly, which draws its charts.
 *
 * A script registers a function with `edgefl.whenBuilt`. It is called with the page's data once Plotly is there, and
 * again whenever the page has got new content: elements may be new then, so it looks them up and listens to them anew.
 */
const edgefl = (() => {
  const config = { responsive: true, displayModeBar: false };
  const builders = [];
  let data = {};

  /** The page carries Plotly as gzip, which takes less than half of the space. */
  async function loadPlotly() {
    const packed = document.getElementById("plotly").textContent;
    const bytes = Uint8Array.from(atob(packed), (sign) => sign.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const script = document.createElement("script");
    script.textContent = await new Response(stream).text();
    document.head.append(script);
  }

  /** Draws a chart in an element, or draws it anew. */
  function plot(div, traces, layout) {
    // Plotly writes into what it is given: it gets copies, so that the page's data stay as they are.
    const whole = structuredClone({ template: data.template, ...layout });
    return Plotly.react(div, structuredClone(traces), whole, config);
  }

  /** Reads the page's data and has every script build its part of the page. */
  function build() {
    data = JSON.parse(document.getElementById("data").textContent);
    for (const builder of builders) builder(data);
    document.documentElement.dataset.built = "true";
  }

  const whenBuilt = (builder) => builders.push(builder);

  async function start() {
    await loadPlotly();
    build();
  }

  return { plot, build, whenBuilt, start };
})();
