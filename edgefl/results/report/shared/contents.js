"use strict";
/** Lists the page's sections above it: all that have a heading and are shown. */
edgefl.whenBuilt(() => {
  const list = document.querySelector(".topbar ol");
  const linkOf = new Map();

  /** A name for the address bar: that of the section, or else made of its heading. */
  function nameOf(section, heading) {
    if (!section.id) {
      const words = heading.textContent.toLowerCase().match(/[a-z0-9]+/g) ?? ["section"];
      section.id = words.join("-");
    }
    return section.id;
  }

  function addLink(section, heading) {
    const link = document.createElement("a");
    link.href = `#${nameOf(section, heading)}`;
    link.textContent = heading.dataset.short ?? heading.textContent;
    const item = document.createElement("li");
    item.append(link);
    list.append(item);
    linkOf.set(section, link);
  }

  function listSections() {
    list.replaceChildren();
    linkOf.clear();
    for (const section of document.querySelectorAll("main section")) {
      const heading = section.querySelector("h2");
      if (heading && !section.hidden) addLink(section, heading);
    }
  }

  /** Marks the section that is being read: the last one that begins above the middle of the window. */
  function markCurrent() {
    let current = null;
    for (const section of linkOf.keys()) {
      if (section.getBoundingClientRect().top < window.innerHeight / 2) current = section;
    }
    for (const [section, link] of linkOf) {
      if (section === current) link.setAttribute("aria-current", "location");
      else link.removeAttribute("aria-current");
    }
  }

  listSections();
  markCurrent();
  window.addEventListener("scroll", markCurrent, { passive: true });
  const observer = new MutationObserver(listSections); // sections come and go with the reader's choices
  observer.observe(document.querySelector("main"), { attributes: true, attributeFilter: ["hidden"], subtree: true });
});
