"use strict";
// Every page: its data, the theme, tables that sort, and small helpers for the other scripts.
const gaug = (() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const svgSpace = "http://www.w3.org/2000/svg";

  function fill(element, attributes, children) {
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value === null || value === undefined || value === false) continue;
      if (name === "on") for (const [event, act] of Object.entries(value)) element.addEventListener(event, act);
      else element.setAttribute(name, value === true ? "" : value);
    }
    for (const child of children) {
      if (child !== null && child !== undefined) element.append(child);
    }
    return element;
  }
  const make = (name, attributes, ...children) => fill(document.createElement(name), attributes, children);
  const draw = (name, attributes, ...children) => fill(document.createElementNS(svgSpace, name), attributes, children);
  // A color of the style sheet as the theme has it now, for a canvas.
  const probe = make("span", { hidden: true });
  document.body.append(probe);
  function color(name) {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  }

  function cut(text, longest = 40) {
    const line = String(text).replace(/\s+/g, " ");
    return line.length <= longest ? line : line.slice(0, longest - 1) + "…";
  }
  function number(value, digits) {
    if (value === null || value === undefined) return "–";
    return value.toLocaleString("en-US", digits === undefined ? {} : { minimumFractionDigits: digits, maximumFractionDigits: digits }).replace("-", "−");
  }

  // The theme: as the system has it, or the other one.
  const whenThemeChanges = [];
  const systemDark = window.matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (document.documentElement.dataset.theme || (systemDark.matches ? "dark" : "light")) === "dark";
  const button = document.getElementById("theme");
  button.hidden = false;
  function showTheme() {
    button.textContent = isDark() ? "Light" : "Dark";
    button.setAttribute("aria-label", `Switch to ${isDark() ? "light" : "dark"} colors`);
    whenThemeChanges.forEach(act => act());
  }
  button.addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    showTheme();
  });
  systemDark.addEventListener("change", showTheme);
  // Paper is white, for what is drawn on a canvas, too, and nothing on it can be unfolded.
  let before, folded = [];
  window.addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details:not([open])")];
    folded.forEach(part => { part.open = true; });
    before = document.documentElement.dataset.theme;
    document.documentElement.dataset.theme = "light";
    showTheme();
  });
  window.addEventListener("afterprint", () => {
    if (before) document.documentElement.dataset.theme = before;
    else delete document.documentElement.dataset.theme;
    folded.forEach(part => { part.open = false; });
    showTheme();
  });

  // Tables: a click on a column's name sorts by it, a second one the other way round.
  const keyOf = cell => {
    if (!cell) return null;
    const given = cell.dataset.v;
    if (given === undefined) return cell.textContent.trim() === "–" ? null : cell.textContent.trim();
    const value = Number(given);
    return given === "" || Number.isNaN(value) ? given : value;
  };
  function compare(a, b) {
    if (a === null || b === null) return (a === null) - (b === null);
    if (typeof a === "number" && typeof b === "number") return a - b;
    return String(a).localeCompare(String(b), undefined, { numeric: true });
  }
  function sortTable(table, place, direction) {
    const body = table.tBodies[0];
    const rows = [...body.rows].map((row, index) => [keyOf(row.cells[place]), index, row]);
    const sign = direction === "descending" ? -1 : 1;
    rows.sort((a, b) => {
      if (a[0] === null || b[0] === null) return compare(a[0], b[0]) || a[1] - b[1];
      return sign * compare(a[0], b[0]) || a[1] - b[1];
    });
    body.append(...rows.map(row => row[2]));
    [...table.tHead.rows[0].cells].forEach((cell, index) => {
      if (index === place) cell.setAttribute("aria-sort", direction);
      else cell.removeAttribute("aria-sort");
    });
  }
  for (const table of document.querySelectorAll("table.sortable")) {
    table.tHead.addEventListener("click", event => {
      const cell = event.target.closest("button") && event.target.closest("th");
      if (!cell) return;
      const numeric = cell.classList.contains("number");
      const now = cell.getAttribute("aria-sort");
      const next = now === null ? (numeric ? "descending" : "ascending") : (now === "ascending" ? "descending" : "ascending");
      sortTable(table, cell.cellIndex, next);
      table.dispatchEvent(new CustomEvent("sorted", { detail: { place: cell.cellIndex, direction: next } }));
    });
  }
  // A table that is wider than a phone: its cells get the names of their columns, and the style
  // sheet puts them below each other.
  const phone = window.matchMedia("(max-width: 40rem)"), fewColumns = 4;
  function stackTables() {
    for (const table of document.querySelectorAll("main table:not(.matrix)")) {
      table.classList.remove("stacked");
      const names = [...table.tHead.rows[0].cells].map(cell => cell.textContent);
      const isWide = table.offsetWidth ? table.offsetWidth > table.parentElement.clientWidth + 1 : names.length > fewColumns;
      if (!phone.matches || !isWide) continue;
      table.classList.add("stacked");
      if (table.dataset.named) continue;
      for (const row of table.tBodies[0].rows) [...row.cells].forEach((cell, i) => { cell.dataset.column = names[i]; });
      table.dataset.named = "yes";
    }
  }
  phone.addEventListener("change", stackTables);
  stackTables();
  queueMicrotask(showTheme);
  return { data, make, draw, color, cut, number, sortTable, whenThemeChanges };
})();
