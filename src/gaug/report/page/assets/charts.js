"use strict";
// Charts as SVG, drawn from the page's data: xy (lines, points, steps), rows (bars, points), parallel.
gaug.charts = (() => {
  const { draw, make, number, cut } = gaug;
  const dashes = { solid: null, dashed: "7 4", dotted: "2 4" };

  function ticksOf(low, high, count, whole) {
    if (!(high > low)) return [low];
    const raw = Math.max((high - low) / count, whole ? 1 : 0);
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, ...(whole ? [] : [2.5]), 5, 10].find(factor => factor * power >= raw - 1e-12) * power;
    const found = [];
    for (let value = Math.ceil(low / step - 1e-9) * step; value <= high + step * 1e-9; value += step) {
      found.push(Math.abs(value) < step * 1e-9 ? 0 : Number(value.toPrecision(12)));
    }
    return found;
  }
  // A scale: where a value goes, and the values to write beside the axis.
  function scaleOf(axis, values, from, to, count) {
    const finite = values.filter(Number.isFinite);
    let low = axis.low ?? Math.min(...finite), high = axis.high ?? Math.max(...finite);
    if (!finite.length && axis.low === undefined) [low, high] = [0, 1];
    if (axis.log) {
      const zero = axis.log === "with-zero";
      const turn = zero ? value => Math.log10(1 + value) : value => Math.log10(Math.max(value, low));
      if (!zero) low = Math.max(low, 1e-9);
      const [a, b] = [turn(low), Math.max(turn(high), turn(low) + 0.1)];
      const found = zero && low <= 0 ? [0] : [], least = Math.max(low, zero ? 1 : low), decades = Math.log10(Math.max(high, 1) / least);
      for (let power = Math.floor(Math.log10(least)); power <= Math.ceil(Math.log10(Math.max(high, 1))); power++) {
        for (const factor of decades < 2 ? [1, 2, 5] : [1]) {
          const value = Number((factor * 10 ** power).toPrecision(1));
          if (value >= low * 0.999 && value <= high * 1.001) found.push(value);
        }
      }
      return { at: value => from + (turn(value) - a) / (b - a) * (to - from), ticks: found, low, high };
    }
    if (high - low < 1e-12) { low -= 0.5; high += 0.5; }
    const pad = axis.tight ? 0 : (high - low) * 0.04;
    // No score is above 100; a little room is left for a mark that is there.
    const [a, b] = [axis.low ?? low - pad, axis.high ?? Math.min(high + pad, axis.score ? 100 + pad : Infinity)];
    return { at: value => from + (value - a) / (b - a) * (to - from), ticks: ticksOf(a, b, count, axis.whole).filter(value => !axis.score || value <= 100), low: a, high: b };
  }
  function tickText(value, axis) {
    if (axis.percent) return `${number(100 * value, 100 * value % 1 ? 1 : 0)} %`;
    if (value !== 0 && (Math.abs(value) >= 1e7 || Math.abs(value) < 1e-3)) return value.toExponential(0);
    return number(value);
  }
  function marker(shape, x, y, size) {
    if (shape === "square") return draw("rect", { x: x - size, y: y - size, width: 2 * size, height: 2 * size });
    if (shape === "diamond") return draw("path", { d: `M${x},${y - size * 1.4}L${x + size * 1.4},${y}L${x},${y + size * 1.4}L${x - size * 1.4},${y}Z` });
    return draw("circle", { cx: x, cy: y, r: size });
  }
  function tipOn(holder) {
    const tip = make("div", { class: "tip", hidden: true });
    holder.append(tip);
    return {
      show(event, text) {
        const box = holder.getBoundingClientRect();
        tip.textContent = text;
        tip.hidden = false;
        const left = Math.min(event.clientX - box.left + 14, box.width - tip.offsetWidth - 4);
        tip.style.left = `${Math.max(0, left)}px`;
        tip.style.top = `${event.clientY - box.top + 14}px`;
      },
      hide() { tip.hidden = true; },
    };
  }
  function legendOf(series) {
    const shown = series.filter(one => one.name);
    if (shown.length < 2) return null;
    return make("ul", { class: "legend" }, ...shown.map(one => {
      const sign = draw("svg", { viewBox: "0 0 24 12", "aria-hidden": "true" });
      const paint = `var(--${one.color})`;
      if (one.kind === "points") sign.append(painted(marker(one.shape, 12, 6, 4), paint));
      else sign.append(draw("line", { x1: 1, x2: 23, y1: 6, y2: 6, stroke: paint, "stroke-width": 3, "stroke-dasharray": dashes[one.dash || "solid"] }));
      return make("li", {}, sign, one.name);
    }));
  }
  function painted(element, paint) { element.setAttribute("fill", paint); return element; }
  const canvasOf = (width, height, alt) => draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": alt });

  function xy(holder, spec, alt) {
    const width = Math.max(300, Math.min(holder.clientWidth || 640, 1000));
    const height = holder.classList.contains("square") ? width : Math.round(Math.min(380, Math.max(240, width * 0.5)));
    const svg = canvasOf(width, height, alt);
    const margin = { left: 64, right: 14, top: 12, bottom: 46 };
    const [xs, ys] = [spec.series.flatMap(one => one.x), spec.series.flatMap(one => [...one.y, ...(one.low || []), ...(one.high || [])])];
    const x = scaleOf(spec.x, xs, margin.left, width - margin.right, Math.max(3, Math.floor(width / 110)));
    const y = scaleOf(spec.y, ys, height - margin.bottom, margin.top, 5);
    for (const value of y.ticks) {
      const at = y.at(value);
      svg.append(draw("line", { class: "grid", x1: margin.left, x2: width - margin.right, y1: at, y2: at }));
      svg.append(draw("text", { x: margin.left - 8, y: at + 4, "text-anchor": "end" }, tickText(value, spec.y)));
    }
    for (const value of x.ticks) {
      svg.append(draw("text", { x: x.at(value), y: height - margin.bottom + 18, "text-anchor": "middle" }, tickText(value, spec.x)));
    }
    svg.append(draw("line", { class: "axis", x1: margin.left, x2: width - margin.right, y1: height - margin.bottom, y2: height - margin.bottom }));
    svg.append(draw("text", { x: (margin.left + width - margin.right) / 2, y: height - 6, "text-anchor": "middle" }, spec.x.title || ""));
    svg.append(draw("text", { x: 14, y: margin.top + (height - margin.bottom - margin.top) / 2, "text-anchor": "middle", transform: `rotate(-90 14 ${margin.top + (height - margin.bottom - margin.top) / 2})` }, spec.y.title || ""));
    const places = [];
    for (const one of spec.series) {
      const paint = `var(--${one.color})`;
      const base = y.at(Math.max(y.low, 0));
      const points = one.x.map((value, i) => one.y[i] === null || (spec.y.log && one.y[i] <= 0 && spec.y.log !== "with-zero") ? null : [x.at(value), y.at(one.y[i])]);
      if (one.low) {
        const known = points.map((point, i) => point && i).filter(i => i !== null);
        const up = known.map(i => `${x.at(one.x[i])},${y.at(one.high[i])}`), down = known.map(i => `${x.at(one.x[i])},${y.at(one.low[i])}`).reverse();
        svg.append(draw("polygon", { points: [...up, ...down].join(" "), fill: paint, "fill-opacity": 0.15 }));
      }
      if (one.kind === "points") {
        const group = draw("g", { fill: paint, "fill-opacity": 0.8 });
        points.forEach(point => point && group.append(marker(one.shape, ...point, 3)));
        svg.append(group);
      } else {
        let path = "", open = false;
        points.forEach((point, i) => {
          if (!point) { open = false; return; }
          if (one.kind === "steps" && i + 1 < points.length + 1) {
            const right = x.at(one.x[i] + one.width);
            path += `${open ? "L" : `M${point[0].toFixed(1)},${base.toFixed(1)}L`}${point[0].toFixed(1)},${point[1].toFixed(1)}L${right.toFixed(1)},${point[1].toFixed(1)}`;
            if (!points[i + 1]) path += `L${right.toFixed(1)},${base.toFixed(1)}`;
          } else path += `${open ? "L" : "M"}${point[0].toFixed(1)},${point[1].toFixed(1)}`;
          open = true;
        });
        const known = points.filter(Boolean);
        const most = Math.max(...(one.dots || [1]));
        if (one.dots || known.length === 1) points.forEach((point, i) => point && svg.append(painted(marker("circle", ...point, one.dots ? 2 + 5 * Math.sqrt(one.dots[i] / most) : 3.5), paint)));
        svg.append(draw("path", { d: path, fill: one.area ? paint : "none", "fill-opacity": one.area ? 0.18 : null, stroke: paint, "stroke-width": 2, "stroke-dasharray": dashes[one.dash || "solid"], "stroke-linejoin": "round" }));
      }
      points.forEach((point, i) => point && places.push([point[0] + (one.kind === "steps" ? (x.at(one.x[i] + one.width) - point[0]) / 2 : 0), point[1], `${one.name ? one.name + "\n" : ""}${one.labels ? one.labels[i] : `${spec.x.title}: ${tickText(round(one.x[i]), spec.x)}\n${spec.y.title}: ${tickText(round(one.y[i]), spec.y)}`}`]));
    }
    holder.append(svg);
    const legend = legendOf(spec.series);
    if (legend) holder.append(legend);
    hover(holder, svg, width, places);
  }
  const round = value => Number(value.toPrecision(5));

  function hover(holder, svg, width, places) {
    const tip = tipOn(holder);
    svg.addEventListener("pointermove", event => {
      const box = svg.getBoundingClientRect(), zoom = width / box.width;
      const [px, py] = [(event.clientX - box.left) * zoom, (event.clientY - box.top) * zoom];
      let best = null, least = 24 ** 2;
      for (const place of places) {
        const distance = (place[0] - px) ** 2 + (place[1] - py) ** 2;
        if (distance < least) [best, least] = [place, distance];
      }
      if (best) tip.show(event, best[2]); else tip.hide();
    });
    svg.addEventListener("pointerleave", tip.hide);
  }

  // Words in at most two lines of so many characters.
  function inLines(text, longest) {
    const words = text.split(" ");
    let first = "";
    while (words.length && (first + words[0]).length < longest) first += `${words.shift()} `;
    return [first.trim() || cut(words.shift() || "", longest), cut(words.join(" "), longest)].filter(Boolean);
  }

  // One row per category: a bar, or points with their mean and spread, and a mark for another value.
  // A note stands below the name of a row.
  function rows(holder, spec, alt) {
    const width = Math.max(300, Math.min(holder.clientWidth || 640, 1000));
    const narrow = width < 520;  // as on a phone: names stand above their rows, not beside them
    const longest = Math.max(...spec.rows.map(row => cut(row.name, 34).length), ...spec.rows.map(row => 0.8 * cut(row.note || "", 60).length), 4);
    const left = narrow ? 12 : Math.min(longest * 7.4 + 14, width * 0.42), right = 64, bottom = 44, top = 6;
    const room = narrow ? width - 24 : left - 14;
    const notes = spec.rows.map(row => inLines(row.note || "", Math.floor(room / 5.6)));
    const linesOfNotes = Math.max(...notes.map(lines => lines.length));
    const step = (spec.rows.some(row => row.points) ? 38 : 30) + (narrow ? 16 + 12 * linesOfNotes : linesOfNotes > 1 ? 12 : 0);
    const height = top + bottom + step * spec.rows.length;
    const svg = canvasOf(width, height, alt);
    const values = spec.rows.flatMap(row => [...(row.points || []), row.value, row.value - row.spread, row.value + row.spread, row.mark, spec.zero ? 0 : NaN].filter(Number.isFinite));
    const x = scaleOf(spec.x, values, left, width - right, Math.max(2, Math.floor((width - left) / 110)));
    for (const value of x.ticks) {
      svg.append(draw("line", { class: "grid", x1: x.at(value), x2: x.at(value), y1: top, y2: height - bottom }));
      svg.append(draw("text", { x: x.at(value), y: height - bottom + 18, "text-anchor": "middle" }, tickText(value, spec.x)));
    }
    const halfTitle = 3.5 * (spec.x.title || "").length;
    svg.append(draw("text", { x: Math.max(halfTitle, Math.min((left + width - right) / 2, width - halfTitle)), y: height - 4, "text-anchor": "middle" }, spec.x.title || ""));
    if (spec.zero) svg.append(draw("line", { class: "axis", x1: x.at(0), x2: x.at(0), y1: top, y2: height - bottom }));
    const places = [];
    spec.rows.forEach((row, i) => {
      const middle = narrow ? top + step * (i + 1) - 18 : top + step * (i + 0.5), paint = `var(--${row.color || "c0"})`;
      const beside = narrow ? { x: 2 } : { x: left - 10, "text-anchor": "end" };
      const first = narrow ? top + step * i + 16 : middle + [4, -2, -7][notes[i].length];
      svg.append(draw("text", { class: "label", ...beside, y: first }, cut(row.name, Math.floor(room / 7.2))));
      notes[i].forEach((line, j) => svg.append(draw("text", { class: "small", ...beside, y: first + 14 + 12 * j }, line)));
      if (row.points) {
        const group = draw("g", { fill: paint, "fill-opacity": 0.55 });
        row.points.forEach((value, j) => {
          if (value === null) return;
          const y = middle + ((j * 7919) % 13 - 6) * (row.points.length > 1 ? 1 : 0);
          group.append(marker(row.shape, x.at(value), y, 3.2));
          places.push([x.at(value), y, `${row.name}\n${row.note ? row.note + "\n" : ""}${number(value, 2)}`]);
        });
        svg.append(group);
        if (Number.isFinite(row.value)) {
          if (row.spread) svg.append(draw("line", { x1: x.at(row.value - row.spread), x2: x.at(Math.min(row.value + row.spread, x.high)), y1: middle, y2: middle, stroke: "var(--ink)", "stroke-width": 1.5 }));
          svg.append(draw("line", { x1: x.at(row.value), x2: x.at(row.value), y1: middle - 11, y2: middle + 11, stroke: "var(--ink)", "stroke-width": 3 }));
        }
      } else if (Number.isFinite(row.value)) {
        const start = x.at(Math.max(x.low, Math.min(0, x.high)));
        svg.append(draw("rect", { x: Math.min(start, x.at(row.value)), y: middle - 9, width: Math.max(1, Math.abs(x.at(row.value) - start)), height: 18, fill: paint, rx: 2 }));
        if (row.spread) svg.append(draw("path", { d: `M${x.at(row.value - row.spread)},${middle}H${x.at(row.value + row.spread)}m0,-5v10`, stroke: "var(--ink)", "stroke-width": 1.5 }));
      }
      if (Number.isFinite(row.value)) {
        svg.append(draw("text", { x: width - right + 8, y: middle + 4 }, row.text || number(round(row.value))));
        places.push([x.at(row.value), middle, `${row.name}\n${row.text || number(round(row.value))}`]);
      }
      if (Number.isFinite(row.mark)) {
        svg.append(painted(marker("diamond", x.at(row.mark), middle, 4.5), "var(--removed)"));
        places.push([x.at(row.mark), middle, `${spec.markName || "mark"}\n${number(row.mark)}`]);
      }
    });
    holder.append(svg);
    hover(holder, svg, width, places);
  }

  // Parallel coordinates: one axis per setting and one for the score; better trials are bolder.
  function parallel(holder, spec, alt) {
    const width = Math.max(300, Math.min(holder.clientWidth || 640, 1000)), height = 320;
    const svg = canvasOf(width, height, alt);
    const widest = Math.max(...(spec.axes[0].values || []).map(value => cut(value, 12).length), 6);
    const top = 52, bottom = 290, left = 7.4 * widest + 12, right = width - 60;
    const at = spec.axes.map((_, i) => spec.axes.length === 1 ? (left + right) / 2 : left + (right - left) * i / (spec.axes.length - 1));
    const scales = spec.axes.map((axis, i) => {
      if (axis.values) {
        const place = value => axis.values.length === 1 ? (top + bottom) / 2 : bottom - (bottom - top) * axis.values.indexOf(value) / (axis.values.length - 1);
        return { at: place, ticks: axis.values };
      }
      return scaleOf({ tight: true }, spec.lines.map(line => line.at[i]).filter(value => value !== null), bottom, top, 4);
    });
    const scores = spec.lines.map(line => line.score).filter(Number.isFinite).sort((a, b) => a - b);
    const places = [];
    const ordered = [...spec.lines].sort((a, b) => (a.score ?? -Infinity) - (b.score ?? -Infinity));
    for (const line of ordered) {
      const rank = scores.length > 1 && Number.isFinite(line.score) ? scores.filter(score => score <= line.score).length / scores.length : 0;
      const good = line.best;
      const points = line.at.map((value, i) => value === null ? null : [at[i], scales[i].at(value)]).filter(Boolean);
      svg.append(draw("polyline", { points: points.map(point => point.map(value => value.toFixed(1)).join(",")).join(" "), fill: "none", stroke: good ? "var(--c4)" : "var(--c0)", "stroke-width": good ? 2.5 : 1.2, "stroke-opacity": good ? 1 : 0.15 + 0.5 * rank }));
      points.forEach(point => places.push([...point, line.name]));
    }
    spec.axes.forEach((axis, i) => {
      svg.append(draw("line", { class: "axis", x1: at[i], x2: at[i], y1: top, y2: bottom }));
      svg.append(draw("text", { class: "label", x: at[i], y: 20 + (i % 2 && spec.axes.length > 4 ? 12 : 0), "text-anchor": "middle" }, cut(axis.name, Math.max(9, Math.floor((right - left) / spec.axes.length / 6)))));
      for (const value of scales[i].ticks) {
        svg.append(draw("text", { x: at[i] - 6, y: scales[i].at(value) + 4, "text-anchor": "end" }, typeof value === "number" ? tickText(round(value), {}) : cut(value, 12)));
      }
    });
    holder.append(svg);
    hover(holder, svg, width, places);
  }

  const kinds = { xy, rows, parallel };
  function render(holder, spec, alt) {
    holder.replaceChildren();
    kinds[spec.kind](holder, spec, alt);
    holder.dataset.drawn = "yes";
  }
  function renderAll() {
    for (const holder of document.querySelectorAll("[data-chart]")) {
      const spec = gaug.data.charts && gaug.data.charts[holder.dataset.chart];
      if (spec && holder.offsetParent !== null) render(holder, spec, holder.dataset.alt);
    }
  }
  let waiting = 0, lastWidth = 0;
  new ResizeObserver(entries => {
    const width = Math.round(entries[0].contentRect.width);
    if (width === lastWidth) return;
    lastWidth = width;
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(renderAll);
  }).observe(document.getElementById("content"));
  document.addEventListener("toggle", renderAll, true);
  window.addEventListener("beforeprint", renderAll);
  return { render, renderAll };
})();
