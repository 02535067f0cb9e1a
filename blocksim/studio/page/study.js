// The Study pane: sliders dropped on "sweep" or "hold" make an ordinary study file; it runs while its dots appear.
import { brief, make } from "./dom.js";
import { valueOf } from "./elements.js";
import { PlotCanvas } from "./plots.js";
import { benchPane } from "./bench.js";

const STUDY_COLOURS = ["#1f6fb4", "#d9601a", "#2a8f43", "#8452a8", "#c2a01c", "#3aa6a6", "#b0413e", "#5b6770"];

class StudyPane {
  constructor(root, app) {
    Object.assign(this, { root, app, sweep: {}, held: {}, signals: [], fields: [], dots: [], rows: [], running: false, fresh: true });
    this.build();
    app.store.on("diagram", ({ again }) => { this.stale = true; this.fresh ||= !again; if (this.visible && !this.running) this.open(); });
  }

  build() {
    const part = (name, title, ...inner) => make("section", { class: `part of-study-${name}`, "aria-label": title, testid: `part-study-${name}` }, ...inner);
    const number = (value, label, testid) => make("input", { type: "number", value: String(value), min: "1", "aria-label": label, testid, onchange: () => this.plan() });
    const button = (text, testid, onclick, more = {}) => make("button", { type: "button", text, testid, onclick, ...more });
    this.parts = {
      search: make("input", { type: "search", placeholder: "Search settings", "aria-label": "Search settings", testid: "study-search", oninput: () => this.paintChips() }),
      chips: make("div", { class: "chips", testid: "study-chips" }), sweep: this.zone("sweep", "Drop a slider here to sweep it"), hold: this.zone("repeat", "Drop a slider here to repeat with its present value"),
      repeat: number(20, "Seeds at every point", "study-repeat"), seed: number(1, "Master seed", "study-seed"), jobs: number(navigator.hardwareConcurrency || 2, "Processes", "study-jobs"), methods: make("div", { class: "row methods" }), signals: make("div", { class: "row", testid: "study-signals" }), signal: make("select", { "aria-label": "Signal to collect", testid: "study-signal" }), statistic: make("select", { "aria-label": "Statistic of the signal", testid: "study-statistic" }),
      title: make("input", { type: "text", "aria-label": "Title", testid: "study-title", onchange: () => this.plan() }), file: make("input", { type: "text", "aria-label": "Study file", testid: "study-file", onchange: () => this.plan() }),
      text: make("pre", { class: "study-text", testid: "study-text" }), said: make("p", { class: "said", role: "alert", hidden: true, testid: "study-said" }), word: make("p", { class: "hint", role: "status", testid: "study-word" }),
      run: button("Run", "study-run", () => this.run(false), { class: "primary" }), resume: button("Resume", "study-resume", () => this.run(true)), cancel: button("Cancel", "study-cancel", () => this.cancel(), { hidden: true }), save: button("Save the file", "study-save", () => this.save()),
      bar: make("progress", { max: "1", value: "0", "aria-label": "runs done", testid: "study-progress" }), pick: make("div", { class: "row" }), plot: make("div"), table: make("table", { class: "foretold scores", testid: "study-scores" }),
    };
    this.parts.parameter = make("select", { "aria-label": "Parameter", testid: "study-parameter", onchange: () => this.paintDots() });
    this.parts.axis = make("select", { "aria-label": "Horizontal axis", testid: "study-axis", onchange: () => this.paintDots() });
    this.parts.pick.append(make("label", {}, "parameter ", this.parts.parameter), make("label", {}, "over ", this.parts.axis), make("span", { class: "hint", text: "click a dot: that very run opens on the bench" }));
    this.parts.chips.addEventListener("keydown", (event) => this.step(event));
    this.parts.search.addEventListener("keydown", (event) => { if (event.key === "ArrowDown") this.step(event); });
    this.plot = new PlotCanvas(this.parts.plot, { x: "", y: "error [%]", label: "Errors of every run; Enter opens the chosen run on the bench", testid: "plot-study", height: "20rem", empty: "No runs yet: sweep a setting, or repeat as it is, and Run.", picked: (dot) => this.openRun(dot) });
    this.root.append(
      part("make", "Make a study", make("h2", { text: "Make a study" }), this.parts.search, this.parts.chips, make("h3", { text: "sweep" }), this.parts.sweep, make("h3", { text: "repeat" }), this.parts.hold,
        make("div", { class: "row" }, make("label", {}, "seeds ", this.parts.repeat), make("label", {}, "master seed ", this.parts.seed), make("label", {}, "processes ", this.parts.jobs)), make("div", { class: "row of-methods" }, make("h3", { text: "methods" }), this.parts.methods),
        this.parts.signals, make("div", { class: "row" }, make("h3", { text: "signals" }), this.parts.statistic, " of ", this.parts.signal, button("collect", "study-collect", () => this.collect(), { class: "small" }))),
      part("studied", "The study's file", make("h2", { text: "The file" }), make("label", { class: "wide" }, "title ", this.parts.title), make("label", { class: "wide" }, "file ", this.parts.file), this.parts.text, this.parts.said,
        make("div", { class: "row" }, this.parts.run, this.parts.cancel, this.parts.resume, this.parts.save), this.parts.bar, this.parts.word),
      part("watch", "Results so far", this.parts.pick, this.parts.plot, this.parts.table));
  }

  zone(name, words) {
    const root = make("div", { class: "zone", testid: `study-zone-${name}`, "data-words": words });
    root.addEventListener("dragover", (event) => { event.preventDefault(); root.classList.add("over"); });
    root.addEventListener("dragleave", () => root.classList.remove("over"));
    root.addEventListener("drop", (event) => { event.preventDefault(); root.classList.remove("over"); this.put(event.dataTransfer.getData("text/plain"), name); });
    return root;
  }

  show() { this.visible = true; if (this.stale && !this.running) this.open(); else this.paintChips(); }

  hide() { this.visible = false; }

  /** What the diagram offers. Another text of the same file keeps what was put together here, as far as it still has it. */
  async open() {
    const kept = !this.fresh;
    Object.assign(this, { stale: false, fresh: false });
    try {
      const offer = await this.app.ask("study.offer"), paths = new Set(offer.fields.map((field) => field.path));
      const unchecked = new Set([...this.parts.methods.querySelectorAll("input:not(:checked)")].map((box) => box.value));
      const still = (part) => Object.fromEntries(Object.entries(part).filter(([path]) => kept && paths.has(path)));
      Object.assign(this, { fields: offer.fields, sweep: still(this.sweep), held: still(this.held) });
      if (!kept) {
        Object.assign(this, { dots: [], rows: [], swept: [] });
        this.parts.title.value = offer.title;
        this.parts.file.value = offer.file;
        this.parts.word.textContent = "";
        this.parts.bar.value = 0;
        this.paintDots();
      }
      this.parts.methods.replaceChildren(...offer.methods.map((name) => make("label", {}, make("input", { type: "checkbox", checked: !(kept && unchecked.has(name)), value: name, testid: `study-method-${name}`, onchange: () => this.plan() }), ` ${name}`)));
      this.root.querySelector(".of-methods").hidden = !offer.methods.length;
      for (const [select, names] of [[this.parts.signal, offer.signals], [this.parts.statistic, offer.statistics]]) select.replaceChildren(...names.map((name) => make("option", { value: name, text: name, selected: name === select.value })));
      this.signals = kept ? this.signals.filter(({ signal }) => offer.signals.includes(signal)) : [];
      this.paintSignals();
      this.say("");
      this.paintZones();
    } catch (error) { this.say(error.message); }
  }

  /** Settings that have a slider: those changed on the bench first. */
  paintChips() {
    const changes = this.app.store.get("changes") || {}, words = this.parts.search.value.toLowerCase();
    const order = [...this.fields].sort((one, other) => (other.path in changes) - (one.path in changes));
    const some = order.filter((field) => field.path.toLowerCase().includes(words) && !(field.path in this.sweep) && !(field.path in this.held));
    this.parts.chips.replaceChildren(...some.map((field) => make("div", { class: `chip-row${field.path in changes ? " changed" : ""}`, draggable: "true", title: field.doc, testid: `study-chip-${field.path}`, ondragstart: (event) => event.dataTransfer.setData("text/plain", field.path) },
      make("span", { class: "name", text: field.path }), make("span", { class: "unit", text: `${brief(valueOf(field, changes))} ${field.unit}` }),
      make("button", { type: "button", class: "quiet small", text: "sweep", tabindex: "-1", "aria-label": `sweep ${field.path}`, testid: `sweep-${field.path}`, onclick: (event) => this.put(field.path, "sweep", event) }), make("button", { type: "button", class: "quiet small", text: "hold", tabindex: "-1", "aria-label": `hold ${field.path}`, testid: `hold-${field.path}`, onclick: (event) => this.put(field.path, "repeat", event) }))));
  }

  /** By keyboard: from the search into its list with the arrow down, through it with all four. */
  step(event) {
    const step = { ArrowDown: 2, ArrowUp: -2, ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const buttons = [...this.parts.chips.querySelectorAll("button")], at = buttons.indexOf(document.activeElement);
    (buttons[at < 0 ? 0 : at + step] || this.parts.search).focus();
  }

  put(path, zone, event = null) {
    if (event?.detail === 0) this.parts.search.focus();  // a key did it: the list is made anew, and goes on from its search
    const field = this.fields.find((one) => one.path === path);
    if (!field) return;
    const present = valueOf(field, this.app.store.get("changes") || {});
    if (zone === "sweep") this.sweep[path] = { low: Number(Math.max(field.slider.low, present / 4).toPrecision(3)), high: Number(Math.min(field.slider.high, present * 4 || field.slider.high).toPrecision(3)), count: 5, log: field.slider.log, whole: field.slider.whole };
    else this.held[path] = present;
    this.paintZones();
  }

  paintZones() {
    const number = (value, label, take, testid) => { const field = make("input", { type: "number", step: "any", value: String(value), "aria-label": label, testid }); field.addEventListener("change", () => { take(Number(field.value)); this.plan(); }); return field; };
    const drop = (from, path) => make("button", { type: "button", class: "quiet small", text: "×", "aria-label": `no longer ${path}`, onclick: () => { delete from[path]; this.paintZones(); } });
    this.parts.sweep.replaceChildren(...Object.entries(this.sweep).map(([path, axis]) => make("div", { class: "axis" }, make("b", { text: path }), make("span", { class: "axis-range" }, number(axis.low, `lowest ${path}`, (v) => { axis.low = v; }, `low-${path}`), " to ", number(axis.high, `highest ${path}`, (v) => { axis.high = v; }, `high-${path}`), " in ", number(axis.count, `values of ${path}`, (v) => { axis.count = v; }, `count-${path}`)), drop(this.sweep, path))));
    this.parts.hold.replaceChildren(...Object.entries(this.held).map(([path, value]) => make("div", { class: "axis" }, make("b", { text: path }), number(value, `held ${path}`, (v) => { this.held[path] = v; }, `held-${path}`), drop(this.held, path))));
    this.paintChips();
    this.plan();
  }

  /** What a run tells beside its estimates, or in place of them: a statistic of a signal. */
  collect() {
    const one = { signal: this.parts.signal.value, statistic: this.parts.statistic.value };
    if (!this.signals.some(({ signal, statistic }) => signal === one.signal && statistic === one.statistic)) this.signals.push(one);
    this.paintSignals();
    this.plan();
  }

  paintSignals() {
    this.parts.signals.replaceChildren(...this.signals.map((one) => make("span", { class: "chip" }, `${one.statistic}(${one.signal})`,
      make("button", { type: "button", class: "quiet small", text: "×", "aria-label": `no longer ${one.statistic} of ${one.signal}`, onclick: () => { this.signals = this.signals.filter((other) => other !== one); this.paintSignals(); this.plan(); } }))));
  }

  request() {
    return { title: this.parts.title.value, file: this.parts.file.value, sweep: this.sweep, params: this.held, repeat: Number(this.parts.repeat.value), seed: Number(this.parts.seed.value), jobs: Number(this.parts.jobs.value), collect: [...this.parts.methods.querySelectorAll("input:checked")].map((box) => box.value).concat(this.signals) };
  }

  plan() {
    const nothing = !this.signals.length && !this.parts.methods.children.length;
    this.parts.run.disabled = this.parts.save.disabled = nothing || this.running;
    if (nothing) { this.parts.text.textContent = ""; this.parts.word.textContent = "Nothing of this diagram estimates. Collect a statistic of a signal above, such as the rms of an error, and sweep what it depends on."; return; }
    if (this.parts.word.textContent.startsWith("Nothing of this")) this.parts.word.textContent = "";
    this.app.latest("study.text", () => this.request(), ({ text, runs }) => { this.parts.text.textContent = text; this.parts.run.textContent = `Run ${runs}`; this.say(""); }, (error) => { if (error.message !== "stale") this.say(error.problems.map((problem) => problem.what).join(" ") || error.message); });
  }

  async save(force = false) {
    try { const { file } = await this.app.ask("study.save", { ...this.request(), force }); this.parts.word.textContent = `${file} is saved; blocksim study ${file} runs it too`; } catch (error) { this.say(error.message, () => this.save(true)); }
  }

  async run(resume, force = false) {
    if (this.running) return;
    this.running = true;
    this.file = this.parts.file.value;
    this.say("");
    this.dots = [];
    this.done = 0;
    this.parts.word.textContent = "its processes are starting …";
    this.parts.cancel.hidden = false;
    this.parts.run.disabled = true;
    try { this.take(await this.app.ask("study.run", { ...this.request(), resume, force }, (news) => this.take(news))); } catch (error) { this.say(error.message, error.message.includes("says something else") ? () => this.run(resume, true) : null); }
    this.running = false;
    this.parts.cancel.hidden = true;
    this.parts.run.disabled = false;
    if (this.stale && this.visible) this.open();
  }

  async cancel() { const { seconds } = await this.app.ask("study.cancel"); this.parts.word.textContent = `cancelled in ${seconds.toFixed(2)} s; ${this.done} ${this.done === 1 ? "run is" : "runs are"} kept, and Resume goes on from there`; }

  take(news) {
    if (news.rows) {
      Object.assign(this, { rows: news.rows, swept: news.swept, dots: [] });
      this.parts.axis.replaceChildren(...[...news.swept, "run"].map((name) => make("option", { value: name, text: name })));
      this.parts.parameter.replaceChildren();
    }
    this.dots.push(...news.dots);
    this.parts.bar.value = news.total ? news.done / news.total : 0;
    this.parts.word.textContent = news.words;
    this.done = news.done;
    const names = [...new Set(this.dots.map((dot) => dot[3]))];
    if (names.length !== this.parts.parameter.options.length) this.parts.parameter.replaceChildren(...names.map((name) => make("option", { value: name, text: name })));
    this.paintDots();
  }

  paintDots() {
    const name = this.parts.parameter.value, axis = this.parts.axis.value;
    const some = this.dots.filter((dot) => dot[3] === name);
    const methods = [...new Set(this.dots.map((dot) => dot[2]))];
    const known = this.app.store.get("diagram")?.methods || [];
    const colour = (method) => known.find((one) => one.path === method || one.name === method)?.colour || STUDY_COLOURS[methods.indexOf(method) % STUDY_COLOURS.length];
    const x = (dot) => axis === "run" || !axis ? dot[0] : this.rows[dot[1]]?.[axis];
    const xs = [...new Set(some.map(x))].sort((a, b) => a - b), gap = xs.length > 1 && axis !== "run" ? Math.min(...xs.slice(1).map((v, n) => v - xs[n])) : 0;
    const wide = xs.length > 2 && xs[0] > 0 && xs.at(-1) / xs[0] > 8 && axis !== "run";  // a logarithmic axis
    const shift = (dot) => (wide ? 0.3 * x(dot) : gap) * 0.12 * (methods.indexOf(dot[2]) - (methods.length - 1) / 2);
    const error = (dot) => dot[6] ? 100 * (dot[4] - dot[6]) / Math.abs(dot[6]) : dot[4];
    const truth = some.every((dot) => dot[6]), unit = truth ? " %" : "", told = some.some((dot) => dot[5]);
    this.plot.set({ dots: some.map((dot) => ({ x: x(dot) + shift(dot), y: error(dot), colour: colour(dot[2]), size: 3, run: dot[0] })), curves: truth && some.length ? [{ x: wide ? [xs[0] / 1.3, xs.at(-1) * 1.3] : [xs[0] - gap, xs.at(-1) + gap], y: [0, 0], thin: true, dash: [4, 4] }] : [], range: wide ? { x: [xs[0] / 1.3, xs.at(-1) * 1.3], log: true } : null, titles: { x: this.titled(axis || "run"), y: truth ? `error of ${name} [%]` : name } });
    this.plot.methods = methods;
    this.parts.pick.hidden = this.parts.table.hidden = !this.dots.length;
    this.paintTable(some, { methods, error, x, axis, colour, unit, told });
  }

  /** The name of an axis with the unit of its setting. */
  titled(name) {
    const unit = this.fields.find((field) => field.path === name)?.unit;
    return unit ? `${name} [${unit}]` : name;
  }

  paintTable(some, { methods, error, x, axis, colour, unit, told }) {
    const groups = new Map();
    for (const dot of some) { const key = `${dot[2]}|${axis === "run" ? "" : x(dot)}`; if (!groups.has(key)) groups.set(key, { method: dot[2], at: axis === "run" ? "" : x(dot), errors: [], zs: [] }); groups.get(key).errors.push(error(dot)); groups.get(key).zs.push(Math.abs(dot[4] - dot[6]) / dot[5] / dot[7]); }
    const rows = [...groups.values()].sort((one, other) => methods.indexOf(one.method) - methods.indexOf(other.method) || one.at - other.at).map(({ method, at, errors, zs }) => {
      const mean = errors.reduce((a, b) => a + b, 0) / errors.length, spread = Math.sqrt(errors.reduce((sum, e) => sum + (e - mean) ** 2, 0) / Math.max(1, errors.length - 1)), inside = zs.filter((z) => z < 1).length / zs.length;
      const swatch = make("i", { class: "swatch" });
      swatch.style.background = colour(method);
      return make("tr", {}, make("td", {}, swatch, ` ${method}`), make("td", { text: at === "" ? "" : brief(at) }), make("td", { text: String(errors.length) }), make("td", { class: unit && Math.abs(mean) > 3 * spread / Math.sqrt(errors.length) && errors.length > 4 ? "alarm" : "", text: `${brief(mean, unit ? 3 : 4).replace("-", "−")}${unit}` }), make("td", { text: `${brief(spread, 3)}${unit}` }), make("td", { text: told ? `${Math.round(100 * inside)} %` : "" }));
    });
    this.parts.table.replaceChildren(make("tr", {}, ...["method", axis === "run" ? "" : axis, "runs", unit ? "bias" : "mean", "spread", told ? "in 95 %" : ""].map((text) => make("th", { text }))), ...rows);
  }

  async openRun(dot) {
    try {
      const { changes, seed, run, edited } = await this.app.ask("study.one", { run: dot.run, file: this.file });
      this.app.showPane("bench");
      benchPane.bench.openRun(changes, seed);
      this.app.say(`run ${run} of the study, seed ${seed}${edited ? "; the diagram was edited since" : ""}`);
    } catch (error) { this.say(error.message); }
  }

  say(text, force = null) {
    this.parts.said.hidden = !text;
    this.parts.said.replaceChildren(text, ...(force ? [" ", make("button", { type: "button", class: "small", text: "Overwrite", testid: "study-force", onclick: force })] : []));
  }
}

export const studyPane = { name: "study", title: "Study", key: "4", what: "Vary settings and repeat with other seeds; a click on a dot opens that very run.", mount(root, app) { studyPane.own = new StudyPane(root, app); }, show() { studyPane.own?.show(); }, hide() { studyPane.own?.hide(); } };
