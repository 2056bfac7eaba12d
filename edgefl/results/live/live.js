"use strict";
/**
 * Keeps a page that `edgefl run --live` serves up to date: it asks for what is new, and puts it in place of what it
 * shows, unless the user is in the middle of something. It contacts only the server that the page came from.
 */
(() => {
  const TOUCH_MS = 1000; // after a key, a click or a turn of the wheel the page stays as it is for so long
  const RETRY_MS = [500, 1000, 2000, 4000]; // after requests that fail
  const facts = JSON.parse(document.getElementById("live-facts").textContent);
  const notice = document.getElementById("live");
  const main = document.querySelector("main");
  const zooms = new Map(); // a chart's name -> the ranges that the user has chosen
  let waiting = null; // content that is not shown yet
  let pressed = false;
  let touched = -Infinity;

  // Actions of the user

  function touch() {
    touched = performance.now();
  }

  for (const kind of ["keydown", "wheel", "touchmove", "input"]) addEventListener(kind, touch, { passive: true });
  addEventListener("pointerdown", () => { pressed = true; });
  for (const kind of ["pointerup", "pointercancel", "blur"]) {
    addEventListener(kind, () => {
      if (pressed) touch();
      pressed = false;
    });
  }

  /** Returns whether new content would disturb; a part of the page can ask for a pause by the attribute data-busy. */
  function isBusy() {
    const selection = getSelection();
    const selects = !selection.isCollapsed && main.contains(selection.anchorNode);
    return pressed || selects || performance.now() - touched < TOUCH_MS || document.querySelector("[data-busy]") !== null;
  }

  // State that survives new content

  /** Names an element that is found again in new content. */
  const nameOf = (element) => [element.tagName, element.id || element.dataset.view || element.textContent].join(" ");

  const fieldsOf = () => [...main.querySelectorAll("input[id], select[id]")];
  const valueOf = (field) => (field.type === "checkbox" ? field.checked : field.value);

  /** Notes which parts are unfolded, which axis is chosen, what fields hold, where the page stands, what has focus. */
  function remembered() {
    const focus = document.activeElement;
    return {
      open: new Map([...main.querySelectorAll("details")].map((part) => [nameOf(part.querySelector("summary")), part.open])),
      view: main.querySelector('.toggle [aria-pressed="true"]')?.dataset.view,
      fields: new Map(fieldsOf().map((field) => [field.id, valueOf(field)])),
      focus: focus === null || focus === document.body || focus === main ? null : nameOf(focus),
      scroll: [scrollX, scrollY],
    };
  }

  /** Restores what must be known before charts are drawn. */
  function restoreBefore({ open, view }) {
    for (const part of main.querySelectorAll("details")) {
      const was = open.get(nameOf(part.querySelector("summary")));
      if (was !== undefined) part.open = was;
    }
    const buttons = [...main.querySelectorAll(".toggle button")];
    if (!buttons.some((button) => button.dataset.view === view)) return;
    for (const button of buttons) button.setAttribute("aria-pressed", String(button.dataset.view === view));
  }

  /** Restores the rest. */
  function restoreAfter({ fields, focus, scroll }) {
    for (const field of fieldsOf()) {
      const was = fields.get(field.id);
      if (was === undefined || was === valueOf(field)) continue;
      if (field.type === "checkbox") field.checked = was;
      else field.value = was;
      for (const kind of ["input", "change"]) field.dispatchEvent(new Event(kind, { bubbles: true }));
    }
    touched = -Infinity; // those events were not the user's
    if (focus !== null) {
      const focusable = [...document.querySelectorAll("button, summary, a, input, select, [tabindex]")];
      focusable.find((element) => nameOf(element) === focus)?.focus({ preventScroll: true });
    }
    scrollTo(...scroll);
  }

  /** Shows charts in the ranges that the user has chosen, and notes which ranges the user chooses. */
  function keepZooms() {
    for (const chart of main.querySelectorAll(".plot.js-plotly-plot")) {
      const { figure } = chart.dataset;
      const ranges = zooms.get(figure);
      if (ranges) Plotly.relayout(chart, ranges);
      chart.on("plotly_relayout", (change) => {
        const chosen = Object.entries(change).filter(([key]) => /^[xy]axis\d*\.range/.test(key));
        if (chosen.length) zooms.set(figure, { ...zooms.get(figure), ...Object.fromEntries(chosen) });
        if (Object.keys(change).some((key) => key.endsWith(".autorange"))) zooms.delete(figure);
      });
    }
    // Another horizontal axis has other ranges.
    for (const button of main.querySelectorAll(".toggle button")) button.addEventListener("click", () => zooms.clear());
  }

  // New content

  /** Shows new content as soon as it does not disturb the user. */
  function show() {
    if (waiting === null) return;
    if (isBusy()) {
      setTimeout(show, TOUCH_MS / 2);
      return;
    }
    const state = waiting;
    waiting = null;
    const kept = remembered();
    for (const chart of main.querySelectorAll(".js-plotly-plot")) Plotly.purge(chart);
    main.innerHTML = state.main;
    document.getElementById("data").textContent = state.data;
    restoreBefore(kept);
    edgefl.build();
    keepZooms();
    restoreAfter(kept);
    document.documentElement.dataset.version = state.version;
    if (state.ended) sayEnded();
    else say("");
  }

  function say(text) {
    notice.textContent = text;
    notice.hidden = text === "";
  }

  function sayEnded() {
    say(`The run has ended. This page stays, but its address is no longer served: open ${facts.file} next time.`);
  }

  /** Takes new content; returns whether more will follow. */
  function take(state) {
    const drawn = document.getElementById("data") !== null;
    if (!drawn && state.data !== undefined) {
      location.reload(); // this was the page before the run began
      return false;
    }
    if (state.data === undefined) {
      main.innerHTML = state.main;
    } else {
      waiting = state;
      show();
    }
    if (state.ended && state.data === undefined) sayEnded();
    return !state.ended;
  }

  /** Asks for content newer than a version; null if there is none for a while. Throws if the server does not answer. */
  async function ask(version) {
    const answer = await fetch(`state?after=${version}`, { cache: "no-store" });
    if (answer.status === 204) return null;
    if (answer.status !== 200) throw new Error(answer.statusText);
    return answer.json();
  }

  /** Keeps asking for new content: the server answers as soon as it has some. */
  async function follow() {
    let { version } = facts;
    let failures = 0;
    let more = !facts.ended;
    if (facts.ended) sayEnded();
    while (more) {
      let state = null;
      try {
        state = await ask(version);
        failures = 0;
      } catch {
        if (failures === RETRY_MS.length) {
          say("The run cannot be reached: its process is gone. This page shows its last state.");
          return;
        }
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS[failures]));
        failures += 1;
      }
      if (state !== null) {
        version = state.version;
        more = take(state);
      }
    }
  }

  function start() {
    if (document.getElementById("data") !== null) keepZooms();
    follow();
  }

  const isBuilt = document.documentElement.dataset.built === "true";
  let started = false;
  if (document.getElementById("data") === null || isBuilt) {
    start();
  } else {
    edgefl.whenBuilt(() => {
      if (!started) setTimeout(start); // once all other parts are built
      started = true;
    });
  }
})();
