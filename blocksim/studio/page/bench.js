// The bench: diagram with its defects, scopes below, controls beside them, estimates and the chosen pair on the right.
import { handOver, hasFocus, make } from "./dom.js";
import { Controls } from "./controls.js";
import { DefectSwitches } from "./defects.js";
import { DiagramView, sizeButton } from "./diagram.js";
import { isSame, withChange } from "./elements.js";
import { EllipsePlot } from "./ellipse.js";
import { EstimateTable } from "./estimates.js";
import { Scopes } from "./scopes.js";

export const COLOURS = ["#1f6fb4", "#d9601a", "#2a8f43", "#8452a8", "#c2a01c", "#3aa6a6", "#b0413e", "#5b6770"];
const FIRST_PINS = 5, CLOUD = 40, STILL = 350, REST_PAUSE = 50;

export class Bench {
  /** `options.pins` are fields to pin in place of those that Python proposes; `options.only` leaves the diagram out. */
  constructor(root, app, options = {}) {
    Object.assign(this, { root, app, options, methods: [], estimates: {}, shown: null, seed: null, good: {} });
    this.build();
    this.view = new DiagramView(this.parts.diagram, (block, by) => this.choose(block, true, by !== "hand"));
    this.controls = new Controls(this.parts.controls, this);
    this.parts.controls.addEventListener("keydown", (event) => { if (event.key === "Escape" && this.view.block) this.view.focus(); });
    this.switches = new DefectSwitches(this.parts.defects, this.parts.diagram, () => { this.beginChange(); this.run(true); });
    this.scopes = new Scopes(this.parts.scopes, { colours: COLOURS, wanted: () => this.zoom(), cursor: () => this.readAt() });
    this.table = new EstimateTable(this.parts.tables);
    this.pair = new EllipsePlot(this.parts.pair);
    app.store.on("diagram", (diagram) => this.open(diagram));
    app.store.on("changes", (changes) => this.controls.offerKeeping(changes));
    app.store.on("theme", () => { this.scopes.draw(); this.pair.draw(); });
  }

  build() {
    const part = (name, title, ...inner) => make("section", { class: `part ${name}`, "aria-label": title, testid: `part-${name}` }, ...inner);
    const named = (name, options = {}) => make(options.tag || "div", { class: name, ...options });
    this.parts = {
      title: named("title", { tag: "h1", testid: "bench-title" }), diagram: named("canvas"), defects: named("defects", { testid: "defects" }), controls: named("controls-inner"), scopes: named("scopes"), tables: named("tables"), pair: named("pair-plot", { hidden: true }),
      said: named("said", { tag: "p", role: "alert", hidden: true, testid: "bench-said" }), time: named("time", { tag: "p", testid: "bench-time" }),
      signals: named("signals", { hidden: true, testid: "signals" }), waiting: named("hint waiting", { text: "The first run compiles the loop …" }),
    };
    this.seedField = make("input", { type: "text", inputmode: "numeric", class: "seed", "aria-label": "seed of all noise", testid: "seed", onchange: () => this.setSeed(this.seedField.value) });
    const bar = make("div", { class: "bar" },
      make("label", {}, make("span", { text: "seed" }), this.seedField), make("button", { type: "button", class: "quiet", testid: "next-seed", text: "another seed", title: "the same with another seed", onclick: () => this.setSeed(Number(this.seedField.value || 0) + 1) }),
      make("span", { class: "space" }),
      make("button", { type: "button", class: "quiet", testid: "choose-signals", text: "signals", "aria-expanded": "false", onclick: (event) => this.toggleSignals(event.target) }),
      make("button", { type: "button", class: "quiet", testid: "zoom-out", text: "all of it", title: "the whole time again (0)", onclick: () => this.scopes.reset() }),
      make("button", { type: "button", class: "quiet", testid: "scopes-picture", text: "picture", title: "the scopes as they are now, as SVG for a page", onclick: () => this.picture() }),
      make("button", { type: "button", class: "quiet", testid: "forget-ghost", text: "no ghost", title: "forget the curves from before", onclick: () => { this.scopes.ghost = null; this.scopes.draw(); } }));
    this.root.append(
      ...(this.options.only ? [] : [part("drawing", "Diagram", make("div", { class: "drawing-head" }, this.parts.title, this.parts.defects, sizeButton(this.parts.diagram)), this.parts.diagram)]),
      part("controls", "Controls", this.parts.controls),
      part("plots", "Scopes", bar, this.parts.signals, this.parts.said, this.parts.waiting, this.parts.scopes),
      part("results", "Estimates", make("h2", { text: "Estimates" }), this.parts.tables, this.parts.pair, this.parts.time));
  }

  async open(diagram) {
    this.parts.title.textContent = this.parts.title.title = diagram.title;
    this.view.set(diagram.svg, !diagram.again);
    const wrong = new Set(diagram.problems.map((problem) => problem.block));
    for (const group of this.parts.diagram.querySelectorAll("[data-block]")) group.classList.toggle("wrong", wrong.has(group.dataset.block));
    this.switches.set(diagram.defects, diagram.again);
    this.methods = diagram.methods;
    this.root.classList.toggle("plain", !this.methods.length);  // nothing to estimate: the room is the scopes'
    this.warm = false;
    if (diagram.again && this.opened) { this.reopen(diagram); return; }
    this.opened = true;
    this.compiled = false;
    this.turn = (this.turn || 0) + 1;
    this.scopes.clear();
    this.controls.clear();
    this.pair.clearCloud();
    this.pair.set([], {});
    this.parts.time.textContent = "";
    Object.assign(this, { estimates: {}, shown: null, seed: null, good: {} });
    this.table.set([], {}, [], "");
    this.say("");
    if (!diagram.runnable) { this.parts.waiting.hidden = true; this.sayWhyNot(diagram); return; }
    this.parts.waiting.hidden = false;
    this.run(true);
    await this.choose("", false);
    const pins = this.options.pins || (await this.app.ask("bench.pins", { most: FIRST_PINS })).pins;
    for (const field of pins) this.controls.pin(field);
  }

  /** The same file with another text: sliders take its values, those whose setting is gone go, what was changed by hand stays. */
  async reopen(diagram) {
    if (!diagram.runnable) { this.sayWhyNot(diagram); return; }
    const turn = this.reopening = (this.reopening || 0) + 1, paths = [...new Set([...this.controls.sliders.keys(), ...Object.keys(this.changes())])];
    try {
      const present = new Map((await this.app.ask("bench.fields", { paths })).fields.map((field) => [field.path, field]));
      if (turn !== this.reopening) return;
      const changes = Object.fromEntries(Object.entries(this.changes()).filter(([path, value]) => present.has(path) && !isSame(value, present.get(path).value)));
      this.app.store.set("changes", changes);
      this.controls.renew(present, changes);
      this.good = changes;
      const gone = paths.filter((path) => !present.has(path));
      if (gone.length) this.app.say(`${gone.join(", ")}: no longer in the file, and no slider any more`);
      this.run(true);
      await this.choose(diagram.blocks.some((block) => block.name === this.view.block) ? this.view.block : "", false);
    } catch (error) { this.say(error.message); }
  }

  /** Show the settings of a block; who chose it by keyboard goes on with them, and comes back with Escape. */
  async choose(block, show = true, goOn = false) {
    try { this.controls.fill(await this.app.ask("bench.block", { block })); } catch (error) { this.say(error.message); return; }
    if (show) this.controls.show(block ? 1 : 0);
    if (block && goOn) this.controls.block.querySelector("input, select, button")?.focus();
  }

  /** Why a file does not run: its mistakes with their lines, or that it is a part of others. */
  sayWhyNot({ problems }) {
    const rows = problems.map((problem) => make("li", { text: `${problem.line ? `line ${problem.line}: ` : ""}${problem.what}` }));
    const words = rows.length ? "This file does not run yet." : "This file has ports: it is a part of other diagrams and does not run by itself.";
    this.say(words);
    this.parts.said.append(...(rows.length ? [make("ul", {}, ...rows)] : []), " ", make("button", { type: "button", class: "small", text: "open it in Edit", testid: "bench-mend", onclick: () => this.app.showPane("edit") }));
  }

  changes() { return this.app.store.get("changes"); }

  beginChange() {
    clearTimeout(this.stillness);
    if (this.scopes.holding) return;
    this.scopes.keepGhost();
    this.scopes.holding = true;
    this.pair.clearCloud();
    if (!this.options.chunk) this.app.latest("bench.cloud", { count: 0 }, null);
  }

  change(field, value, last) {
    this.beginChange();
    const changes = withChange(this.changes(), field, value);
    this.app.store.set("changes", changes);
    this.controls.follow(changes);
    this.run(last);
  }

  /** Write what sliders changed into the file's text; the sliders stay where they are. */
  async keep() {
    try {
      const { words } = await this.app.ask("bench.keep", { changes: this.changes() });
      const diagram = await this.app.ask("edit.adopt");
      this.app.store.set("diagram", { ...diagram, again: true, from: "bench" });
      this.app.say(words);
    } catch (error) { this.app.say(error.message, true); }
  }

  /** All settings as the file has them. */
  restore() { this.beginChange(); this.app.store.set("changes", {}); this.controls.showAll({}); this.run(true); }

  setSeed(text) {
    const seed = Number(text), good = text === "" || (Number.isSafeInteger(seed) && seed >= 0);
    this.seedField.setAttribute("aria-invalid", !good);
    if (!good) { this.say(`A seed is a whole number from 0 on, found '${text}'.`); return; }
    this.seed = text === "" ? null : seed;
    this.beginChange();
    this.run(true);
  }

  /** One run of a study as it was: these settings, this seed, every defect as the file has it, the whole time. */
  openRun(changes, seed) {
    this.switches.turnAllOn();
    this.scopes.window = null;
    this.app.store.set("changes", changes);
    this.controls.showAll(changes);
    this.setSeed(String(seed));
  }

  request() {
    return { turn: this.turn, changes: this.changes(), off: [...this.switches.off], seed: this.seed, columns: this.scopes.columns(), window: this.scopes.window, show: this.shown };
  }

  run(last) {
    const begin = performance.now();
    if (last) this.last = true;
    this.app.latest("bench.run", () => this.request(), (answer, sent) => this.paint(answer, begin, sent), (error, sent) => this.refuse(error, sent));
  }

  paint(answer, begin, { changes: taken, turn }) {
    if (turn !== this.turn) return;  // of the file that was open before
    this.good = taken;
    this.controls.accept(this.changes());
    this.parts.waiting.hidden = true;
    Object.assign(this, { number: answer.number, late: answer.rest });
    this.scopes.set(answer);
    this.forget(this.methods.map((method) => method.name).filter((name) => !answer.rest.includes(name)), answer);
    this.take(answer);
    if (!hasFocus(this.seedField)) this.seedField.value = answer.seed ?? "";  // what is being typed stays
    this.parts.time.textContent = `${answer.samples.toLocaleString("en")} samples, ${this.compiled ? "run" : "first run, with compiling,"} and quick estimates in ${(1000 * answer.seconds).toFixed(1)} ms`;
    if (answer.rest.length) this.askRest();
    this.compiled = true;
    if (!this.warm && !this.options.chunk) { this.warm = true; this.app.ask("bench.warm").catch(() => {}); }
    this.app.store.set("run", answer.number);
    clearTimeout(this.stillness);
    if (this.last) this.stillness = setTimeout(() => this.settle(), STILL);
    requestAnimationFrame(() => this.root.dispatchEvent(new CustomEvent("painted", { bubbles: true, detail: { ms: performance.now() - begin, server: 1000 * answer.seconds } })));
  }

  /** Slow identifiers follow on their own time: one request on its way, and a pause between two while a hand moves. */
  askRest() {
    if (this.resting) { this.restAgain = true; return; }
    this.resting = true;
    const turn = this.turn, done = (answer) => {
      const more = turn === this.turn ? answer : null;
      if (more?.number === this.number) this.forget(this.late, more);
      if (more) this.take({ ...more, rest: more.number === this.number ? [] : this.late });
      setTimeout(() => { this.resting = false; if (this.restAgain) { this.restAgain = false; this.askRest(); } }, this.scopes.holding ? REST_PAUSE : 0);
    };
    this.app.ask("bench.rest").then(done, () => done(null));
  }

  /** Hands are off: let the plots find their range, and add the cloud. */
  settle() {
    this.last = this.scopes.holding = false;
    this.scopes.draw();
    if (!this.methods.length) return;
    const draw = (answer) => {
      if (!answer.methods) return;
      const clouds = {};
      for (const [path, cloud] of Object.entries(answer.methods)) clouds[path] = { ...cloud, values: answer.arrays[path] };
      this.pair.setCloud(clouds);
    };
    if (this.options.chunk) this.cloudInChunks();
    else this.app.latest("bench.cloud", () => ({ ...this.request(), count: CLOUD }), draw, () => {});
  }

  /** The same where Python answers one request after the other: few seeds at a time, until a hand moves something again. */
  async cloudInChunks() {
    const hand = this.hand = (this.hand || 0) + 1, clouds = {};
    for (let skip = 0; skip < CLOUD && hand === this.hand && !this.scopes.holding; skip += this.options.chunk) {
      const answer = await this.app.ask("bench.cloud", { ...this.request(), skip, count: this.options.chunk }).catch(() => ({}));
      for (const [path, cloud] of Object.entries(answer.methods || {})) {
        const before = clouds[path]?.values || [];
        clouds[path] = { ...cloud, values: Float32Array.of(...before, ...answer.arrays[path]), count: (clouds[path]?.count || 0) + cloud.count };
      }
      if (hand === this.hand && !this.scopes.holding) this.pair.setCloud(clouds);
    }
  }

  /** What a run was to say of these methods and did not, as one that diverged, is no longer shown of an earlier one. */
  forget(names, { estimates }) { for (const name of names) if (!(name in estimates)) delete this.estimates[name]; }

  take(answer) {
    Object.assign(this.estimates, answer.estimates);
    const none = !answer.rest.length && !Object.keys(this.estimates).length ? "Nothing was estimated of this run; the scopes say why it ended." : "";
    this.table.set(this.methods, this.estimates, answer.rest, this.methods.length ? none : "No block of this diagram estimates anything. Identifiers such as LeastSquares are in the palette of the Edit pane.");
    this.pair.set(this.methods, this.estimates);
    this.app.store.set("estimates", this.estimates);
    this.say(answer.failures.map((failure) => failure.text).join(" "));
    if (answer.signals) this.signals = answer.signals;
  }

  refuse(error, { changes: sent, turn }) {
    if (error.message === "stale" || turn !== this.turn) return;
    this.parts.waiting.hidden = true;
    const changes = { ...this.changes() };
    const wrong = [...new Set([...Object.keys(sent), ...Object.keys(this.good)])].filter((path) => !isSame(sent[path], this.good[path]) && isSame(sent[path], changes[path]));
    if (!wrong.length || !error.problems.length || !error.expected) { this.say(error.message); return; }
    for (const path of wrong) {  // what is refused is not asked for again with the next change of something else
      if (path in this.good) changes[path] = this.good[path]; else delete changes[path];
      this.controls.refuse(path, error.problems.map((problem) => problem.what).join(" "));
    }
    this.app.store.set("changes", changes);
  }

  say(text) { this.parts.said.textContent = text; this.parts.said.hidden = !text; }

  // ---- scopes

  zoom() { this.app.latest("bench.curves", () => this.request(), (answer, { turn }) => { if (turn === this.turn) this.scopes.set(answer); }, () => {}); }

  readAt() {
    this.app.latest("bench.values", () => ({ t: this.scopes.t, show: this.scopes.series.map((one) => one.name) }), (answer) => this.scopes.showValues(answer.values), () => {});
  }

  /** The list of all signals of the record, to choose from; by unit, as they are drawn. */
  toggleSignals(button) {
    const list = this.parts.signals;
    list.hidden = !list.hidden;
    button.setAttribute("aria-expanded", !list.hidden);
    if (list.hidden || !this.signals) return;
    const drawn = new Set(this.scopes.series.map((one) => one.name));
    list.replaceChildren(...this.signals.map((signal) => make("label", { title: signal.doc },
      make("input", { type: "checkbox", checked: drawn.has(signal.name), testid: `signal-${signal.name}`, onchange: (event) => this.show(signal.name, event.target.checked) }),
      make("span", { text: signal.name }), make("small", { text: signal.unit }))));
  }

  /** These scopes, in this window, as a figure for a page. */
  async picture() {
    try { handOver(await this.app.ask("bench.picture", { groups: this.scopes.plots.map((plot) => plot.names), window: this.scopes.window })); } catch (error) { this.say(error.message); }
  }

  show(name, on) {
    const names = this.scopes.series.map((one) => one.name).filter((one) => one !== name);
    this.shown = this.signals.map((signal) => signal.name).filter((one) => names.includes(one) || (on && one === name));
    this.zoom();
  }
}

export const benchPane = { name: "bench", title: "Bench", key: "1", what: "Drag a number: the loop runs again, and every method says what it estimates and how sure it is.", mount(root, app) { benchPane.bench = new Bench(root, app); } };
