"use strict";
// Where to draw the nodes of a graph: springs along edges, repulsion between all nodes (Barnes–Hut).
gaug.layout = (() => {
  const theta2 = 0.81, repulsion = 2600, spring = 0.06, gravity = 0.006, length = 40;

  function start(count, sources, targets, hops) {
    const x = new Float64Array(count), y = new Float64Array(count);
    const degree = new Float64Array(count);
    for (let i = 0; i < count; i++) {
      // A sunflower: rings in the order of the hops, so that the start is near the end.
      const angle = i * 2.399963, radius = 14 * Math.sqrt(i) + 20 * hops[i];
      x[i] = i ? radius * Math.cos(angle) : 0;
      y[i] = i ? radius * Math.sin(angle) : 0;
    }
    for (let e = 0; e < sources.length; e++) { degree[sources[e]]++; degree[targets[e]]++; }
    return {
      count, sources, targets, x, y, degree,
      vx: new Float64Array(count), vy: new Float64Array(count), heat: 1, held: -1,
    };
  }

  // The quadtree in flat arrays: center of mass, number of nodes, side, four children.
  const tree = { size: 0, capacity: 0 };
  function grow(capacity) {
    tree.capacity = capacity;
    for (const name of ["mx", "my", "mass", "left", "top", "side"]) tree[name] = new Float64Array(capacity);
    tree.child = new Int32Array(4 * capacity);
    tree.node = new Int32Array(capacity);
  }
  function cell(left, top, side) {
    const at = tree.size++;
    tree.mx[at] = tree.my[at] = tree.mass[at] = 0;
    tree.left[at] = left; tree.top[at] = top; tree.side[at] = side;
    tree.node[at] = -1;
    tree.child.fill(-1, 4 * at, 4 * at + 4);
    return at;
  }
  function quadrant(at, px, py) {
    const half = tree.side[at] / 2;
    return (px >= tree.left[at] + half ? 1 : 0) + (py >= tree.top[at] + half ? 2 : 0);
  }
  function childOf(at, which) {
    let found = tree.child[4 * at + which];
    if (found < 0) {
      const half = tree.side[at] / 2;
      found = cell(tree.left[at] + (which & 1 ? half : 0), tree.top[at] + (which & 2 ? half : 0), half);
      tree.child[4 * at + which] = found;
    }
    return found;
  }
  function build(state) {
    const { x, y, count } = state;
    if (tree.capacity < 24 * count + 64) grow(24 * count + 64);
    tree.size = 0;
    let left = Infinity, top = Infinity, right = -Infinity, bottom = -Infinity;
    for (let i = 0; i < count; i++) {
      left = Math.min(left, x[i]); right = Math.max(right, x[i]);
      top = Math.min(top, y[i]); bottom = Math.max(bottom, y[i]);
    }
    cell(left, top, Math.max(right - left, bottom - top, 1) * 1.0001);
    for (let i = 0; i < count; i++) {
      let at = 0, depth = 0;
      for (;;) {
        tree.mx[at] += x[i]; tree.my[at] += y[i]; tree.mass[at]++;
        if (tree.mass[at] === 1) { tree.node[at] = i; break; }
        if (depth++ > 18 || tree.size > tree.capacity - 8) break;
        const other = tree.node[at];
        if (other >= 0) {
          const below = childOf(at, quadrant(at, x[other], y[other]));
          tree.mx[below] += x[other]; tree.my[below] += y[other]; tree.mass[below]++;
          tree.node[below] = other;
          tree.node[at] = -1;
        }
        at = childOf(at, quadrant(at, x[i], y[i]));
      }
    }
  }
  const stack = new Int32Array(4096);
  function repel(state) {
    const { x, y, vx, vy, count, heat } = state;
    for (let i = 0; i < count; i++) {
      let size = 0, fx = 0, fy = 0;
      stack[size++] = 0;
      while (size) {
        const at = stack[--size], mass = tree.mass[at];
        let dx = x[i] - tree.mx[at] / mass, dy = y[i] - tree.my[at] / mass;
        const distance2 = dx * dx + dy * dy, side = tree.side[at];
        const leaf = tree.child[4 * at] < 0 && tree.child[4 * at + 1] < 0 && tree.child[4 * at + 2] < 0 && tree.child[4 * at + 3] < 0;
        if (leaf || side * side < theta2 * distance2) {
          if (leaf && tree.node[at] === i && mass === 1) continue;
          if (distance2 < 1e-6) { dx = ((i * 7919) % 100 - 50) / 500; dy = ((i * 104729) % 100 - 50) / 500; }
          const force = repulsion * mass / (distance2 + 30);
          const over = force / Math.sqrt(distance2 + 1);
          fx += dx * over; fy += dy * over;
        } else {
          for (let which = 0; which < 4; which++) {
            const below = tree.child[4 * at + which];
            if (below >= 0) stack[size++] = below;
          }
        }
      }
      vx[i] += heat * fx * 0.06; vy[i] += heat * fy * 0.06;
    }
  }

  function step(state) {
    const { x, y, vx, vy, count, sources, targets, degree } = state;
    build(state);
    repel(state);
    for (let e = 0; e < sources.length; e++) {
      const a = sources[e], b = targets[e];
      const dx = x[b] - x[a], dy = y[b] - y[a], distance = Math.sqrt(dx * dx + dy * dy) || 1;
      const pull = state.heat * spring * (distance - length) / distance / Math.sqrt(Math.min(degree[a], degree[b]));
      vx[a] += dx * pull; vy[a] += dy * pull;
      vx[b] -= dx * pull; vy[b] -= dy * pull;
    }
    for (let i = 0; i < count; i++) {
      vx[i] -= state.heat * gravity * x[i]; vy[i] -= state.heat * gravity * y[i];
      const speed = Math.hypot(vx[i], vy[i]), slow = speed > 40 ? 40 / speed : 1;
      if (i !== state.held && i !== 0) { x[i] += vx[i] * slow; y[i] += vy[i] * slow; }
      vx[i] *= 0.62; vy[i] *= 0.62;
    }
    state.heat *= 0.985;
  }
  return { start, step, isWarm: state => state.heat > 0.02 };
})();
