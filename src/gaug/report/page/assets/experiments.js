"use strict";
// The experiments of a store: filters, the address that keeps them, one experiment in detail.
gaug.experiments = (() => {
  const table = document.getElementById("experiment-table");
  if (!table) return null;
  const { make, cut, number } = gaug, { texts, rows } = gaug.data.experiments;
  const keys = ["name", "graph", "model", "method", "settings", "place", "chosen", "protocol", "test", "val", "software", "commit", "last", "warnings", "epoch", "seeds"];
  const plain = new Set(["graph", "model", "method", "place", "chosen", "protocol", "software", "seeds"]);
  const found = new Map(rows.map(row => [row[0], Object.fromEntries(keys.map((key, i) => [key, plain.has(key) ? texts[row[i]] : row[i]]))]));
  const lines = [...table.tBodies[0].rows].map(row => ({ row, one: found.get(row.querySelector("[data-e]").dataset.e) }));
  const lineOf = new Map(lines.map(line => [line.row, line]));
  const filters = [...document.querySelectorAll("[data-filter]")];
  const status = document.getElementById("filtered"), panel = document.getElementById("experiment");
  const compared = document.querySelector('[data-chart="compared"]');
  const header = [...table.tHead.rows[0].cells].map(cell => cell.textContent);
  let opened = null, sorted = null;

  const mean = values => values.length ? values.reduce((a, b) => a + b, 0) / values.length : null;
  const spread = values => {
    if (values.length < 2) return 0;
    const middle = mean(values);
    return Math.sqrt(values.reduce((sum, value) => sum + (value - middle) ** 2, 0) / (values.length - 1));
  };
  const known = values => values.filter(value => value !== null);
  const words = (values, digits = 1) => values.length ? `${mean(values).toFixed(digits)}${values.length > 1 ? ` ± ${spread(values).toFixed(digits)}` : ""}` : "–";

  function asked() { return Object.fromEntries(filters.map(control => [control.dataset.filter, control.value])); }
  function apply() {
    const want = asked(), text = (want.text || "").toLowerCase();
    let count = 0;
    for (const { row, one } of lines) {
      const hidden = ["graph", "model", "method"].some(key => want[key] && one[key] !== want[key])
        || (text && !`${one.settings} ${one.place}`.toLowerCase().includes(text))
        || (want.tried === "" && !known(one.test).length && one.chosen.startsWith("tried"));
      row.hidden = hidden;
      if (!hidden) count++;
    }
    status.textContent = `${number(count)} of ${number(lines.length)} experiments.`;
    compare();
  }
  function compare() {
    const shown = [];
    for (const row of table.tBodies[0].rows) {
      if (row.hidden) continue;
      const { one } = lineOf.get(row);
      const values = known(one.test).length ? known(one.test) : known(one.val);
      if (values.length) shown.push({ name: `${cut(one.graph, 16)} · ${cut(one.model, 10)} · ${cut(one.method, 16)}`, note: one.settings, points: values.slice(0, 60), value: mean(values), spread: spread(values), text: mean(values).toFixed(1), color: known(one.test).length ? "c0" : "other", shape: known(one.test).length ? "circle" : "square" });
      if (shown.length === 20) break;
    }
    gaug.data.charts.compared = { kind: "rows", rows: shown, x: { title: "micro-F1, %", score: true } };
    compared.closest("figure").hidden = !shown.length;
    if (shown.length) gaug.charts.render(compared, gaug.data.charts.compared, compared.dataset.alt);
  }
  function open(name) {
    const one = found.get(name);
    opened = one ? name : null;
    panel.hidden = !one;
    if (!one) return;
    const facts = [
      ["settings", make("code", {}, one.settings || "all defaults")],
      ["how they were chosen", one.chosen], ["selection", one.protocol], ["split", one.place],
      ["test micro-F1", words(known(one.test), 2)], ["validation micro-F1", words(known(one.val), 2)],
      ["runs", `${number(one.test.length)}; seed ${one.seeds}; best epoch ${number(one.epoch)} on average`],
      ["software", one.software + (one.commit ? `, commit ${one.commit.slice(0, 10)}` : "")],
      ["last run", one.last], ...one.warnings.map(text => ["warning", text]),
    ];
    const cells = [...lines.find(line => line.one === one).row.cells].map(cell => cell.textContent);
    facts.splice(7, 0, ["cost", `${cells[8]} s per run, ${cells[9]} MB at most`]);
    const chart = make("div", { class: "chart" });
    const parts = [make("h3", {}, `${cut(one.graph)}, ${cut(one.model)}, ${cut(one.method)}`),
      make("dl", { class: "facts" }, ...facts.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value)))),
      make("figure", {}, chart, make("figcaption", {}, "Every run as a point, with mean and spread"))];
    const curves = gaug.data.curves[name] || [];
    const places = curves.map(() => make("div", { class: "chart" }));
    if (curves.length) parts.push(make("figure", {}, make("div", { class: "columns" }, ...places), make("figcaption", {}, "Learning curves, mean over the runs whose history was kept")));
    parts.push(make("button", { type: "button", on: { click: () => { open(null); keep(); table.closest(".scroll").focus(); } } }, "Close"));
    panel.replaceChildren(...parts);
    const scored = [["test", one.test, "c0"], ["validation", one.val, "c2"]].filter(part => known(part[1]).length);
    gaug.charts.render(chart, { kind: "rows", x: { title: "micro-F1, %", score: true }, rows: scored.map(([title, values, color]) => ({ name: title, points: known(values), value: mean(known(values)), spread: spread(known(values)), text: words(known(values)).split(" ")[0], color })) }, `Scores of the runs: ${scored.map(part => `${part[0]} ${words(known(part[1]))}`).join(", ")}`);
    curves.forEach((curve, i) => gaug.charts.render(places[i], curve, `Learning curve: ${curve.y.title}`));
  }

  // The address: filters, order, the opened experiment.
  function keep() {
    const state = new URLSearchParams();
    for (const [key, value] of Object.entries(asked())) if (value) state.set(key, value);
    if (sorted) state.set("sort", `${header[sorted.place]}:${sorted.direction}`);
    if (opened) state.set("experiment", opened);
    history.replaceState(null, "", `#${state.toString() || "experiments"}`);
  }
  function follow() {
    const text = location.hash.slice(1);
    if (!text.includes("=")) return;
    const state = new URLSearchParams(text);
    for (const control of filters) control.value = state.get(control.dataset.filter) || "";
    const [column, direction] = (state.get("sort") || "").split(":");
    if (header.includes(column) && ["ascending", "descending"].includes(direction)) {
      sorted = { place: header.indexOf(column), direction };
      gaug.sortTable(table, sorted.place, direction);
    }
    apply();
    open(state.get("experiment"));
    (opened ? panel : document.getElementById("experiments")).scrollIntoView();
    if (opened) panel.focus({ preventScroll: true });
  }
  filters.forEach(control => control.addEventListener("input", () => { apply(); keep(); }));
  table.addEventListener("sorted", event => { sorted = event.detail; compare(); keep(); });
  document.addEventListener("click", event => {
    const link = event.target.closest('a[href^="#experiment="]');
    if (!link) return;
    event.preventDefault();
    open(link.getAttribute("href").split("=")[1]);
    keep();
    panel.scrollIntoView();
    panel.focus({ preventScroll: true });
  });
  window.addEventListener("hashchange", follow);
  apply();
  follow();
  return { open };
})();
