"use strict";
// A part of the graph on a canvas: nodes in the colors of their classes, edges by what became of them.
gaug.drawing = canvas => {
  const { graph, color, cut } = gaug, pen = canvas.getContext("2d");
  let sim = null, nodes = [], edges = [];
  let box = { width: 0, height: 0 }, paints = {}, frames = 0;
  const view = { x: 0, y: 0, zoom: 1 };

  // What is drawn: positions, the nodes, the center first, and edges as [place, place, state].
  function set(positions, shownNodes, shownEdges) { [sim, nodes, edges] = [positions, shownNodes, shownEdges]; }
  function measure() {
    const ratio = window.devicePixelRatio || 1, rect = canvas.getBoundingClientRect();
    box = { width: rect.width, height: rect.height };
    canvas.width = Math.round(rect.width * ratio);
    canvas.height = Math.round(rect.height * ratio);
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  }
  function mix() {
    paints = Object.fromEntries(["added", "removed", "kept", "other", "ink", "ground", "accent", ...graph.palette].map(name => [name, color(name)]));
    paints.slots = [...graph.palette.map(name => paints[name]), paints.other];
  }

  // The part that is in view.
  const sx = value => (value - view.x) * view.zoom + box.width / 2;
  const sy = value => (value - view.y) * view.zoom + box.height / 2;
  const spot = i => [sx(sim.x[i]), sy(sim.y[i])];
  function fit() {
    let far = [Infinity, Infinity, -Infinity, -Infinity];
    for (let i = 0; i < sim.count; i++) far = [Math.min(far[0], sim.x[i]), Math.min(far[1], sim.y[i]), Math.max(far[2], sim.x[i]), Math.max(far[3], sim.y[i])];
    view.x = (far[0] + far[2]) / 2; view.y = (far[1] + far[3]) / 2;
    view.zoom = Math.min(3.5, (box.width - 50) / Math.max(80, far[2] - far[0]), (box.height - 50) / Math.max(80, far[3] - far[1]));
  }
  function pan(dx, dy) { view.x -= dx / view.zoom; view.y -= dy / view.zoom; }
  function zoom(factor, px = box.width / 2, py = box.height / 2) {
    const [gx, gy] = [(px - box.width / 2) / view.zoom + view.x, (py - box.height / 2) / view.zoom + view.y];
    view.zoom = Math.min(8, Math.max(0.04, view.zoom * factor));
    view.x = gx - (px - box.width / 2) / view.zoom;
    view.y = gy - (py - box.height / 2) / view.zoom;
  }
  function nodeAt(px, py) {
    let best = -1, least = 14 ** 2;
    for (let i = 0; i < nodes.length; i++) {
      const [x, y] = spot(i), distance = (x - px) ** 2 + (y - py) ** 2;
      if (distance < least) [best, least] = [i, distance];
    }
    return best;
  }

  // While many edges move, they are drawn thinner, and not all of those that were kept: wide and
  // dashed lines take most of the time. At rest everything is drawn.
  const many = 1500;
  function paint(rough, hovered) {
    pen.clearRect(0, 0, box.width, box.height);
    pen.lineCap = "round";
    for (const [state, paintName, width, dash, alpha] of [[0, "kept", 1, [], edges.length > 3000 ? 0.22 : 0.45], [2, "removed", 2, [5, 4], 0.9], [1, "added", 2, [], 0.9]]) {
      pen.strokeStyle = paints[paintName]; pen.lineWidth = rough ? 1 : width; pen.globalAlpha = alpha; pen.setLineDash(dash);
      pen.beginPath();
      let waiting = 0, left = rough && !state ? 2 * many : Infinity;
      for (const edge of edges) {
        if (edge[2] !== state) continue;
        if (!left--) break;
        pen.moveTo(...spot(edge[0]));
        pen.lineTo(...spot(edge[1]));
        if (++waiting % 8 === 0) { pen.stroke(); pen.beginPath(); }  // long paths are slow
      }
      pen.stroke();
    }
    pen.setLineDash([]);
    pen.globalAlpha = 1;
    const base = Math.max(2.2, Math.min(7, 3.4 * Math.sqrt(view.zoom) + (nodes.length < 120 ? 1.5 : 0)));
    const stamp = stamps(base), half = stamp.size / 2;
    for (let i = nodes.length - 1; i >= 0; i--) {
      const grow = i ? 1 : 1.7;
      pen.drawImage(stamp.dots[graph.slots[nodes[i]]], sx(sim.x[i]) - half * grow, sy(sim.y[i]) - half * grow, stamp.size * grow, stamp.size * grow);
    }
    ring(0, paints.ink, base * 1.7 + 3);
    if (hovered > 0) ring(hovered, paints.accent, base + 3);
    labels(Math.max(hovered, 0), base);
    canvas.dataset.frames = ++frames;
  }
  // A dot of each color, drawn once for each size: copying is faster than drawing circles.
  let stamped = null;
  function stamps(base) {
    const radius = Math.round(base * 4) / 4;
    if (stamped && stamped.radius === radius && stamped.paints === paints) return stamped;
    const sharp = 2 * (window.devicePixelRatio || 1), size = 2 * radius + 2;
    const dots = paints.slots.map(paintOf => {
      const dot = gaug.make("canvas", { width: Math.ceil(size * sharp), height: Math.ceil(size * sharp) });
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
    pen.beginPath(); pen.arc(...spot(i), radius, 0, 6.2832); pen.stroke();
  }
  // Names of the node in focus and its neighbors, then of the others, right or left of their nodes,
  // while they cover neither one another nor a node.
  function labels(focus, base) {
    const wanted = [focus, 0];
    for (const edge of edges) {
      if (edge[0] === focus) wanted.push(edge[1]); else if (edge[1] === focus) wanted.push(edge[0]);
      if (wanted.length > 60) break;
    }
    if (nodes.length <= 400) for (let i = 1; i < nodes.length; i++) wanted.push(i);
    pen.font = "12px system-ui, sans-serif";
    const spots = nodes.map((_, i) => spot(i)), taken = [];
    const isFree = (left, right, y, own) => left >= 0 && right <= box.width
      && !taken.some(t => left < t[1] + 3 && right + 3 > t[0] && Math.abs(y - t[2]) < 15)
      && !spots.some((s, i) => i !== own && s[0] > left - base && s[0] < right + base && Math.abs(s[1] - y) < 6 + base);
    for (const i of new Set(wanted)) {
      const [x, y] = spots[i], gap = base * (i ? 1 : 1.7) + 4;
      if (x < 0 || y < 10 || x > box.width || y > box.height - 4) continue;
      const text = cut(graph.nameOf(nodes[i]), 24), width = pen.measureText(text).width;
      const sides = [[x + gap, x + gap + width], [x - gap - width, x - gap]];
      const strong = i === focus || i === 0;
      const found = sides.find(side => isFree(...side, y, i)) || (strong ? sides[x + gap + width > box.width ? 1 : 0] : null);
      if (!found) continue;
      taken.push([...found, y]);
      pen.lineWidth = 3; pen.strokeStyle = paints.ground; pen.strokeText(text, found[0], y + 4);
      pen.fillStyle = paints.ink; pen.globalAlpha = strong ? 1 : 0.75; pen.fillText(text, found[0], y + 4); pen.globalAlpha = 1;
      if (taken.length > 80) break;
    }
  }
  return { set, measure, mix, fit, pan, zoom, spot, nodeAt, paint, hasMany: () => edges.length > many, scale: () => view.zoom };
};
