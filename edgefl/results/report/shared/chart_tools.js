"use strict";
/** The buttons of each chart: its numbers as a table, and the chart as a picture in a file. */
edgefl.whenBuilt(() => {
  const TITLE_HEIGHT = 34; // pixels
  const KEY_LINE_HEIGHT = 18;
  const KEY_FONT_SIZE = 12.5;
  const LETTER_WIDTH = 6.6; // about, of the key
  const PNG_SCALE = 3; // pixels of the picture in one of the page: fit for print

  const { titleOf, asTables } = edgefl.alternatives;
  const safe = (text) => text.replace(/[&<>]/g, (sign) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[sign]);

  function fileName(div, format) {
    const words = `${document.title} ${titleOf(div)}`.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? ["chart"];
    return `${words.join("-").slice(0, 100)}.${format}`;
  }

  /** The entries of the key that explains a chart's colours: [colour, sign, text]. */
  function keyOf(div) {
    const inCard = div.closest(".card").querySelector(".key");
    const inSection = div.closest("section")?.querySelector(":scope > .key");
    const entries = [...((inCard ?? inSection)?.children ?? [])];
    return entries.map((entry) => {
      const mark = entry.querySelector("i");
      if (!mark) return ["", "", entry.textContent.trim()];
      const style = getComputedStyle(mark);
      if (mark.classList.contains("swatch")) return [style.borderTopColor, "━", entry.textContent.trim()];
      if (mark.classList.contains("sign")) return [style.color, "", entry.textContent.trim()];
      return [style.backgroundColor, "■", entry.textContent.trim()];
    });
  }

  /** The key as lines of text that fit a width. */
  function keyLines(div, width) {
    const lines = [];
    let room = 0;
    for (const [colour, sign, text] of keyOf(div)) {
      const needed = LETTER_WIDTH * (text.length + 5);
      const entry = colour && sign ? `<span style="color:${colour}">${sign}</span> ${safe(text)}` : safe(text);
      if (needed > room) {
        lines.push([]);
        room = width;
      }
      lines.at(-1).push(entry);
      room -= needed;
    }
    return lines.map((entries) => entries.join("   "));
  }

  /** A chart as a picture with its title and key, on the ground of the page's cards. */
  function picture(div, format) {
    const { width, height } = div.getBoundingClientRect();
    const layout = structuredClone(div.layout);
    const lines = keyLines(div, width - 32);
    const above = TITLE_HEIGHT + KEY_LINE_HEIGHT * lines.length;
    const ground = edgefl.colour("#ffffff");
    const margin = { ...layout.template.layout.margin, ...layout.margin };
    Object.assign(layout, {
      paper_bgcolor: ground,
      margin: { ...margin, t: margin.t + above },
      title: {
        text: `<b>${safe(titleOf(div))}</b> · ${safe(document.title)}`,
        font: { size: 14.5 },
        subtitle: { text: lines.join("<br>"), font: { size: KEY_FONT_SIZE } },
        ...{ x: 0, xref: "container", xanchor: "left", y: 1, yref: "container", yanchor: "top" },
        pad: { l: 16, t: 12 },
      },
    });
    const size = { width: Math.round(width), height: Math.round(height + above) };
    return Plotly.toImage({ data: div.data, layout }, { format, ...size, scale: format === "png" ? PNG_SCALE : 1 });
  }

  async function save(div, format) {
    const link = document.createElement("a");
    link.href = await picture(div, format);
    link.download = fileName(div, format);
    link.click();
  }

  function button(text, label, action) {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = text;
    made.setAttribute("aria-label", label);
    made.addEventListener("click", action);
    return made;
  }

  /** The table of a chart, below it, while its button is pressed. */
  function showNumbers(div, place, isShown) {
    place.hidden = !isShown;
    place.replaceChildren(...(isShown ? asTables(div) : []));
  }

  function addTools(div) {
    const tools = document.createElement("div");
    tools.className = "tools";
    const numbers = document.createElement("div");
    numbers.className = "numbers scroll";
    numbers.hidden = true;
    // The title is read when a button is used: that of a sweep's chart changes with what is chosen.
    const toggle = button("Numbers", "Numbers of this chart as a table", () => {
      const isShown = toggle.getAttribute("aria-expanded") !== "true";
      toggle.setAttribute("aria-expanded", String(isShown));
      showNumbers(div, numbers, isShown);
      edgefl.markScrollable();
    });
    toggle.setAttribute("aria-expanded", "false");
    tools.append(toggle);
    for (const format of ["svg", "png"]) {
      const name = format.toUpperCase();
      tools.append(button(name, `${name}: save this chart as a picture`, () => save(div, format)));
    }
    div.after(tools, numbers);
  }

  for (const div of document.querySelectorAll(".card .plot")) addTools(div);
});

// A table that is open follows its chart.
edgefl.whenPlotted((div) => {
  const numbers = div.parentElement.querySelector(":scope > .numbers:not([hidden])");
  if (numbers) numbers.replaceChildren(...edgefl.alternatives.asTables(div));
});
