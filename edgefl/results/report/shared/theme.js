"use strict";
// Stands in the head, so that the page has its colours before anything is seen. The style sheet has both of each.
(() => {
  const root = document.documentElement;
  const systemIsDark = window.matchMedia("(prefers-color-scheme: dark)");
  const key = "edgefl.theme";

  /** The reader's own choice; null without one, or where the browser keeps nothing for files. */
  function chosen() {
    try {
      return localStorage.getItem(key);
    } catch {
      return null;
    }
  }

  function keep(theme) {
    try {
      localStorage.setItem(key, theme);
    } catch {
      // Then the choice holds until the page is closed.
    }
  }

  function apply(theme) {
    root.dataset.theme = theme;
    document.dispatchEvent(new CustomEvent("edgefl:theme"));
  }

  /** Keeps the button in step with the colours. */
  function label() {
    const button = document.getElementById("theme");
    button.hidden = false; // without scripts it would do nothing
    button.setAttribute("aria-pressed", String(root.dataset.theme === "dark"));
  }

  function toggle() {
    const theme = root.dataset.theme === "dark" ? "light" : "dark";
    keep(theme);
    apply(theme);
    label();
  }

  const systemTheme = () => (systemIsDark.matches ? "dark" : "light");
  const stored = chosen();
  apply(["light", "dark"].includes(stored) ? stored : systemTheme());
  systemIsDark.addEventListener("change", () => {
    if (chosen()) return;
    apply(systemTheme());
    label();
  });
  document.addEventListener("DOMContentLoaded", () => {
    document.getElementById("theme").addEventListener("click", toggle);
    label();
  });
})();
