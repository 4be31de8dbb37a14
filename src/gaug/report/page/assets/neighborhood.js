"use strict";
// The part of a graph around a node, on a canvas: what was added, removed and kept.
gaug.neighborhood = (() => {
  const holder = document.getElementById("neighborhood");
  if (!holder) return null;
  const graph = gaug.data.graph, { make, cut, number, color } = gaug;
  const nameOf = node => graph.names ? graph.names[node] : String(node);
  const states = ["kept", "added", "removed"];

  // Neighbors of every node, from the gaps between the ends of sorted edges.
  const count = graph.counts.length, edges = graph.gaps.length;
  const ends = [new Int32Array(edges), new Int32Array(edges)];
  const degree = new Int32Array(count + 1);
  for (let u = 0, e = 0; u < count; u++) {
    for (let k = 0, v = u; k < graph.counts[u]; k++, e++) {
      v += graph.gaps[e];
      ends[0][e] = u; ends[1][e] = v;
      degree[u]++; degree[v]++;
    }
  }
  const first = new Int32Array(count + 1);
  for (let u = 0; u < count; u++) first[u + 1] = first[u] + degree[u];
  const near = new Int32Array(2 * edges), filled = first.slice();
  for (let e = 0; e < edges; e++) {
    near[filled[ends[0][e]]++] = e;
    near[filled[ends[1][e]]++] = e;
  }
  const stateOf = e => graph.states.charCodeAt(e) - 48;
  const other = (e, node) => ends[0][e] === node ? ends[1][e] : ends[0][e];
  const scores = new Map();
  for (let e = 0, k = 0; e < edges; e++) if (stateOf(e)) scores.set(e, graph.scores[k++]);

  // Colors: the largest classes have one each, the others share gray; those of edges come last.
  const palette = [2, 1, 3, 5, 6, 7, 0, 4].map(place => `c${place}`);
  const sizes = new Map();
  (graph.classes || []).forEach(label => label >= 0 && sizes.set(label, (sizes.get(label) || 0) + 1));
  const colored = [...sizes.keys()].sort((a, b) => sizes.get(b) - sizes.get(a)).slice(0, 8).sort((a, b) => a - b);
  const slotOf = label => { const at = colored.indexOf(label); return at < 0 ? 8 : at; };
  const slots = Uint8Array.from({ length: count }, (_, node) => slotOf(graph.classes ? graph.classes[node] : -1));

  const canvas = make("canvas", { tabindex: "0", role: "img" });
  const status = make("p", { class: "note", role: "status" });
  const find = make("input", { type: "search", list: "node-matches", autocomplete: "off", size: "22" });
  const matches = make("datalist", { id: "node-matches" });
  const hops = make("select", {}, ...[1, 2, 3].map(value => make("option", { value, selected: value === 2 }, String(value))));
  const most = make("select", {}, ...[50, 200, 500, 1000, 2000, 5000].map(value => make("option", { value, selected: value === 200 }, number(value))));
  const only = make("select", {}, make("option", { value: "all" }, "all edges"), make("option", { value: "changed" }, "changed edges"));
  const press = (text, label, act) => make("button", { type: "button", "aria-label": label, on: { click: act } }, text);
  holder.append(
    make("div", { class: "controls" },
      make("label", {}, "Node", find, matches),
      make("label", {}, "Steps from it", hops),
      make("label", {}, "Nodes at most", most),
      make("label", {}, "Along", only),
      make("div", {}, press("+", "Zoom in", () => zoom(1.3)), " ", press("−", "Zoom out", () => zoom(1 / 1.3)), " ", press("Fit", "Show everything", fit))),
    make("div", { class: "canvas" }, canvas), legend(), status);
  const list = make("div", {});
  holder.append(list);
  const pen = canvas.getContext("2d");

  function legend() {
    const sign = (kind, paint, dash) => {
      const svg = gaug.draw("svg", { viewBox: "0 0 24 12", "aria-hidden": "true" });
      svg.append(kind === "line"
        ? gaug.draw("line", { x1: 1, x2: 23, y1: 6, y2: 6, stroke: `var(--${paint})`, "stroke-width": dash === null ? 1.5 : 3, "stroke-dasharray": dash || null })
        : gaug.draw("circle", { cx: 12, cy: 6, r: 5, fill: `var(--${paint})` }));
      return svg;
    };
    const items = [make("li", {}, sign("line", "added", ""), "added"), make("li", {}, sign("line", "removed", "5 3"), "removed"), make("li", {}, sign("line", "kept", null), "kept")];
    colored.forEach((label, slot) => items.push(make("li", {}, sign("dot", palette[slot]), cut(graph.classNames[label], 30))));
    if (colored.length && slots.includes(8)) items.push(make("li", {}, sign("dot", "other"), colored.length < sizes.size ? "other classes or none" : "no class known"));
    return make("ul", { class: "legend" }, ...items);
  }

  // What is shown.
  let center = -1, shown = [], where = new Map(), hopOf = [], drawn = [], sim = null, view = { x: 0, y: 0, zoom: 1 };
  let hovered = -1, frame = 0, moved = false, frames = 0, grabbed = null;

  function gather(node) {
    const depth = Number(hops.value), limit = Number(most.value), changed = only.value === "changed";
    shown = [node]; where = new Map([[node, 0]]); hopOf = [0];
    for (let at = 0; at < shown.length && shown.length < limit; at++) {
      if (hopOf[at] >= depth) break;
      const around = [...near.subarray(first[shown[at]], first[shown[at] + 1])];
      around.sort((a, b) => (stateOf(b) > 0) - (stateOf(a) > 0));  // changed edges first
      for (const e of around) {
        if (changed && !stateOf(e)) continue;
        const next = other(e, shown[at]);
        if (where.has(next) || shown.length >= limit) continue;
        where.set(next, shown.length);
        hopOf.push(hopOf[at] + 1);
        shown.push(next);
      }
    }
    drawn = [];
    for (const node of shown) {
      for (const e of near.subarray(first[node], first[node + 1])) {
        if (ends[0][e] !== node || (changed && !stateOf(e))) continue;
        const b = where.get(ends[1][e]);
        if (b !== undefined) drawn.push([where.get(node), b, stateOf(e), e]);
      }
    }
  }
  function show(node, keepHash) {
    center = node;
    gather(node);
    sim = gaug.layout.start(shown.length, Int32Array.from(drawn, e => e[0]), Int32Array.from(drawn, e => e[1]), hopOf);
    for (let i = 0; i < (shown.length > 800 ? 20 : 60); i++) gaug.layout.step(sim);
    moved = false; hovered = -1;
    fit();
    find.value = nameOf(node);
    const byState = [0, 0, 0];
    drawn.forEach(e => byState[e[2]]++);
    const words = `${cut(nameOf(node))} and ${number(shown.length - 1)} nodes around it: ${number(byState[0])} edges kept, ${number(byState[1])} added, ${number(byState[2])} removed.`;
    status.textContent = words + (graph.note ? ` ${graph.note}` : "");
    canvas.setAttribute("aria-label", `Drawing of the graph around ${words}`);
    canvas.dataset.nodes = shown.length;
    canvas.dataset.center = nameOf(node);
    tell(node);
    if (!keepHash) history.replaceState(null, "", `#node=${encodeURIComponent(nameOf(node))}`);
    wake();
  }
  function tell(node) {
    const rows = [...near.subarray(first[node], first[node + 1])].filter(e => stateOf(e))
      .sort((a, b) => stateOf(a) - stateOf(b) || scores.get(b) - scores.get(a));
    if (!rows.length) { list.replaceChildren(make("p", {}, `No edge of ${cut(nameOf(node))} was changed.`)); return; }
    const body = rows.slice(0, 200).map(e => make("tr", {},
      make("th", { scope: "row" }, make("button", { type: "button", class: "link", on: { click: () => show(other(e, node)) } }, cut(nameOf(other(e, node))))),
      make("td", {}, make("span", { class: `mark ${states[stateOf(e)]}` }, states[stateOf(e)])),
      make("td", { class: "number" }, number(scores.get(e))),
      graph.classes ? make("td", {}, graph.classes[other(e, node)] >= 0 ? cut(graph.classNames[graph.classes[other(e, node)]]) : "–") : null));
    list.replaceChildren(make("div", { class: "scroll short", tabindex: "0", role: "group", "aria-label": "Changed edges of this node" },
      make("table", {}, make("caption", {}, `Changed edges of ${cut(nameOf(node))}`),
        make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "neighbor"), make("th", { scope: "col" }, "change"), make("th", { scope: "col", class: "number" }, "score"), graph.classes ? make("th", { scope: "col" }, "class") : null)),
        make("tbody", {}, ...body))));
  }

  // Drawing.
  let box = { width: 0, height: 0 }, paints = {};
  function measure() {
    const ratio = window.devicePixelRatio || 1, rect = canvas.getBoundingClientRect();
    box = { width: rect.width, height: rect.height };
    canvas.width = Math.round(rect.width * ratio);
    canvas.height = Math.round(rect.height * ratio);
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  }
  function mix() {
    paints = Object.fromEntries(["added", "removed", "kept", "other", "ink", "ground", "accent", ...Array.from({ length: 8 }, (_, i) => `c${i}`)].map(name => [name, color(name)]));
    paints.slots = [...palette.map(name => paints[name]), paints.other];
  }
  const sx = value => (value - view.x) * view.zoom + box.width / 2;
  const sy = value => (value - view.y) * view.zoom + box.height / 2;
  function fit() {
    if (!sim) return;
    let far = [Infinity, Infinity, -Infinity, -Infinity];
    for (let i = 0; i < sim.count; i++) far = [Math.min(far[0], sim.x[i]), Math.min(far[1], sim.y[i]), Math.max(far[2], sim.x[i]), Math.max(far[3], sim.y[i])];
    view.x = (far[0] + far[2]) / 2; view.y = (far[1] + far[3]) / 2;
    view.zoom = Math.min(3.5, (box.width - 50) / Math.max(80, far[2] - far[0]), (box.height - 50) / Math.max(80, far[3] - far[1]));
    wake();
  }
  function zoom(factor, px = box.width / 2, py = box.height / 2) {
    const [gx, gy] = [(px - box.width / 2) / view.zoom + view.x, (py - box.height / 2) / view.zoom + view.y];
    view.zoom = Math.min(8, Math.max(0.04, view.zoom * factor));
    view.x = gx - (px - box.width / 2) / view.zoom;
    view.y = gy - (py - box.height / 2) / view.zoom;
    moved = true;
    wake();
  }
  // While many edges move, they are drawn thinner, and not all of those that were kept: wide and
  // dashed lines take most of the time. At rest everything is drawn.
  const many = 1500;
  function paint(rough) {
    pen.clearRect(0, 0, box.width, box.height);
    pen.lineCap = "round";
    const focus = hovered < 0 ? 0 : hovered;
    for (const [state, paintName, width, dash, alpha] of [[0, "kept", 1, [], drawn.length > 3000 ? 0.22 : 0.45], [2, "removed", 2, [5, 4], 0.9], [1, "added", 2, [], 0.9]]) {
      pen.strokeStyle = paints[paintName]; pen.lineWidth = rough ? 1 : width; pen.globalAlpha = alpha; pen.setLineDash(dash);
      pen.beginPath();
      let waiting = 0, left = rough && !state ? 2 * many : Infinity;
      for (const edge of drawn) {
        if (edge[2] !== state) continue;
        if (!left--) break;
        pen.moveTo(sx(sim.x[edge[0]]), sy(sim.y[edge[0]]));
        pen.lineTo(sx(sim.x[edge[1]]), sy(sim.y[edge[1]]));
        if (++waiting % 8 === 0) { pen.stroke(); pen.beginPath(); }  // long paths are slow
      }
      pen.stroke();
    }
    pen.setLineDash([]);
    pen.globalAlpha = 1;
    const base = Math.max(2.2, Math.min(7, 3.4 * Math.sqrt(view.zoom) + (shown.length < 120 ? 1.5 : 0)));
    const stamp = stamps(base), half = stamp.size / 2;
    for (let i = shown.length - 1; i >= 0; i--) {
      const grow = i === 0 ? 1.7 : 1;
      pen.drawImage(stamp.dots[slots[shown[i]]], sx(sim.x[i]) - half * grow, sy(sim.y[i]) - half * grow, stamp.size * grow, stamp.size * grow);
    }
    ring(0, paints.ink, base * 1.7 + 3);
    if (hovered > 0) ring(hovered, paints.accent, base + 3);
    labels(focus, base);
    canvas.dataset.frames = ++frames;
  }
  // A dot of each color, drawn once for each size: copying is faster than drawing circles.
  let stamped = null;
  function stamps(base) {
    const radius = Math.round(base * 4) / 4;
    if (stamped && stamped.radius === radius && stamped.paints === paints) return stamped;
    const sharp = 2 * (window.devicePixelRatio || 1), size = 2 * radius + 2;
    const dots = paints.slots.map(paintOf => {
      const dot = make("canvas", { width: Math.ceil(size * sharp), height: Math.ceil(size * sharp) });
      const brush = dot.getContext("2d");
      brush.scale(sharp, sharp);
      brush.fillStyle = paintOf;
      brush.beginPath(); brush.arc(size / 2, size / 2, radius, 0, 6.2832); brush.fill();
      return dot;
    });
    stamped = { radius, paints, dots, size };
    return stamped;
  }
  function ring(i, paintOf, radius) {
    pen.strokeStyle = paintOf; pen.lineWidth = 2;
    pen.beginPath(); pen.arc(sx(sim.x[i]), sy(sim.y[i]), radius, 0, 6.2832); pen.stroke();
  }
  // Names of the node in focus and its neighbors, then of the others while they do not overlap.
  function labels(focus, base) {
    const wanted = [focus, 0];
    for (const edge of drawn) {
      if (edge[0] === focus) wanted.push(edge[1]); else if (edge[1] === focus) wanted.push(edge[0]);
      if (wanted.length > 60) break;
    }
    if (shown.length <= 400) for (let i = 1; i < shown.length; i++) wanted.push(i);
    pen.font = "12px system-ui, sans-serif";
    const taken = [];
    for (const i of new Set(wanted)) {
      const text = cut(nameOf(shown[i]), 24), px = sx(sim.x[i]) + base * (i ? 1 : 1.7) + 4, py = sy(sim.y[i]) + 4;
      if (px < 0 || py < 10 || px > box.width - 10 || py > box.height) continue;
      const width = pen.measureText(text).width;
      const strong = i === focus || i === 0;
      if (!strong && taken.some(t => px < t[2] + 3 && px + width + 3 > t[0] && py - 11 < t[3] && py + 3 > t[1])) continue;
      taken.push([px, py - 11, px + width, py + 3]);
      pen.lineWidth = 3; pen.strokeStyle = paints.ground; pen.strokeText(text, px, py);
      pen.fillStyle = paints.ink; pen.globalAlpha = strong ? 1 : 0.75; pen.fillText(text, px, py); pen.globalAlpha = 1;
      if (taken.length > 80) break;
    }
  }
  function tick() {
    frame = 0;
    const warm = gaug.layout.isWarm(sim);
    if (warm) {
      gaug.layout.step(sim);
      if (!moved) fit();
    }
    const rough = drawn.length > many && (warm || grabbed !== null);
    paint(rough);
    if (warm) wake();
    else if (rough) restLater();
  }
  let resting = 0;
  function restLater() {
    clearTimeout(resting);
    resting = setTimeout(wake, 150);
  }
  function wake() { if (!frame && sim) frame = requestAnimationFrame(tick); }

  // Input.
  function nodeAt(event) {
    const rect = canvas.getBoundingClientRect(), px = event.clientX - rect.left, py = event.clientY - rect.top;
    let best = -1, least = 14 ** 2;
    for (let i = 0; i < shown.length; i++) {
      const distance = (sx(sim.x[i]) - px) ** 2 + (sy(sim.y[i]) - py) ** 2;
      if (distance < least) [best, least] = [i, distance];
    }
    return best;
  }
  canvas.addEventListener("pointerdown", event => {
    canvas.setPointerCapture(event.pointerId);
    grabbed = { x: event.clientX, y: event.clientY, node: nodeAt(event), far: 0 };
  });
  canvas.addEventListener("pointermove", event => {
    if (!grabbed) {
      const now = nodeAt(event);
      if (now !== hovered) { hovered = now; canvas.title = now < 0 ? "" : nameOf(shown[now]).slice(0, 200); wake(); }
      return;
    }
    const dx = event.clientX - grabbed.x, dy = event.clientY - grabbed.y;
    grabbed.far += Math.abs(dx) + Math.abs(dy);
    [grabbed.x, grabbed.y] = [event.clientX, event.clientY];
    if (grabbed.node > 0) {
      sim.held = grabbed.node;
      sim.x[grabbed.node] += dx / view.zoom; sim.y[grabbed.node] += dy / view.zoom;
      sim.heat = Math.max(sim.heat, 0.25);
    } else { view.x -= dx / view.zoom; view.y -= dy / view.zoom; }
    moved = true;
    wake();
  });
  canvas.addEventListener("pointerup", () => {
    if (grabbed && grabbed.far < 5 && grabbed.node > 0) show(shown[grabbed.node]);
    if (sim) sim.held = -1;
    grabbed = null;
    wake();
  });
  canvas.addEventListener("wheel", event => {
    if (!event.ctrlKey && document.activeElement !== canvas) return;
    event.preventDefault();
    const rect = canvas.getBoundingClientRect();
    zoom(Math.exp(-event.deltaY * 0.002), event.clientX - rect.left, event.clientY - rect.top);
  }, { passive: false });
  canvas.addEventListener("keydown", event => {
    const far = 40 / view.zoom;
    const acts = { ArrowLeft: () => { view.x -= far; }, ArrowRight: () => { view.x += far; }, ArrowUp: () => { view.y -= far; }, ArrowDown: () => { view.y += far; }, "+": () => zoom(1.2), "=": () => zoom(1.2), "-": () => zoom(1 / 1.2), 0: fit };
    if (!acts[event.key]) return;
    event.preventDefault();
    acts[event.key]();
    moved = event.key !== "0";
    wake();
  });
  function search(text) {
    const wanted = text.trim().toLowerCase(), found = [];
    if (!wanted) return found;
    for (let node = 0; node < count && found.length < 12; node++) if (nameOf(node).toLowerCase().startsWith(wanted)) found.push(node);
    return found;
  }
  const exactly = text => {
    for (let node = 0; node < count; node++) if (nameOf(node) === text || nameOf(node) === text.slice(0, 200)) return node;
    return -1;
  };
  function look() {
    const exact = exactly(find.value), node = exact >= 0 ? exact : search(find.value)[0];
    if (node === undefined) status.textContent = `There is no node ${cut(find.value)} in this drawing.`;
    else if (node !== center) show(node);
  }
  find.addEventListener("input", event => {
    matches.replaceChildren(...search(find.value).map(node => make("option", { value: nameOf(node) })));
    if (!(event instanceof InputEvent) && exactly(find.value) >= 0) look();
  });
  find.addEventListener("change", look);
  [hops, most, only].forEach(control => control.addEventListener("change", () => show(center)));
  function follow() {
    const wanted = new URLSearchParams(location.hash.slice(1)).get("node");
    const node = wanted === null ? -1 : exactly(wanted);
    if (node >= 0 && node !== center) show(node);
    return node >= 0;
  }
  window.addEventListener("hashchange", () => { if (follow()) holder.scrollIntoView(); });
  document.addEventListener("click", event => {
    const button = event.target.closest("[data-node]");
    if (button) { show(Number(button.dataset.node)); document.getElementById("graph").scrollIntoView(); canvas.focus({ preventScroll: true }); }
  });
  gaug.whenThemeChanges.push(() => { mix(); if (sim) paint(false); });
  new ResizeObserver(() => { measure(); if (!moved) fit(); wake(); }).observe(canvas);
  mix();
  measure();
  if (!follow()) show(graph.start, true);
  const spotOf = name => { const i = where.get(exactly(name)); return [sx(sim.x[i]), sy(sim.y[i])]; };
  return { spotOf, isMoving: () => frame !== 0, size: () => [shown.length, drawn.length] };
})();
