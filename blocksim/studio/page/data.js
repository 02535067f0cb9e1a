// The Data pane: drop a measured file, look at its time and columns, map them, identify, validate on a second one.
import { brief, make } from "./dom.js";
import { PlotCanvas, columnTimes } from "./plots.js";

const MOST_BYTES = 45e6;  // of a file: as letters it is a third more, and the line takes 64 MB at once

const IN_TURN = "//in-turn", IN_PIECES = "//in-pieces";  // no file is called so

class DataPane {
  constructor(root, app) {
    Object.assign(this, { root, app, file: "", files: [], map: new Map(), plots: [], columns: [], contents: new Map(), times: new Map() });
    this.build();
    app.store.on("diagram", (diagram) => {
      if (diagram.from === "data" || !this.file) return;
      if (!diagram.again) this.map.clear();
      if (diagram.from) this.look(); else this.dropAgain();  // another text: Python still has the files
    });
  }

  build() {
    const part = (name, title, ...inner) => make("section", { class: `part of-data-${name}`, "aria-label": title, testid: `part-data-${name}` }, ...inner);
    const button = (text, testid, onclick, more = {}) => make("button", { type: "button", text, testid, onclick, ...more });
    const picker = make("input", { type: "file", multiple: true, "aria-label": "Choose files", testid: "data-file", onchange: () => this.drop(picker.files) });
    this.parts = {
      zone: make("div", { class: "zone drop", testid: "data-zone" }, make("p", { text: "Drop a CSV, MAT or other table here, or choose one: it stays on this machine." }), picker),
      file: make("select", { "aria-label": "File", testid: "data-which", onchange: (event) => this.turnTo(event.target.value) }), time: make("input", { type: "text", placeholder: "t", list: "data-times", "aria-label": "Column of time", testid: "data-time", onchange: () => this.look() }),
      every: make("input", { type: "text", placeholder: "s", "aria-label": "Interval of rows without a time", testid: "data-every", onchange: () => this.look() }), resample: make("input", { type: "text", placeholder: "s", "aria-label": "Resample to this interval", testid: "data-resample" }),
      assume: make("input", { type: "text", placeholder: "none", list: "data-sources", "aria-label": "Sources that acted as in the file and were not recorded", title: "sources that were not recorded and acted as the file says", testid: "data-assume" }), sources: make("datalist", { id: "data-sources" }),
      times: make("datalist", { id: "data-times" }), bridge: make("input", { type: "checkbox", "aria-label": "bridge gaps", testid: "data-bridge" }), words: make("ul", { class: "notes", testid: "data-words" }), said: make("p", { class: "said", role: "alert", hidden: true, testid: "data-said" }), word: make("p", { class: "hint", role: "status", testid: "data-word" }),
      one: make("select", { "aria-label": "First column", testid: "lag-one" }), other: make("select", { "aria-label": "Second column", testid: "lag-other" }), lag: make("p", { class: "hint", testid: "lag-words" }),
      hint: make("p", { class: "hint", text: "The columns of a dropped file stand here, each to be mapped to a signal that the diagram's methods read: with its unit, a scale, an offset, a delay." }),
      wrong: make("p", { class: "said", role: "alert", hidden: true, testid: "data-wrong" }), columns: make("div", { class: "columns", testid: "data-columns" }), results: make("div", { class: "tables", testid: "data-results" }), notes: make("ul", { class: "notes", testid: "data-notes" }),
      second: make("select", { "aria-label": "What is held back", testid: "data-second", onchange: () => this.enable() }), count: make("input", { type: "number", value: "5", min: "2", "aria-label": "Pieces of the file", testid: "data-parts" }), method: make("select", { "aria-label": "Method to validate", testid: "data-method" }), mode: make("select", { "aria-label": "Kind of validation", testid: "data-mode" }, make("option", { value: "loop", text: "simulate the loop" }), make("option", { value: "inverse", text: "inverse model" })), fits: make("div", { testid: "data-fits" }),
    };
    for (const kind of ["dragover", "dragleave", "drop"]) this.root.addEventListener(kind, (event) => { event.preventDefault(); this.parts.zone.classList.toggle("over", kind === "dragover"); if (kind === "drop") this.drop(event.dataTransfer.files); });
    this.root.append(
      part("measured", "The file", make("h2", { text: "Measured data" }), this.parts.zone, make("div", { class: "row with-file" }, make("label", {}, "file ", this.parts.file), make("label", {}, "time ", this.parts.time, this.parts.times), make("label", {}, "or every ", this.parts.every), make("label", {}, "resample ", this.parts.resample), make("label", {}, this.parts.bridge, " bridge gaps"), make("label", {}, "as in the file ", this.parts.assume, this.parts.sources)),
        this.parts.said, this.parts.words, make("h3", { class: "with-file", text: "Which comes first?" }), make("div", { class: "row with-file" }, this.parts.one, this.parts.other, button("Compare", "lag-go", () => this.lag())), this.parts.lag),
      part("map", "Columns", make("h2", { text: "Columns" }), this.parts.hint, this.parts.columns),
      part("found", "Estimates", make("h2", { text: "Estimates" }), make("div", { class: "row" }, button("Identify", "data-identify", () => this.identify(), { class: "primary" }), button("Keep the mapping in the text", "data-keep", () => this.keep())), this.parts.word, this.parts.wrong, this.parts.results, this.parts.notes,
        make("h3", { class: "with-estimates", text: "Validate on" }), make("div", { class: "row with-estimates" }, this.parts.second, make("label", { class: "in-parts" }, this.parts.count, " pieces"), this.parts.method, this.parts.mode, button("Validate", "data-validate", () => this.validate())), this.parts.fits));
    this.enable();
  }

  /** Acts that need a file, or estimates, are there with them. */
  enable() {
    for (const button of this.root.querySelectorAll("[data-testid=data-identify], [data-testid=data-keep]")) button.disabled = !this.file;
    for (const part of this.root.querySelectorAll(".with-file")) part.hidden = !this.file;
    for (const part of this.root.querySelectorAll(".with-estimates")) part.hidden = !this.parts.method.options.length;
    this.root.querySelector(".in-parts").hidden = this.parts.second.value !== IN_PIECES;
  }

  /** Another file has a time of its own. */
  turnTo(file) {
    this.times.set(this.file, { time: this.parts.time.value, every: this.parts.every.value });
    const { time, every } = this.times.get(file) || { time: "", every: "" };
    Object.assign(this.parts.time, { value: time });
    Object.assign(this.parts.every, { value: every });
    this.file = file;
    this.look();
  }

  async drop(files) {
    for (const file of files) {
      this.parts.hint.textContent = `Reading ${file.name} …`;
      try {
        if (file.size > MOST_BYTES) throw new Error(`'${file.name}' has ${brief(file.size / 1e6, 3)} MB; ${brief(MOST_BYTES / 1e6, 3)} MB can be dropped. blocksim identify reads larger ones from the disk.`);
        const bytes = new Uint8Array(await file.arrayBuffer());
        let text = "";
        for (let k = 0; k < bytes.length; k += 32768) text += String.fromCharCode(...bytes.subarray(k, k + 32768));
        this.contents.set(file.name, btoa(text));
        const answer = await this.app.ask("data.drop", { name: file.name, content: this.contents.get(file.name) });
        this.files = answer.files;
        this.file = this.file || answer.file;
      } catch (error) { this.say(error.message); return; }
    }
    const options = (chosen) => this.files.map((name) => make("option", { value: name, text: name, selected: name === chosen }));
    this.parts.file.replaceChildren(...options(this.file));
    const inTurn = [...(this.files.length > 1 ? [[IN_TURN, "every file in turn"]] : []), [IN_PIECES, "pieces of this file in turn"]];
    this.parts.second.replaceChildren(...options(this.files.at(-1)), ...inTurn.map(([value, text]) => make("option", { value, text })));
    this.enable();
    this.look();
  }

  /** Another diagram, or a line that was lost: Python has forgotten the files, the page has not. */
  async dropAgain() {
    try { for (const [name, content] of this.contents) await this.app.ask("data.drop", { name, content }); this.look(); } catch (error) { this.say(error.message); }
  }

  request() {
    const columns = Object.fromEntries([...this.map].filter(([, words]) => words.signal).map(([column, { signal, ...words }]) => [signal, { column, ...words }]));
    return { file: this.file, time: this.parts.time.value.trim(), every: this.parts.every.value.trim(), resample: this.parts.resample.value.trim(), missing: this.parts.bridge.checked ? "bridge" : "", assume: this.parts.assume.value.trim(), columns };
  }

  look() {
    this.app.latest("data.look", () => this.request(), (answer) => this.paint(answer), (error) => {
      if (error.message === "stale") return;
      for (const part of [this.parts.words, this.parts.columns]) part.replaceChildren();  // of another file, or another time
      this.say(error.message);
    });
  }

  paint(answer) {
    this.say("");
    this.parts.hint.hidden = true;
    this.parts.words.replaceChildren(...answer.words.map((text) => make("li", { text })), ...answer.gaps.map((gap) => make("li", { text: `gap of ${brief(gap.seconds)} s at ${brief(gap.at)} s` })));
    if (!answer.timed) this.parts.words.append(...answer.times.slice(0, 3).map((name) => make("li", {}, make("button", { type: "button", class: "small", text: `'${name}' is the time`, testid: `time-is-${name}`, onclick: () => { this.parts.time.value = name; this.look(); } }))));
    this.parts.words.classList.toggle("alarm", !answer.timed);
    this.parts.sources.replaceChildren(...answer.sources.map((name) => make("option", { value: name })));
    this.parts.times.replaceChildren(...answer.times.map((name) => make("option", { value: name })));
    const names = answer.columns.map((column) => column.name);
    for (const [place, select] of [this.parts.one, this.parts.other].entries()) {
      const chosen = names.includes(select.value) ? select.value : names[Math.min(place, names.length - 1)];  // what was chosen stays
      select.replaceChildren(...names.map((name) => make("option", { value: name, text: name, selected: name === chosen })));
    }
    for (const signal of answer.signals) if (names.includes(signal.column) && !this.map.has(signal.column)) this.map.set(signal.column, { signal: signal.name });
    this.parts.columns.replaceChildren(...answer.columns.map((column, place) => this.columnRow(column, answer, place)));
  }

  columnRow(column, answer, place) {
    const words = this.map.get(column.name) || {};
    const put = (key) => (event) => { this.map.set(column.name, { ...this.map.get(column.name), [key]: event.target.value.trim() }); };
    const signal = make("select", { "aria-label": `signal of column ${column.name}`, testid: `map-${column.name}`, onchange: put("signal") }, make("option", { value: "", text: answer.signals.some((one) => one.name === column.name) ? "by its name" : "not used" }), ...answer.signals.map((one) => make("option", { value: one.name, text: `${one.name}${one.unit ? ` [${one.unit}]` : ""}`, selected: one.name === words.signal })));
    const small = (key, label, hint) => make("input", { type: "text", placeholder: hint, value: words[key] || "", "aria-label": `${label} of ${column.name}`, testid: `${key}-${column.name}`, onchange: put(key) });
    const row = make("div", { class: "column" }, make("div", { class: "row" }, make("b", { text: column.name }), make("span", { class: "unit", text: `${column.unit ? `[${column.unit}] ` : ""}${brief(column.low)} … ${brief(column.high)} ${column.step}` }), make("span", { class: "alarm", text: column.remarks.join(", ") })),
      make("div", { class: "row" }, make("label", {}, "→ ", signal), small("unit", "unit", "unit"), small("scale", "scale", "× scale"), small("offset", "offset", "+ offset"), small("delay", "delay", "delay s")));
    const plot = new PlotCanvas(row, { x: answer.timed ? "t [s]" : "row", y: column.unit, label: `${column.name} over time`, testid: `plot-column-${column.name}`, height: "6.5rem" });
    const [a, b] = [answer.arrays[`${place}.0`], answer.arrays[`${place}.1`]];
    plot.set({ curves: [answer.series[place].kind === "points" ? { x: a, y: b } : { x: columnTimes(a.length, answer.span), least: a, greatest: b }], range: { x: answer.span } });
    return row;
  }

  async lag() {
    try { const { words } = await this.app.ask("data.lag", { ...this.request(), one: this.parts.one.value, other: this.parts.other.value }); this.parts.lag.textContent = words; } catch (error) { this.parts.lag.textContent = error.message; }
  }

  async identify() {
    this.refuse("");
    this.parts.word.textContent = "identifying …";
    try {
      const { estimates, notes } = await this.app.ask("data.identify", this.request());
      this.parts.word.textContent = "";
      this.parts.notes.replaceChildren(...notes.map((text) => make("li", { text })));
      this.parts.method.replaceChildren(...Object.keys(estimates).map((name) => make("option", { value: name, text: name })));
      this.parts.results.replaceChildren(...Object.entries(estimates).map(([name, one]) => this.table(name, one)));
      this.enable();
    } catch (error) { this.parts.word.textContent = ""; this.refuse(error.message); }
  }

  table(name, one) {
    const colour = (this.app.store.get("diagram")?.methods || []).find((method) => method.name === name)?.colour || "#5b6770";
    const swatch = make("i", { class: "swatch" });
    swatch.style.background = colour;
    return make("div", { class: "method", testid: `data-${name}` }, make("h3", {}, swatch, ` ${name} `, make("small", { text: one.method || "" })),
      make("table", { class: "foretold" }, make("tr", {}, ...["parameter", "value", "± std", ""].map((text) => make("th", { text }))), ...one.rows.map((row) => make("tr", { testid: `data-row-${name}-${row.name}` }, make("td", { text: row.name }), make("td", { text: brief(row.value, 5) }), make("td", { text: row.std === null ? "" : `± ${brief(row.std, 3)}` }), make("td", { class: "unit", text: row.cells.unit || "" })))),
      make("ul", { class: "notes" }, ...one.notes.map((text) => make("li", { text }))));
  }

  /** A file's own time, and the mapping, as `data.validate` and `data.folds` take them. */
  reading(file) { return { ...this.request(), ...(file === this.file ? {} : this.times.get(file) || {}), file }; }

  async validate() {
    this.refuse("");
    const second = this.parts.second.value, more = { method: this.parts.method.value, mode: this.parts.mode.value };
    const files = second === IN_TURN ? this.files : [this.file];
    const [kind, request] = second === IN_TURN || second === IN_PIECES
      ? ["data.folds", { ...this.request(), ...more, files: files.map((file) => this.reading(file)), parts: second === IN_PIECES ? Number(this.parts.count.value) : null }]
      : ["data.validate", { ...this.reading(second), ...more }];
    this.parts.word.textContent = "validating …";
    try {
      const answer = await this.app.ask(kind, request);
      this.parts.fits.replaceChildren(...(answer.folds ? foldTables(answer) : answer.series.map((one, place) => this.fit(one, place, answer))));
    } catch (error) { this.refuse(error.message); }
    this.parts.word.textContent = "";
  }

  /** One signal, measured and by the model. */
  fit(one, place, answer) {
    const box = make("div", { testid: `fit-${one.name}` }, make("p", {}, make("b", { text: one.name }), ` fit ${brief(100 * one.fit, 4)} %, relative error ${brief(100 * one.relative, 3)} %, rms error ${brief(one.rms, 3)} ${one.unit}`));
    const curve = (number, look) => { const [a, b] = [answer.arrays[`${number}.0`], answer.arrays[`${number}.1`]]; return one.kind === "points" ? { x: a, y: b, ...look } : { x: columnTimes(a.length, one.span), least: a, greatest: b, ...look }; };
    new PlotCanvas(box, { x: "t [s]", y: `${one.name}${one.unit ? ` [${one.unit}]` : ""}`, label: `${one.name}, measured and by the model`, height: "9rem" }).set({ curves: [curve(2 * place, { colour: "#8a939c" }), curve(2 * place + 1, { thin: true })], texts: ["grey measured, blue model"], range: { x: one.span } });
    return box;
  }

  async keep() {
    try {
      const { words } = await this.app.ask("data.keep", this.request());
      const diagram = await this.app.ask("edit.adopt");
      this.app.store.set("diagram", { ...diagram, again: true, from: "data" });
      this.parts.word.textContent = words;
    } catch (error) { this.refuse(error.message); }
  }

  /** Why what was asked for with the estimates' buttons cannot be, beside them. */
  refuse(text) { this.parts.wrong.textContent = text; this.parts.wrong.hidden = !text; }

  say(text) { this.parts.said.textContent = text; this.parts.said.hidden = !text; }
}

/** How well each fold is met, and what the others of it tell, with means and spreads. */
function foldTables({ signals, values, folds }) {
  const head = (...texts) => make("tr", {}, ...texts.map((text) => make("th", { text })));
  const fits = folds.map((fold) => make("tr", { testid: `fold-${fold.name}` }, make("td", { text: fold.name }), ...fold.fits.map((fit) => make("td", { text: typeof fit === "number" ? `${brief(100 * fit, 4)} %` : "–" }))));
  const mean = (numbers) => numbers.reduce((sum, one) => sum + one, 0) / numbers.length;
  const spread = (numbers) => Math.sqrt(numbers.reduce((sum, one) => sum + (one - mean(numbers)) ** 2, 0) / Math.max(1, numbers.length - 1));
  const column = (part, place) => folds.map((fold) => fold[part][place]).filter((one) => typeof one === "number");
  const means = make("tr", { testid: "fold-mean" }, make("th", { text: "mean" }), ...signals.map((_, place) => make("td", { text: `${brief(100 * mean(column("fits", place)), 4)} %` })));
  const told = values.map((name, place) => make("tr", { testid: `fold-value-${name}` }, make("td", { text: name }), make("td", { text: brief(mean(column("values", place)), 5) }), make("td", { text: `± ${brief(spread(column("values", place)), 2)}` })));
  return [make("h3", { text: "fit of what was held back" }), make("div", { class: "wide-table" }, make("table", { class: "foretold", testid: "data-folds" }, head("held back", ...signals), ...fits, means)),
    make("h3", { text: "what the others told" }), make("table", { class: "foretold" }, head("parameter", "mean", "spread of the folds"), ...told)];
}

export const dataPane = { name: "data", title: "Data", key: "6", what: "Drop measured records, map their columns, and identify from them.", mount(root, app) { dataPane.own = new DataPane(root, app); } };
