"use strict";
/** The cards "What if?": a slider for each key, the costs of the chosen value beside the run's own, and a chart. */
edgefl.whenBuilt(({ what_if: cards = {} }) => {
  const NARROW = 620; // pixels
  for (const root of document.querySelectorAll(".what-if")) {
    const keys = cards[root.dataset.whatIf];
    const sliders = [...root.querySelectorAll("input")];
    const plot = root.querySelector(".plot");

    /** On a narrow screen time and energy stand above each other. */
    function panels({ xaxis, xaxis2, yaxis, yaxis2 }) {
      const isNarrow = root.clientWidth < NARROW;
      if (plot.classList.contains("stacked") !== isNarrow) {
        plot.classList.toggle("stacked");
        Plotly.Plots.resize(plot); // which has another height now
      }
      if (!isNarrow) return {};
      return {
        xaxis: { ...xaxis, domain: [0, 1] },
        xaxis2: { ...xaxis2, domain: [0, 1] },
        yaxis: { ...yaxis, domain: [0.6, 1] },
        yaxis2: { ...yaxis2, domain: [0, 0.4] },
      };
    }

    /** Marks the chosen point: a line across both panels, and a filled mark on each curve. */
    function draw({ figure, gap }, chosen) {
      const place = chosen > 0 ? chosen + gap : chosen; // in the chart
      const line = { color: "#1f5d99", width: 1.5, dash: "dot" };
      const marks = figure.data.map((trace) => ({
        ...trace,
        mode: "markers",
        x: [trace.x[place]],
        y: [trace.y[place]],
        marker: { color: trace.line.color, size: 12 },
        hoverinfo: "skip", // the point below it is shown
      }));
      const shapes = ["", "2"].map((panel) => ({
        type: "line",
        layer: "below",
        xref: `x${panel}`,
        yref: `y${panel} domain`,
        x0: figure.data[0].x[place],
        x1: figure.data[0].x[place],
        y0: 0,
        y1: 1,
        line,
      }));
      edgefl.plot(plot, [...figure.data, ...marks], { ...figure.layout, ...panels(figure.layout), shapes });
    }

    /** Shows the costs of a value of a key; all other keys go back to the run's own value, as one varies at a time. */
    function show(chosen, place) {
      keys.forEach((key, number) => {
        const at = number === chosen ? place : key.own;
        const slider = sliders[number];
        slider.value = at;
        slider.setAttribute("aria-valuetext", key.points[at].label);
        slider.closest(".what-if-key").classList.toggle("changed", at !== key.own);
        root.querySelector(`output[for="${slider.id}"]`).textContent = key.points[at].label;
      });
      const key = keys[chosen];
      const point = key.points[place];
      point.costs.forEach((texts, measure) => {
        for (const [kind, text] of Object.entries(texts)) {
          root.querySelector(`[data-cost="${measure}-${kind}"]`).textContent = text;
        }
      });
      const [whole] = point.costs;
      const changed = `With ${key.words} ${point.label} the whole run takes`;
      const own = "These are the costs of the run itself. It takes";
      const ratio = (text) => (place === key.own || !text ? "" : ` (${text})`);
      root.querySelector(".what-if-sentence").textContent =
        `${place === key.own ? own : changed} ${whole.time}${ratio(whole["time-ratio"])} ` +
        `and ${whole.energy}${ratio(whole["energy-ratio"])}.`;
      draw(key, place);
    }

    sliders.forEach((slider, number) => {
      slider.addEventListener("input", () => show(number, Number(slider.value)));
      // Whoever comes to a slider sees its chart, before it is moved.
      slider.addEventListener("focus", () => show(number, Number(slider.value)));
    });
    root.querySelector(".what-if-own").addEventListener("click", () => show(0, keys[0].own));
    show(0, keys[0].own);
  }
});
