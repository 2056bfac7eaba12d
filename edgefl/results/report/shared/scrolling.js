"use strict";
/** Makes content that is wider or higher than its place scrollable with the keyboard. */
edgefl.markScrollable = () => {
  for (const place of document.querySelectorAll(".scroll, pre")) {
    const scrolls = place.scrollWidth > place.clientWidth || place.scrollHeight > place.clientHeight;
    if (!scrolls) {
      for (const name of ["tabindex", "role", "aria-label"]) place.removeAttribute(name);
      continue;
    }
    const caption = place.querySelector("caption")?.textContent ?? place.previousElementSibling?.textContent ?? "";
    place.tabIndex = 0;
    place.setAttribute("role", "group");
    place.setAttribute("aria-label", `${caption.trim() || "Table"}: scrolls`);
  }
};
edgefl.whenBuilt(edgefl.markScrollable);
window.addEventListener("resize", edgefl.markScrollable);
// Events of toggled details do not rise, but they can be caught on their way down.
document.addEventListener("toggle", edgefl.markScrollable, { capture: true });
