"use strict";
/**
 * The replay of a run: its devices and their links over virtual time, on a canvas above the map.
 *
 * A tape (replay_tape.py) has times in ticks and positions in steps of a grid. The player draws the world at one tick
 * from the tape alone; playing is drawing again and again. So it can go to any time, also back.
 */
(() => {
  const TICKS = 1e6; // of a tape
  const [STAYS, WALKS, AWAY] = [0, 1, 2]; // how a device gets from one known position to the next
  const [CAME, LEFT, HANDED_OVER, RAN_EMPTY, CHARGED] = [0, 1, 2, 3, 4]; // kinds of events
  const PHASES = ["download", "compute", "upload", "wait"];
  const SMALL_STEP = TICKS / 100; // of an arrow key
  const LARGE_STEP = TICKS / 10; // of page up and page down
  const TRAIL = TICKS / 40; // of the way behind a device that walks
  const FLASH_S = 0.8; // of wall-clock time, for which a sudden event is seen
  const LONGEST_FRAME_S = 0.1; // a page that was in the background resumes where it was
  const MANY_DEVICES = 300; // from here on marks are smaller
  const MANY_LINKS = 120; // from here on links are thin, and without dashes, which take long to draw
  const REACH = 12; // pixels from the pointer to the device that it shows
  const BINS = 600; // of the strip behind the slider
  const calm = window.matchMedia("(prefers-reduced-motion: reduce)");

  const timeOf = (row) => row.time;

  // The tape

  /** The values of a column, of which the tape has the steps from one row to the next. */
  function summed(steps) {
    let value = 0;
    return steps.map((step) => (value += step));
  }

  /** The rows of a table as objects, by device. */
  function byDevice(devices, columns) {
    const rows = devices.map(() => []);
    const { device, ...others } = columns;
    const names = Object.keys(others);
    device.forEach((place, row) => {
      rows[place].push(Object.fromEntries(names.map((name) => [name, others[name][row]])));
    });
    return rows;
  }

  /** The columns of a table whose columns are all steps. */
  const columnsOf = (table) => Object.fromEntries(Object.entries(table).map(([name, steps]) => [name, summed(steps)]));

  function read(raw) {
    const ids = summed(raw.devices);
    const { outcomes, download, compute, upload, wait, ...steps } = raw.works;
    const works = byDevice(ids, { ...columnsOf(steps), download, compute, upload, wait });
    for (const work of works.flat()) {
      work.time = work.start;
      work.ends = summed([work.start + work.download, work.compute, work.upload, work.wait]);
      work.outcome = outcomes[work.outcome];
    }
    const stops = byDevice(ids, columnsOf(raw.stops));
    for (const stop of stops.flat()) {
      stop.x *= raw.step_m;
      stop.y *= raw.step_m;
    }
    const events = byDevice(ids, columnsOf(raw.events));
    const devices = ids.map((id, place) => ({
      id,
      stops: stops[place],
      walks: stops[place].some((stop) => stop.then === WALKS),
      works: works[place],
      presence: events[place].filter(({ kind }) => kind === CAME || kind === LEFT),
      battery: events[place].filter(({ kind }) => kind === RAN_EMPTY || kind === CHARGED),
      handovers: events[place].filter(({ kind }) => kind === HANDED_OVER),
    }));
    const { energy_j, accuracy, ...rounds } = raw.rounds;
    const sorted = (times) => times.sort((one, other) => one - other);
    return {
      tick_s: raw.tick_s,
      devices,
      sites: raw.sites.x.map((x, site) => ({ x, y: raw.sites.y[site] })),
      rounds: { ...columnsOf(rounds), energy_j, accuracy },
      lostAt: sorted(works.flat().filter((work) => work.outcome.lost).map((work) => work.ends[3])),
      handedOverAt: sorted(devices.flatMap(({ handovers }) => handovers.map(timeOf))),
      visitedAt: sorted(devices.flatMap(({ presence }) => presence.map(timeOf).filter((time) => time >= 0))),
    };
  }

  // The world at a tick

  /** The number of entries of a sorted list whose time is not after the tick. */
  function countUntil(list, tick, timeOf = (entry) => entry) {
    let low = 0;
    let high = list.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (timeOf(list[middle]) <= tick) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  const lastUntil = (rows, tick) => rows[countUntil(rows, tick, timeOf) - 1];

  /** Where a device is; null while it is away. */
  function placeAt({ stops }, tick) {
    const next = countUntil(stops, tick, timeOf);
    const from = stops[next - 1];
    if (from.then === AWAY) return null;
    if (from.then === STAYS || next === stops.length) return from;
    const to = stops[next];
    const part = (tick - from.time) / (to.time - from.time);
    return { x: from.x + part * (to.x - from.x), y: from.y + part * (to.y - from.y) };
  }

  /** The state and activity of a device; null if it is absent. */
  function stateAt(device, tick) {
    const work = lastUntil(device.works, tick);
    const isAtWork = work !== undefined && tick < work.ends[3];
    const place = placeAt(device, tick);
    const presence = lastUntil(device.presence, tick);
    if (!place) return null;
    const isAway = presence?.kind === LEFT && !isAtWork;
    const battery = lastUntil(device.battery, tick);
    const handover = lastUntil(device.handovers, tick);
    const isHandedOver = handover && work && handover.time >= work.time;
    return {
      device,
      x: place.x,
      y: place.y,
      phase: isAtWork ? PHASES[work.ends.findIndex((end) => tick < end)] : null,
      work,
      isAway,
      isEmpty: battery?.kind === RAN_EMPTY,
      site: isHandedOver ? handover.site : work?.site,
      presence,
      handover,
    };
  }

  // Drawing

  /** The map's pixels: where its plot area lies, and what turns metres into pixels. */
  function frameOf(plot) {
    const { xaxis, yaxis } = plot._fullLayout;
    return {
      left: xaxis._offset,
      top: yaxis._offset,
      width: xaxis._length,
      height: yaxis._length,
      x: (x_m) => xaxis._offset + xaxis.l2p(x_m),
      y: (y_m) => yaxis._offset + yaxis.l2p(y_m),
    };
  }

  /** A canvas's context, cleared and as sharp as the screen, in pixels of the page. */
  function cleared(canvas, width, height) {
    const scale = window.devicePixelRatio;
    const [wide, high] = [Math.round(width * scale), Math.round(height * scale)];
    if (canvas.width !== wide || canvas.height !== high) Object.assign(canvas, { width: wide, height: high });
    const context = canvas.getContext("2d");
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, height);
    return context;
  }

  function circle(context, x, y, radius) {
    context.moveTo(x + radius, y);
    context.arc(x, y, radius, 0, 2 * Math.PI);
  }

  function drawSites(context, frame, sites, colours) {
    context.fillStyle = colours.ink;
    context.strokeStyle = colours.card;
    context.lineWidth = 1.2;
    context.beginPath();
    for (const site of sites) {
      const x = frame.x(site.x);
      const y = frame.y(site.y);
      context.moveTo(x, y - 9);
      context.lineTo(x + 8, y + 5);
      context.lineTo(x - 8, y + 5);
      context.closePath();
    }
    context.fill();
    context.stroke();
  }

  /** The ways that devices have walked last. */
  function drawTrails(context, frame, states, tick, colours) {
    context.strokeStyle = colours.muted;
    context.globalAlpha = 0.55;
    context.lineWidth = 1.6;
    context.beginPath();
    for (const { device, x, y } of states) {
      if (!device.walks) continue;
      let isDrawn = false; // whether a line leads to the next stop
      let index = Math.max(countUntil(device.stops, tick - TRAIL, timeOf) - 1, 0);
      for (; index < device.stops.length && device.stops[index].time <= tick; index += 1) {
        const stop = device.stops[index];
        if (isDrawn) context.lineTo(frame.x(stop.x), frame.y(stop.y));
        else context.moveTo(frame.x(stop.x), frame.y(stop.y));
        isDrawn = stop.then === WALKS;
      }
      if (isDrawn) context.lineTo(frame.x(x), frame.y(y));
    }
    context.stroke();
    context.globalAlpha = 1;
  }

  /** The other end of a device's link: its base station, or the device that the model comes from or goes to. */
  function otherEnd({ phase, work, site }, tape, tick) {
    const peer = phase === "download" ? work.before : work.after;
    if (peer >= 0) return placeAt(tape.devices[peer], tick);
    return tape.sites[site];
  }

  function drawLinks(context, frame, states, tape, tick, colours) {
    for (const phase of ["download", "upload"]) {
      const sending = states.filter((state) => state.phase === phase);
      const areMany = sending.length > MANY_LINKS;
      context.strokeStyle = colours[phase];
      context.lineWidth = areMany ? 1 : 2.2;
      // Dashes run towards who receives.
      context.setLineDash(areMany ? [] : [8, 4]);
      context.lineDashOffset = calm.matches ? 0 : -performance.now() / 30;
      context.beginPath();
      for (const state of sending) {
        const end = otherEnd(state, tape, tick);
        if (!end) continue;
        const [from, to] = phase === "upload" ? [state, end] : [end, state];
        context.moveTo(frame.x(from.x), frame.y(from.y));
        context.lineTo(frame.x(to.x), frame.y(to.y));
      }
      context.stroke();
    }
    context.setLineDash([]);
  }

  function drawMarks(context, frame, states, colours, radius) {
    for (const phase of [null, "wait", "compute", "download", "upload"]) {
      context.beginPath();
      for (const state of states) {
        if (state.phase !== phase || state.isAway) continue;
        circle(context, frame.x(state.x), frame.y(state.y), phase ? radius + 1.5 : radius);
      }
      context.fillStyle = phase ? colours[phase] : colours.card;
      context.strokeStyle = phase ? colours.ink : colours.muted;
      context.lineWidth = phase ? 1 : 1.6;
      context.fill();
      context.stroke();
    }
  }

  /** Draws sudden events and lasting states: rings and crosses around devices. */
  function drawSigns(context, frame, states, tick, flash, colours, radius) {
    const since = (time) => (tick - time) / flash; // 0 when it happens, 1 when it is no longer seen
    const isSeen = (time) => time !== undefined && since(time) >= 0 && since(time) < 1;
    function ring({ x, y }, colour, size, alpha, width) {
      context.globalAlpha = alpha;
      context.strokeStyle = colour;
      context.lineWidth = width;
      context.beginPath();
      circle(context, frame.x(x), frame.y(y), size);
      context.stroke();
    }
    for (const state of states) {
      const { handover, presence, work, isAway } = state;
      if (state.isEmpty && !isAway) ring(state, colours.empty, radius + 4, 1, 2.4);
      if (isSeen(handover?.time)) ring(state, colours.handover, radius + 4 + 8 * since(handover.time), 1, 3);
      if (isSeen(presence?.time)) ring(state, colours.visit, radius + 3, 1 - since(presence.time), 2.4);
      if (work?.outcome.lost && isSeen(work.ends[3])) {
        const x = frame.x(state.x);
        const y = frame.y(state.y);
        const arm = radius + 3;
        context.globalAlpha = 1;
        context.strokeStyle = colours.lost;
        context.lineWidth = 3;
        context.beginPath();
        for (const turn of [1, -1]) {
          context.moveTo(x - arm, y - turn * arm);
          context.lineTo(x + arm, y + turn * arm);
        }
        context.stroke();
      }
    }
    context.globalAlpha = 1;
  }

  /** How many devices are in each phase on average, by bins over the whole time. */
  function activity(tape) {
    const bins = PHASES.map(() => new Float64Array(BINS));
    for (const { works } of tape.devices) {
      for (const work of works) {
        let begin = (work.start / TICKS) * BINS;
        work.ends.forEach((tick, phase) => {
          const end = Math.min((tick / TICKS) * BINS, BINS);
          for (let bin = Math.floor(begin); bin < end; bin += 1) {
            bins[phase][bin] += Math.min(end, bin + 1) - Math.max(begin, bin);
          }
          begin = end;
        });
      }
    }
    return bins;
  }

  // The player

  /** Makes the player of a map work. */
  function start(element, plot, tape) {
    const name = plot.dataset.figure;
    const find = (selector) => element.querySelector(selector);
    const settings = JSON.parse(element.dataset.settings);
    const slider = find("input");
    const play = find(".play");
    const whole = find(".whole");
    const speed = find(".speed");
    const strip = find(".tape canvas");
    const stage = document.createElement("canvas");
    const hint = document.createElement("div");
    const bins = activity(tape);
    const moments = new Map(); // chart over virtual time -> the line that shows the moment
    let tick = 0;
    let isPlaying = false;
    let isOpen = false;
    let lastFrame = 0;
    let states = [];
    let pointer = null;
    stage.className = "stage";
    hint.className = "hint";

    /** The colours that the page shows now: a page may be light or dark. */
    function coloursNow() {
      const found = {};
      // A variable may hold a function of light and dark; as the colour of an element it is resolved.
      for (const key of ["ink", "muted", "card", "line"]) {
        strip.style.color = `var(--${key})`;
        found[key] = getComputedStyle(strip).color;
      }
      for (const mark of element.querySelectorAll("[data-count]")) {
        found[mark.dataset.count] = getComputedStyle(mark.querySelector(".dot")).backgroundColor;
      }
      return found;
    }
    let colours = null;

    function setText(selector, text) {
      const place = find(selector);
      if (place && place.textContent !== text) place.textContent = text;
    }

    const inUnit = ({ size }, value, digits) => Number((value / size).toPrecision(digits)).toLocaleString("en");

    /** The time as text, with as many decimals as three digits of the whole time have. */
    function timeText() {
      const { name: unit, size } = settings.time;
      const whole_s = TICKS * tape.tick_s;
      const decimals = Math.max(0, 2 - Math.floor(Math.log10(whole_s / size)));
      const text = (value_s) => (value_s / size).toFixed(decimals);
      return `${text(tick * tape.tick_s)} of ${text(whole_s)} ${unit}`;
    }

    function roundText(ended) {
      const { time, session, round } = tape.rounds;
      const row = Math.min(ended, time.length - 1);
      const text = `round ${row + 1} of ${time.length}`;
      return settings.sessions ? `session ${session[row]}, its round ${round[row]} · ${text}` : text;
    }

    function accuracyText(ended) {
      const known = tape.rounds.accuracy.slice(0, ended).filter((value) => value !== null);
      if (!tape.rounds.accuracy.length) return "";
      return known.length ? `accuracy ${known.at(-1).toFixed(1)} %` : "accuracy –";
    }

    function showCounters() {
      const ended = countUntil(tape.rounds.time, tick);
      const energy_j = ended ? tape.rounds.energy_j[ended - 1] : 0;
      const received = ended ? tape.rounds.received[ended - 1] : 0;
      setText(".time", timeText());
      setText(".round", roundText(ended));
      setText(".accuracy", accuracyText(ended));
      setText(".received", `${received.toLocaleString("en")} updates received`);
      setText(".energy", `${inUnit(settings.energy, energy_j, 3)} ${settings.energy.name}`);
      for (const phase of PHASES) {
        setText(`[data-count=${phase}] b`, String(states.filter((state) => state.phase === phase).length));
      }
      setText("[data-count=empty] b", String(states.filter((state) => state.isEmpty && !state.isAway).length));
      setText("[data-count=handover] b", String(countUntil(tape.handedOverAt, tick)));
      setText("[data-count=visit] b", String(countUntil(tape.visitedAt, tick)));
      setText("[data-count=lost] b", String(countUntil(tape.lostAt, tick)));
    }

    /** Tells those who do not see the map. */
    function describe() {
      const ended = countUntil(tape.rounds.time, tick);
      const parts = [timeText(), roundText(ended), accuracyText(ended)].filter(Boolean);
      slider.setAttribute("aria-valuetext", parts.join(", "));
    }

    function announce() {
      const counts = PHASES.map((phase) => `${states.filter((state) => state.phase === phase).length} ${phase}`);
      setText("[aria-live]", `${slider.getAttribute("aria-valuetext")}. Devices: ${counts.join(", ")}.`);
    }

    /** The line of the moment on the charts over virtual time. */
    function showMoments() {
      const time_s = tick * tape.tick_s;
      for (const [chart, line] of moments) {
        const layout = chart._fullLayout;
        const unit_s = isOpen && layout?.meta?.virtual_time_unit_s;
        const value = time_s / unit_s;
        const isInside = unit_s && value >= layout.xaxis.range[0] && value <= layout.xaxis.range[1];
        line.hidden = !isInside;
        if (!isInside) continue;
        const { t: top, h: height } = layout._size;
        const left = layout.xaxis._offset + layout.xaxis.l2p(value) - 1;
        Object.assign(line.style, { left: `${left}px`, top: `${top}px`, height: `${height}px` });
      }
    }

    function showHint(frame) {
      const [near] = pointer
        ? states
            .filter((state) => !state.isAway)
            .map((state) => ({ state, far: Math.hypot(frame.x(state.x) - pointer.x, frame.y(state.y) - pointer.y) }))
            .filter(({ far }) => far < REACH)
            .sort((one, other) => one.far - other.far)
        : [];
      hint.hidden = !near;
      if (!near) return;
      const { device, phase, work, isEmpty } = near.state;
      const doing = phase ? `${phase}, round ${work.round + 1}` : "not at work";
      hint.textContent = `device ${device.id}: ${doing}${isEmpty ? ", battery empty" : ""}`;
      Object.assign(hint.style, { left: `${pointer.x + 14}px`, top: `${pointer.y + 10}px` });
    }

    function draw() {
      if (!isOpen || !plot._fullLayout) return;
      if (stage.parentNode !== plot) plot.append(stage, hint); // Plotly may have rebuilt the chart
      colours ??= coloursNow();
      const frame = frameOf(plot);
      const context = cleared(stage, plot.clientWidth, plot.clientHeight);
      const radius = tape.devices.length > MANY_DEVICES ? 2.2 : 3.8;
      const flash = (FLASH_S * Number(speed.value)) / tape.tick_s;
      states = tape.devices.map((device) => stateAt(device, tick)).filter(Boolean);
      context.save();
      context.beginPath();
      context.rect(frame.left, frame.top, frame.width, frame.height);
      context.clip();
      const present = states.filter((state) => !state.isAway);
      drawTrails(context, frame, present, tick, colours);
      drawLinks(context, frame, present, tape, tick, colours);
      drawMarks(context, frame, present, colours, radius);
      drawSites(context, frame, tape.sites, colours);
      drawSigns(context, frame, states, tick, flash, colours, radius);
      context.restore();
      slider.value = tick;
      showCounters();
      showMoments();
      showHint(frame);
    }

    function drawStrip() {
      const { clientWidth: width, clientHeight: height } = strip;
      if (!width) return;
      const now = coloursNow();
      const context = cleared(strip, width, height);
      context.fillStyle = now.line;
      context.fillRect(0, 0, width, height);
      const highest = Math.max(...bins[0].map((_, bin) => bins.reduce((sum, phase) => sum + phase[bin], 0)), 1e-9);
      for (let bin = 0; bin < BINS; bin += 1) {
        let top = height;
        PHASES.forEach((phase, row) => {
          const part = (bins[row][bin] / highest) * height;
          top -= part;
          context.fillStyle = now[phase];
          context.fillRect((bin / BINS) * width, top, width / BINS + 0.5, part);
        });
      }
    }

    function open() {
      if (isOpen || !plot._fullLayout) return;
      isOpen = true;
      whole.disabled = false;
      plot.classList.add("replayed");
      const alone = document.querySelectorAll(".player").length === 1;
      for (const chart of document.querySelectorAll(".plot")) {
        const isOwn = chart.dataset.figure.endsWith(name.replace("map", ""));
        if (chart === plot || !(isOwn || (alone && !/-\d+$/.test(chart.dataset.figure)))) continue;
        const line = document.createElement("div");
        line.className = "moment";
        chart.append(line);
        moments.set(chart, line);
      }
    }

    function seek(wanted) {
      open();
      tick = Math.min(Math.max(wanted, 0), TICKS);
      draw();
      describe();
    }

    function advance(now) {
      if (!isPlaying) return;
      // The first frame may have begun before it was asked for.
      const passed_s = Math.min(Math.max(now - lastFrame, 0) / 1000, LONGEST_FRAME_S);
      lastFrame = now;
      tick = Math.min(tick + (passed_s * Number(speed.value)) / tape.tick_s, TICKS);
      draw();
      if (tick < TICKS) requestAnimationFrame(advance);
      else setPlaying(false);
    }

    function setPlaying(wanted) {
      isPlaying = wanted;
      play.textContent = wanted ? "Pause" : "Play";
      if (wanted) {
        open();
        if (tick >= TICKS) tick = 0;
        lastFrame = performance.now();
        requestAnimationFrame(advance);
      } else {
        draw();
        describe();
        announce();
      }
    }

    function close() {
      setPlaying(false);
      isOpen = false;
      whole.disabled = true;
      plot.classList.remove("replayed");
      stage.remove();
      hint.remove();
      for (const line of moments.values()) line.remove();
      moments.clear();
      play.focus(); // a key that can be used no longer loses the focus
    }

    function onKey(event) {
      if (event.target === speed || event.ctrlKey || event.metaKey || event.altKey) return;
      const isButton = event.target instanceof HTMLButtonElement;
      const moves = {
        ArrowRight: SMALL_STEP,
        ArrowUp: SMALL_STEP,
        ArrowLeft: -SMALL_STEP,
        ArrowDown: -SMALL_STEP,
        PageUp: LARGE_STEP,
        PageDown: -LARGE_STEP,
        Home: -TICKS,
        End: TICKS,
      };
      if (event.key in moves) seek(tick + moves[event.key]);
      else if (event.key === " " && !isButton) setPlaying(!isPlaying);
      else return;
      event.preventDefault();
    }

    play.addEventListener("click", () => setPlaying(!isPlaying));
    whole.addEventListener("click", close);
    slider.addEventListener("input", () => seek(Number(slider.value)));
    speed.addEventListener("change", () => (isOpen ? draw() : undefined));
    element.addEventListener("keydown", onKey);
    stage.addEventListener("click", () => setPlaying(!isPlaying));
    stage.addEventListener("pointermove", (event) => {
      pointer = { x: event.offsetX, y: event.offsetY };
      if (!isPlaying) draw();
    });
    stage.addEventListener("pointerleave", () => {
      pointer = null;
      hint.hidden = true;
    });
    new ResizeObserver(drawStrip).observe(strip);
    new ResizeObserver(() => setTimeout(draw, 250)).observe(plot); // after Plotly has made its chart fit
    document.addEventListener("edgefl:theme", () => {
      colours = null;
      drawStrip();
      draw();
    });

    // For scripts and tests: what is drawn at a time.
    element.replay = {
      seek: (time_s) => seek(time_s / tape.tick_s),
      devices: () => states.filter((state) => !state.isAway).map(({ device, x, y, phase }) => [device.id, x, y, phase]),
    };
    describe();
    element.hidden = false;
    drawStrip();
  }

  edgefl.whenBuilt(({ replays }) => {
    for (const element of document.querySelectorAll(".player")) {
      const plot = element.parentNode.querySelector(".plot");
      edgefl.unpacked(replays[plot.dataset.figure]).then((text) => start(element, plot, read(JSON.parse(text))));
    }
  });
})();
