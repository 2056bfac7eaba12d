"use strict";
// Paper is light, has another width than the window, and nothing on it can be unfolded.
(() => {
  const unfolded = []; // for the time of printing

  window.addEventListener("beforeprint", () => {
    for (const details of document.querySelectorAll("details.run:not([open])")) {
      details.open = true;
      unfolded.push(details);
      edgefl.drawUnfolded(details);
    }
    edgefl.setPrinting(true);
  });

  window.addEventListener("afterprint", () => {
    edgefl.setPrinting(false);
    for (const details of unfolded.splice(0)) details.open = false;
  });
})();
