"use strict";
/** Draws the page's figures, each in the element that has its name. */
edgefl.whenBuilt(({ figures }) => {
  const LEAST_MAP = 280; // pixels
  const BESIDE_MAP = 90; // pixels: what the titles and the colour bar take of its width more than of its height

  /** Makes a map no higher than it is wide: both axes have one scale, so the rest would be blank. */
  function fitMap(div, layout) {
    if (!layout.yaxis?.scaleanchor) return;
    div.dataset.most ??= String(div.clientHeight);
    const height = Math.max(LEAST_MAP, div.clientWidth - BESIDE_MAP);
    div.style.height = `${Math.min(Number(div.dataset.most), height)}px`;
  }

  /** Returns whether a trace is drawn: some are hidden until the reader ticks their box. */
  function isShown(div, trace) {
    const box = div.closest(".card")?.querySelector("input[data-shows]");
    return !box || box.dataset.shows !== trace.name || box.checked;
  }

  /** Draws a figure, with the horizontal axis of the view where it has several. */
  function draw(div, view) {
    const figure = figures[div.dataset.figure];
    fitMap(div, figure.layout);
    const { data, layout } = figure.views?.[view] ?? { data: [], layout: {} };
    const traces = figure.data.map((trace, place) => ({ ...trace, ...data[place], visible: isShown(div, trace) }));
    return edgefl.plot(div, traces, { ...figure.layout, ...layout });
  }

  const start = document.querySelector('#learning .toggle [aria-pressed="true"]')?.dataset.view;
  const shown = (div) => !div.closest("details:not([open])");
  const plots = [...document.querySelectorAll(".plot")];
  plots.filter(shown).forEach((div) => draw(div, start));

  // A folded chart has no width: it is drawn when its details are unfolded.
  edgefl.drawUnfolded = (details) => details.querySelectorAll(".plot").forEach((div) => draw(div));
  for (const details of document.querySelectorAll("details.run:not([open])")) {
    details.addEventListener("toggle", () => edgefl.drawUnfolded(details), { once: true });
  }

  for (const box of document.querySelectorAll("input[data-shows]")) {
    box.addEventListener("change", () => draw(box.closest(".card").querySelector(".plot")));
  }

  const buttons = [...document.querySelectorAll("#learning .toggle button")];
  for (const button of buttons) {
    button.addEventListener("click", () => {
      buttons.forEach((other) => other.setAttribute("aria-pressed", String(other === button)));
      document.querySelectorAll("#learning .plot").forEach((div) => draw(div, button.dataset.view));
    });
  }
});
