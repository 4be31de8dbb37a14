"use strict";
// The graph around a node: which part is shown, its controls, and what is typed, clicked and dragged.
gaug.neighborhood = (() => {
  const holder = document.getElementById("neighborhood");
  if (!holder) return null;
  const { make, cut, number, graph } = gaug, { nameOf, stateOf } = graph;
  const canvas = make("canvas", { tabindex: "0", role: "img" });
  const status = make("p", { class: "note", role: "status" });
  const find = make("input", { type: "search", list: "node-matches", autocomplete: "off", size: "22" });
  const matches = make("datalist", { id: "node-matches" });
  const hops = make("select", {}, ...[1, 2, 3].map(value => make("option", { value, selected: value === 2 }, String(value))));
  const most = make("select", {}, ...[50, 200, 500, 1000, 2000, 5000].map(value => make("option", { value, selected: value === 200 }, number(value))));
  const only = make("select", {}, make("option", { value: "all" }, "all edges"), make("option", { value: "changed" }, "changed edges"));
  const press = (text, label, act) => make("button", { type: "button", "aria-label": label, on: { click: act } }, text);
  const list = make("div", {});
  holder.append(
    make("div", { class: "controls" },
      make("label", {}, "Node", find, matches),
      make("label", {}, "Steps from it", hops),
      make("label", {}, "Nodes at most", most),
      make("label", {}, "Along", only),
      make("div", {}, press("+", "Zoom in", () => zoom(1.3)), " ", press("−", "Zoom out", () => zoom(1 / 1.3)), " ", press("Fit", "Show everything", fit))),
    make("div", { class: "canvas" }, canvas), legend(), status, list);
  const drawing = gaug.drawing(canvas);

  function legend() {
    const sign = (kind, paint, dash) => {
      const svg = gaug.draw("svg", { viewBox: "0 0 24 12", "aria-hidden": "true" });
      svg.append(kind === "line"
        ? gaug.draw("line", { x1: 1, x2: 23, y1: 6, y2: 6, stroke: `var(--${paint})`, "stroke-width": dash === null ? 1.5 : 3, "stroke-dasharray": dash || null })
        : gaug.draw("circle", { cx: 12, cy: 6, r: 5, fill: `var(--${paint})` }));
      return svg;
    };
    const { colored, palette } = graph;
    const items = [make("li", {}, sign("line", "added", ""), "added"), make("li", {}, sign("line", "removed", "5 3"), "removed"), make("li", {}, sign("line", "kept", null), "kept")];
    colored.forEach((label, slot) => items.push(make("li", {}, sign("dot", palette[slot]), cut(graph.className(label), 30))));
    if (colored.length && graph.slots.includes(palette.length)) items.push(make("li", {}, sign("dot", "other"), colored.length < graph.numClasses ? "other classes or none" : "no class known"));
    return make("ul", { class: "legend" }, ...items);
  }

  // What is shown: nodes with their places, the number of steps to each, edges between them.
  let center = -1, shown = [], where = new Map(), steps = [], drawn = [], sim = null;
  function gather(node) {
    const depth = Number(hops.value), limit = Number(most.value), changed = only.value === "changed";
    shown = [node]; where = new Map([[node, 0]]); steps = [0];
    for (let at = 0; at < shown.length && shown.length < limit; at++) {
      if (steps[at] >= depth) break;
      const around = [...graph.edgesOf(shown[at])];
      around.sort((a, b) => (stateOf(b) > 0) - (stateOf(a) > 0));  // changed edges first
      for (const e of around) {
        if (changed && !stateOf(e)) continue;
        const next = graph.other(e, shown[at]);
        if (where.has(next) || shown.length >= limit) continue;
        where.set(next, shown.length);
        steps.push(steps[at] + 1);
        shown.push(next);
      }
    }
    drawn = [];
    for (const node of shown) {
      for (const e of graph.edgesOf(node)) {
        if (!graph.begins(e, node) || (changed && !stateOf(e))) continue;
        const b = where.get(graph.other(e, node));
        if (b !== undefined) drawn.push([where.get(node), b, stateOf(e)]);
      }
    }
  }
  function show(node, keepHash) {
    center = node;
    gather(node);
    sim = gaug.layout.start(shown.length, Int32Array.from(drawn, e => e[0]), Int32Array.from(drawn, e => e[1]), steps);
    for (let i = 0; i < (shown.length > 800 ? 20 : 60); i++) gaug.layout.step(sim);
    drawing.set(sim, shown, drawn);
    hovered = -1;
    fit();
    find.value = nameOf(node);
    const byState = [0, 0, 0];
    drawn.forEach(e => byState[e[2]]++);
    const around = shown.length - 1;
    const words = `${cut(nameOf(node))} and ${number(around)} ${around === 1 ? "node" : "nodes"} around it; edges: ${number(byState[0])} kept, ${number(byState[1])} added, ${number(byState[2])} removed.`;
    status.textContent = words + (graph.note ? ` ${graph.note}` : "");
    canvas.setAttribute("aria-label", `Drawing of the graph around ${words}`);
    canvas.dataset.nodes = shown.length;
    canvas.dataset.center = nameOf(node);
    tell(node);
    if (!keepHash) history.replaceState(null, "", `#node=${encodeURIComponent(nameOf(node))}`);
  }
  function tell(node) {
    const rows = [...graph.edgesOf(node)].filter(e => stateOf(e))
      .sort((a, b) => stateOf(a) - stateOf(b) || graph.scoreOf(b) - graph.scoreOf(a));
    if (!rows.length) { list.replaceChildren(make("p", {}, `No edge of ${cut(nameOf(node))} was changed.`)); return; }
    const row = e => {
      const next = graph.other(e, node), state = graph.states[stateOf(e)];
      return make("tr", {},
        make("th", { scope: "row" }, make("button", { type: "button", class: "link", on: { click: () => show(next) } }, cut(nameOf(next)))),
        make("td", {}, make("span", { class: `mark ${state}` }, state)),
        make("td", { class: "number" }, number(graph.scoreOf(e))),
        graph.hasClasses ? make("td", {}, graph.classNameOf(next) === null ? "–" : cut(graph.classNameOf(next))) : null);
    };
    const head = (words, kind) => make("th", { scope: "col", class: kind }, words);
    list.replaceChildren(make("div", { class: "scroll short", tabindex: "0", role: "group", "aria-label": "Changed edges of this node" },
      make("table", {}, make("caption", {}, `Changed edges of ${cut(nameOf(node))}`),
        make("thead", {}, make("tr", {}, head("neighbor"), head("change"), head("score", "number"), graph.hasClasses ? head("class") : null)),
        make("tbody", {}, ...rows.slice(0, 200).map(row)))));
  }

  // Moving: the layout cools down; the view follows it until somebody moves the view.
  let hovered = -1, frame = 0, moved = false, resting = 0;
  function tick() {
    frame = 0;
    const warm = gaug.layout.isWarm(sim);
    if (warm) {
      gaug.layout.step(sim);
      if (!moved) drawing.fit();
    }
    const rough = drawing.hasMany() && (warm || touching.size > 0);
    drawing.paint(rough, hovered);
    if (warm) wake();
    else if (rough) {
      clearTimeout(resting);
      resting = setTimeout(wake, 150);
    }
  }
  function wake() { if (!frame && sim) frame = requestAnimationFrame(tick); }
  function fit() { moved = false; drawing.fit(); wake(); }
  function zoom(...how) { moved = true; drawing.zoom(...how); wake(); }
  function pan(dx, dy) { moved = true; drawing.pan(dx, dy); wake(); }

  // Fingers or the mouse: one drags a node or the view, two zoom; a click goes to a node.
  const touching = new Map();
  let grabbed = -1, far = 0;
  const placeOf = event => {
    const rect = canvas.getBoundingClientRect();
    return [event.clientX - rect.left, event.clientY - rect.top];
  };
  canvas.addEventListener("pointerdown", event => {
    canvas.setPointerCapture(event.pointerId);
    touching.set(event.pointerId, placeOf(event));
    if (touching.size === 1) [grabbed, far] = [drawing.nodeAt(...placeOf(event)), 0];
    else [grabbed, far] = [-1, Infinity];
  });
  canvas.addEventListener("pointermove", event => {
    const now = placeOf(event), before = touching.get(event.pointerId);
    if (!before) {
      const node = drawing.nodeAt(...now);
      if (node !== hovered) { hovered = node; canvas.title = node < 0 ? "" : nameOf(shown[node]).slice(0, 200); wake(); }
      return;
    }
    const [dx, dy] = [now[0] - before[0], now[1] - before[1]];
    far += Math.abs(dx) + Math.abs(dy);
    touching.set(event.pointerId, now);
    const others = [...touching].filter(([id]) => id !== event.pointerId);
    if (others.length) {
      const [x, y] = others[0][1], apart = place => Math.hypot(place[0] - x, place[1] - y) || 1;
      zoom(apart(now) / apart(before), x, y);
    } else if (grabbed > 0) {
      sim.held = grabbed;
      sim.x[grabbed] += dx / drawing.scale(); sim.y[grabbed] += dy / drawing.scale();
      sim.heat = Math.max(sim.heat, 0.25);
      moved = true;
      wake();
    } else pan(dx, dy);
  });
  function release(event) {
    if (!touching.delete(event.pointerId)) return;
    if (event.type === "pointerup" && far < 5 && grabbed > 0) show(shown[grabbed]);
    sim.held = grabbed = -1;
    wake();
  }
  for (const kind of ["pointerup", "pointercancel"]) canvas.addEventListener(kind, release);
  canvas.addEventListener("wheel", event => {
    if (!event.ctrlKey && document.activeElement !== canvas) return;
    event.preventDefault();
    zoom(Math.exp(-event.deltaY * 0.002), ...placeOf(event));
  }, { passive: false });
  canvas.addEventListener("keydown", event => {
    const acts = { ArrowLeft: () => pan(40, 0), ArrowRight: () => pan(-40, 0), ArrowUp: () => pan(0, 40), ArrowDown: () => pan(0, -40), "+": () => zoom(1.2), "=": () => zoom(1.2), "-": () => zoom(1 / 1.2), 0: fit };
    if (!acts[event.key]) return;
    event.preventDefault();
    acts[event.key]();
  });

  // Names: typed, in the address, or in a table of the page.
  function look() {
    const exact = graph.named(find.value), node = exact >= 0 ? exact : graph.starting(find.value, 1)[0];
    if (node === undefined) status.textContent = `There is no node ${cut(find.value)} in this drawing.`;
    else if (node !== center) show(node);
  }
  find.addEventListener("input", event => {
    matches.replaceChildren(...graph.starting(find.value, 12).map(node => make("option", { value: nameOf(node) })));
    if (!(event instanceof InputEvent) && graph.named(find.value) >= 0) look();
  });
  find.addEventListener("change", look);
  [hops, most, only].forEach(control => control.addEventListener("change", () => show(center)));
  function follow() {
    const wanted = new URLSearchParams(location.hash.slice(1)).get("node");
    const node = wanted === null ? -1 : graph.named(wanted);
    if (node >= 0 && node !== center) show(node);
    return node >= 0;
  }
  window.addEventListener("hashchange", () => { if (follow()) holder.scrollIntoView(); });
  document.addEventListener("click", event => {
    const button = event.target.closest("[data-node]");
    if (button) { show(Number(button.dataset.node)); document.getElementById("graph").scrollIntoView(); canvas.focus({ preventScroll: true }); }
  });
  gaug.whenThemeChanges.push(() => { drawing.mix(); if (sim) drawing.paint(false, hovered); });
  new ResizeObserver(() => { drawing.measure(); if (!moved) drawing.fit(); wake(); }).observe(canvas);
  drawing.mix();
  drawing.measure();
  if (!follow()) {
    show(graph.start, true);
    if (shown.length >= Number(most.value)) { hops.value = 1; show(graph.start, true); }
  }
  return { spotOf: name => drawing.spot(where.get(graph.named(name))), isMoving: () => frame !== 0, size: () => [shown.length, drawn.length] };
})();
