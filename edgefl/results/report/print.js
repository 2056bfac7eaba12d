"use strict";
// Paper has another width than the window: with a view box the style sheet can scale the drawn charts.
window.addEventListener("beforeprint", () => {
  for (const svg of document.querySelectorAll(".main-svg")) {
    svg.setAttribute("viewBox", `0 0 ${svg.width.baseVal.value} ${svg.height.baseVal.value}`);
    svg.setAttribute("preserveAspectRatio", "xMidYMin");
  }
});
