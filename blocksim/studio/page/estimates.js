// Estimates: a table for each method, the numbers as Python prints them, with bars of the intervals beside the truth.
import { make } from "./dom.js";

const COLUMNS_OF_TABLE = [["value", "value"], ["error", "error %"], ["z", "z"]];

export class EstimateTable {
  constructor(root) {
    this.root = root;
    this.tables = new Map();
    this.words = make("p", { class: "hint", hidden: true, testid: "no-methods" });
    root.append(this.words);
  }

  /** `methods` with their colours, `estimates` by path, `rest` those that are still to come. */
  set(methods, estimates, rest, words = "") {
    this.words.textContent = words;
    this.words.hidden = !words;
    for (const [path, table] of this.tables) if (!methods.some((method) => method.name === path)) { table.root.remove(); this.tables.delete(path); }
    for (const method of methods) {
      if (!this.tables.has(method.name)) {
        const table = this.makeTable(method);
        this.tables.set(method.name, table);
        this.root.append(table.root);
      }
      const table = this.tables.get(method.name), result = estimates[method.name];
      table.root.classList.toggle("late", rest.includes(method.name));
      if (result) this.fill(table, result); else if (!rest.includes(method.name)) this.empty(table);
      table.root.hidden = !table.names && !rest.includes(method.name);
    }
  }

  /** A run without an estimate: what stood here was of another run. */
  empty(table) {
    for (const row of table.body.children) {
      COLUMNS_OF_TABLE.forEach((_, place) => { row.children[place + 1].textContent = "–"; });
      row.classList.remove("alarm");
      row.querySelector("svg").style.visibility = "hidden";
    }
    table.notes.replaceChildren();
  }

  makeTable(method) {
    const head = make("tr", {}, make("th", { scope: "col", class: "name", text: "" }), ...COLUMNS_OF_TABLE.map(([, title]) => make("th", { scope: "col", text: title })), make("th", { scope: "col", class: "bar", text: "95 %" }));
    const body = make("tbody"), notes = make("ul", { class: "notes" });
    const swatch = make("i", { class: "swatch" });
    swatch.style.background = method.colour;
    const root = make("section", { class: "method", testid: `method-${method.name}` },
      make("h3", {}, swatch, make("span", { text: method.name }), make("small", { text: method.type })),
      make("table", {}, make("thead", {}, head), body), notes);
    return { root, body, notes, method, names: "" };
  }

  fill(table, result) {
    const names = result.rows.map((row) => row.name).join();
    if (names !== table.names) {
      table.names = names;
      table.body.replaceChildren(...result.rows.map((row) => this.makeRow(table, row)));
    }
    const reach = commonReach(result.rows.map(reachOf).filter(Number.isFinite).sort((a, b) => a - b));
    result.rows.forEach((row, place) => this.fillRow(table.body.children[place], row, reach, table.method.colour));
    table.notes.replaceChildren(...result.notes.map((text) => make("li", { text })));
  }

  makeRow(table, row) {
    return make("tr", { testid: `row-${table.method.name}-${row.name}` },
      make("th", { scope: "row", class: "name" }, make("span", { text: row.name }), "  ", make("small", { text: row.cells.unit })),
      ...COLUMNS_OF_TABLE.map(([name]) => make("td", { class: name })), make("td", { class: "bar", html: '<svg viewBox="-100 0 200 16" preserveAspectRatio="none" aria-hidden="true"><line class="truth" x1="0" x2="0" y1="0" y2="16"/><line class="interval" y1="8" y2="8"/><line class="value" y1="3" y2="13"/></svg>' }));
  }

  fillRow(element, row, reach, colour) {
    COLUMNS_OF_TABLE.forEach(([name], place) => { element.children[place + 1].textContent = row.cells[name].replace("-", "−"); });
    element.children[1].title = `± ${row.cells.std} (standard deviation), truth ${row.cells.truth || "not known"}`;
    element.classList.toggle("alarm", row.alarm);
    const [interval, value] = [element.querySelector(".interval"), element.querySelector("line.value")];
    const place = (number) => Math.max(-98, Math.min(98, 90 * shareOf(number, row) / reach));
    const known = typeof row.truth === "number" && row.truth !== 0;
    element.querySelector("svg").style.visibility = known && typeof row.value === "number" ? "visible" : "hidden";
    if (!known) return;
    const ends = [row.low, row.high].map((end) => typeof end === "number" ? place(end) : 0);
    interval.setAttribute("x1", ends[0]); interval.setAttribute("x2", ends[1]); interval.style.stroke = colour;
    value.setAttribute("x1", place(row.value)); value.setAttribute("x2", place(row.value)); value.style.stroke = colour;
  }
}

/** How far a number is from the truth, as a share of it. */
function shareOf(number, row) { return (number - row.truth) / Math.abs(row.truth); }

/** How far the bars of a table reach: the widest, but one that is out of all proportion is cut at the edge, and the rest stay seen. */
function commonReach(reaches) { return reaches.length ? Math.max(Math.min(reaches.at(-1), 5 * reaches[Math.floor(reaches.length / 2)]), 1e-9) : 1e-9; }

/** How far the bar of a row reaches. */
function reachOf(row) {
  if (typeof row.truth !== "number" || row.truth === 0) return NaN;
  return Math.max(...[row.low, row.high, row.value].filter((end) => typeof end === "number").map((end) => Math.abs(shareOf(end, row))));
}
