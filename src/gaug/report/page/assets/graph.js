"use strict";
// The graph of the page: neighbors, what became of each edge, names, and the colors of classes.
gaug.graph = (() => {
  const given = gaug.data.graph;
  if (!given) return null;
  const names = given.names, nameOf = node => names ? names[node] : String(node);
  const states = ["kept", "added", "removed"];

  // Neighbors of every node, from the gaps between the ends of sorted edges.
  const count = given.counts.length, edges = given.gaps.length;
  const ends = [new Int32Array(edges), new Int32Array(edges)];
  const degree = new Int32Array(count + 1);
  for (let u = 0, e = 0; u < count; u++) {
    for (let k = 0, v = u; k < given.counts[u]; k++, e++) {
      v += given.gaps[e];
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
  const stateOf = e => given.states.charCodeAt(e) - 48;
  const scores = new Map();
  for (let e = 0, k = 0; e < edges; e++) if (stateOf(e)) scores.set(e, given.scores[k++]);

  // Colors: the largest classes have one each, the others share gray; those of edges come last.
  const palette = [2, 1, 3, 5, 6, 7, 0, 4].map(place => `c${place}`);
  const classOf = node => given.classes ? given.classes[node] : -1;
  const sizes = new Map();
  for (let node = 0; node < count; node++) if (classOf(node) >= 0) sizes.set(classOf(node), (sizes.get(classOf(node)) || 0) + 1);
  const colored = [...sizes.keys()].sort((a, b) => sizes.get(b) - sizes.get(a)).slice(0, palette.length).sort((a, b) => a - b);
  // The place of a node's color in the palette; one more for those without.
  const slots = Uint8Array.from({ length: count }, (_, node) => {
    const at = colored.indexOf(classOf(node));
    return at < 0 ? palette.length : at;
  });

  function starting(text, most) {
    const wanted = text.trim().toLowerCase(), found = [];
    if (!wanted) return found;
    for (let node = 0; node < count && found.length < most; node++) if (nameOf(node).toLowerCase().startsWith(wanted)) found.push(node);
    return found;
  }
  // Long names were cut to 200 characters.
  function named(text) {
    for (let node = 0; node < count; node++) if (nameOf(node) === text || nameOf(node) === text.slice(0, 200)) return node;
    return -1;
  }
  return {
    count, nameOf, states, stateOf, palette, colored, slots, starting, named,
    start: given.start, note: given.note, hasClasses: Boolean(given.classes), numClasses: sizes.size,
    edgesOf: node => near.subarray(first[node], first[node + 1]),
    other: (e, node) => ends[0][e] === node ? ends[1][e] : ends[0][e],
    begins: (e, node) => ends[0][e] === node,
    scoreOf: e => scores.get(e),
    className: label => given.classNames[label],
    classNameOf: node => classOf(node) >= 0 ? given.classNames[classOf(node)] : null,
  };
})();
