// The bench: diagram, scopes below, sliders beside them, estimates on the right.
import { make } from "./dom.js";
import { DiagramView } from "./diagram.js";
import { Scopes } from "./scopes.js";
import { Slider } from "./sliders.js";
import { EstimateTable } from "./estimates.js";

export const COLOURS = ["#1f6fb4", "#d9601a", "#2a8f43", "#8452a8", "#c2a01c", "#3aa6a6", "#b0413e", "#5b6770"];
const FIRST_PINS = 4;

class Bench {
  constructor(root, app) {
    this.root = root;
    this.app = app;
    this.sliders = new Map();
    this.methods = [];
    this.estimates = {};
    this.build();
    this.view = new DiagramView(this.parts.diagram, (block) => this.choose(block));
    this.scopes = new Scopes(this.parts.scopes, { colours: COLOURS, wanted: (window) => this.zoom(window), cursor: (t) => this.readAt(t) });
    this.table = new EstimateTable(this.parts.tables);
    app.store.on("diagram", (diagram) => this.open(diagram));
  }

  build() {
    const part = (name, title, ...inner) => make("section", { class: `part ${name}`, "aria-label": title, testid: `part-${name}` }, ...inner);
    this.parts = {
      diagram: make("div", { class: "canvas" }), scopes: make("div"), sliders: make("div", { class: "pins", testid: "pins" }), block: make("div", { class: "block-fields", testid: "block-fields" }),
      tables: make("div", { class: "tables" }), said: make("p", { class: "said", role: "alert", hidden: true, testid: "bench-said" }), time: make("p", { class: "time", testid: "bench-time" }),
    };
    this.root.append(
      part("drawing", "Diagram", this.parts.diagram),
      part("controls", "Sliders", this.parts.sliders, this.parts.block),
      part("plots", "Scopes", this.parts.said, this.parts.scopes),
      part("results", "Estimates", make("h2", { text: "Estimates" }), this.parts.tables, this.parts.time));
  }

  async open(diagram) {
    this.view.set(diagram.svg);
    this.methods = diagram.methods;
    if (diagram.again) { this.run(true); return; }
    this.scopes.clear();
    this.estimates = {};
    this.sliders.clear();
    this.parts.sliders.replaceChildren();
    this.table.set([], {}, []);
    if (!diagram.runnable) return;
    this.run(true);
    await this.choose("");
    for (const path of await this.firstPins(diagram)) this.pin(path);
  }

  /** Parameters worth a slider at first: of a smoother, a controller, a sensor and a plant. */
  async firstPins(diagram) {
    const { pins } = await this.app.ask("bench.pins", { most: FIRST_PINS });
    return pins;
  }

  async choose(block) {
    const answer = await this.app.ask("bench.block", { block });
    this.parts.block.replaceChildren(
      make("h3", {}, make("span", { text: block || "The file" }), make("small", { text: answer.type })),
      ...answer.fields.map((field) => this.makeField(field)));
  }

  makeField(field) {
    const pinned = this.sliders.has(field.path);
    return make("div", { class: "field", title: field.doc },
      make("span", { class: "name", text: field.name }), make("span", { class: "value", text: Array.isArray(field.value) ? `[${field.value.length}]` : String(field.value) }), make("span", { class: "unit", text: field.unit }),
      field.slider ? make("button", { type: "button", class: "quiet small", text: pinned ? "pinned" : "pin", testid: `pin-${field.path}`, onclick: () => this.pin(field) }) : null);
  }

  pin(field) {
    if (this.sliders.has(field.path) || !field.slider) return;
    const value = this.changes()[field.path] ?? field.value;
    const slider = new Slider(field, value, { move: (number, last) => this.change(field.path, number, last), unpin: () => this.unpin(field.path) });
    this.sliders.set(field.path, slider);
    this.parts.sliders.append(slider.root);
  }

  unpin(path) {
    this.sliders.get(path)?.root.remove();
    this.sliders.delete(path);
    const changes = { ...this.changes() };
    delete changes[path];
    this.app.store.set("changes", changes);
    this.run(true);
  }

  changes() { return this.app.store.get("changes"); }

  change(path, value, last) {
    if (!this.scopes.holding) { this.scopes.keepGhost(); this.scopes.holding = true; }
    const changes = { ...this.changes(), [path]: value };
    if (value === this.sliders.get(path)?.field.value) delete changes[path];
    this.app.store.set("changes", changes);
    this.touched = path;
    this.run(last);
  }

  request() { return { changes: this.changes(), columns: this.scopes.columns(), window: this.scopes.window, show: this.shown || null }; }

  run(last) {
    const begin = performance.now();
    this.app.latest("bench.run", () => this.request(), (answer) => this.paint(answer, begin, last), (error) => this.refuse(error));
  }

  paint(answer, begin, last) {
    for (const slider of this.sliders.values()) slider.refuse("");
    if (last) this.scopes.holding = false;
    this.scopes.set(answer);
    this.take(answer);
    this.parts.time.textContent = `${answer.samples.toLocaleString("en")} samples in ${(1000 * answer.seconds).toFixed(1)} ms`;
    if (answer.rest.length) this.app.latest("bench.rest", {}, (more) => this.take(more), () => {});
    requestAnimationFrame(() => this.root.dispatchEvent(new CustomEvent("painted", { bubbles: true, detail: { ms: performance.now() - begin, server: 1000 * answer.seconds } })));
  }

  take(answer) {
    Object.assign(this.estimates, answer.estimates);
    this.table.set(this.methods, this.estimates, answer.rest);
    this.app.store.set("estimates", this.estimates);
    this.say(answer.failures.map((failure) => failure.text).join(" "));
  }

  refuse(error) {
    if (error.message === "stale") return;
    const slider = this.sliders.get(this.touched);
    if (slider && error.problems.length) slider.refuse(error.problems.map((problem) => problem.what).join(" "));
    else this.say(error.message);
  }

  say(text) { this.parts.said.textContent = text; this.parts.said.hidden = !text; }

  zoom(window) {
    this.app.latest("bench.curves", () => this.request(), (answer) => this.scopes.set(answer), () => {});
  }

  readAt(t) {
    this.app.latest("bench.values", () => ({ t: this.scopes.t, show: this.scopes.series.map((one) => one.name) }), (answer) => this.scopes.showValues(answer.values), () => {});
  }
}

export const benchPane = { name: "bench", title: "Bench", key: "1", mount(root, app) { benchPane.bench = new Bench(root, app); } };
