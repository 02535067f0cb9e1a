// The Excitation pane: a source in time, spectrum and amplitude; drag lines and points; what it will teach; Improve.
import { brief, handOver, make } from "./dom.js";
import { PlotCanvas, columnTimes, ellipseCurve } from "./plots.js";

const LIMIT_KINDS = ["peak", "min", "max", "rate", "rms"], DESIGN_FAMILIES = ["", "multisine", "fourier", "polynomial", "trapezoid", "levels", "binary", "prbs", "chirp"], DESIGN_CRITERIA = ["worst", "D", "A", "E"];

class ExcitationPane {
  constructor(root, app) {
    this.root = root;
    this.app = app;
    this.reset();
    this.build();
    app.store.on("changes", () => this.paintBeside());
    app.store.on("diagram", (diagram) => {
      if (diagram.from === "excitation") return;
      if (!diagram.again || !diagram.blocks.some((block) => block.name === this.source)) this.reset();  // another text of the same file keeps what was dragged
      this.stale = true;
      if (this.visible) this.open();
    });
  }

  reset() { this.settings = {}; this.limits = null; this.source = ""; this.element = 0; this.past = []; this.parameters = null; this.outputs = null; this.pair = [0, 1]; this.before = this.ellipseOf = null; }

  build() {
    const part = (name, title, ...inner) => make("section", { class: `part of-source-${name}`, "aria-label": title, testid: `part-excitation-${name}` }, ...inner);
    const button = (text, testid, onclick, more = {}) => make("button", { type: "button", text, testid, onclick, ...more });
    const drag = (grip, y, last) => this.drag(grip, y, last);
    this.parts = {
      source: make("select", { "aria-label": "Source", testid: "excitation-source", onchange: (event) => { this.reset(); this.source = event.target.value; this.look(); } }),
      element: make("select", { "aria-label": "Element of the source", testid: "excitation-element", hidden: true, onchange: (event) => { this.element = Number(event.target.value); this.look(); } }),
      limits: make("div", { class: "limits", testid: "excitation-limits" }), said: make("p", { class: "said", role: "alert", hidden: true, testid: "excitation-said" }), word: make("p", { class: "hint", role: "status", testid: "excitation-word" }),
      beside: make("p", { class: "hint", hidden: true, testid: "excitation-beside" }),
      time: make("div", { class: "times" }), other: make("div", { class: "plot-pair" }), numbers: make("dl", { class: "numbers", testid: "excitation-numbers" }),
      table: make("table", { class: "foretold", testid: "excitation-table" }), sought: make("details", { class: "more", hidden: true, testid: "excitation-sought" }), verdict: make("p", { class: "verdict", testid: "excitation-verdict" }), ellipse: make("div"), search: make("div", { class: "search", hidden: true, testid: "excitation-search" }),
      family: make("select", { "aria-label": "Family", testid: "excitation-family" }, ...DESIGN_FAMILIES.map((name) => make("option", { value: name, text: name || "as it is" }))),
      criterion: make("select", { "aria-label": "Criterion", testid: "excitation-criterion" }, ...DESIGN_CRITERIA.map((name) => make("option", { value: name, text: name }))),
      seconds: make("input", { type: "number", value: "20", min: "1", "aria-label": "Seconds of search", testid: "excitation-seconds" }),
      improve: button("Improve", "excitation-improve", () => this.improve(), { class: "primary" }), stop: button("Stop", "excitation-stop", () => this.app.ask("excitation.stop"), { hidden: true }),
      undo: button("Undo", "excitation-undo", () => this.undo(), { disabled: true }), keep: button("Keep in the text", "excitation-keep", () => this.keep()),
    };
    this.plots = {
      spectrum: new PlotCanvas(this.parts.other, { x: "frequency [Hz]", y: "amplitude", label: "Spectrum of the source; its lines can be dragged", testid: "plot-spectrum", dragged: drag, height: "13rem" }),
      amplitude: new PlotCanvas(this.parts.other, { x: "value", y: "how often (most: 1)", label: "How often each amplitude occurs", testid: "plot-amplitude", height: "13rem" }),
      ellipse: new PlotCanvas(this.parts.ellipse, { label: "Predicted ellipse of two parameters, two standard deviations", testid: "plot-ellipse", height: "13rem" }),
      history: new PlotCanvas(this.parts.search, { x: "time of search [s]", y: "criterion", label: "The criterion of the best so far", testid: "plot-history", height: "8rem" }),
    };
    this.timePlots = [];
    this.root.append(
      part("controls", "Source and limits", make("h2", { text: "Source" }), this.parts.source, this.parts.element, this.parts.word, this.parts.beside, this.parts.said, make("h3", { text: "Limits" }), this.parts.limits,
        make("h3", { text: "A better one" }), make("div", { class: "row" }, make("label", {}, "family ", this.parts.family), make("label", {}, "criterion ", this.parts.criterion), make("label", {}, "for ", this.parts.seconds, " s")),
        make("div", { class: "row" }, this.parts.improve, this.parts.stop, this.parts.undo), this.parts.search,
        make("h3", { text: "Take it along" }), make("div", { class: "row" }, this.parts.keep, button("YAML", "excitation-yaml", () => this.export("yaml")), button("CSV for the robot", "excitation-csv", () => this.export("csv")))),
      part("signals", "Signals", this.parts.numbers, this.parts.time, this.parts.other),
      part("teaches", "What it will teach", make("h2", { text: "What it will teach" }), this.parts.table, this.parts.verdict, this.parts.ellipse, this.parts.sought));
  }

  show() { this.visible = true; if (this.stale) this.open(); }

  hide() { this.visible = false; }

  open() { this.stale = false; this.message = ""; this.say(""); this.look(); }

  request() { return { source: this.source, settings: this.settings, limits: this.limits, parameters: this.parameters, outputs: this.outputs, element: this.element }; }

  look() {
    this.app.latest("excitation.look", () => this.request(), (answer) => this.paint(answer), (error) => { if (error.message !== "stale") this.cannotLook(error); });
    this.app.latest("excitation.information", () => ({ ...this.request(), quick: Boolean(this.holding) }), (answer) => this.foretell(answer), (error) => { if (error.message !== "stale") this.cannotForetell(error); });
  }

  /** Nothing is foretold of what is seen now; what stands here is of something else. */
  cannotForetell(error) {
    this.parts.verdict.textContent = error.message;
    this.parts.table.replaceChildren();
    this.parts.ellipse.hidden = true;
    this.parts.sought.open ||= !this.parameters?.length;
    this.before = this.ellipseOf = null;
  }

  /** What was dragged may no longer fit a text that was changed: then the source is shown as the text has it. */
  cannotLook(error) {
    if (!Object.keys(this.settings).length && !this.limits) { this.clear(); this.say(error.message); return; }
    this.reset();
    this.message = `What was set here no longer fits the text and is gone: ${error.message}`;
    this.look();
  }

  clear() {
    this.root.classList.add("cannot");
    for (const part of ["numbers", "table", "limits"]) this.parts[part].replaceChildren();
    for (const plot of [...Object.values(this.plots), ...this.timePlots]) plot.set({ grips: [], titles: {} });
    this.parts.word.textContent = this.parts.verdict.textContent = "";
    this.parts.source.replaceChildren();
  }

  paint(answer) {
    this.root.classList.remove("cannot");
    const first = !this.limits;
    this.units = answer.units;
    this.parts.element.replaceChildren(...Array.from({ length: answer.elements }, (_, n) => make("option", { value: String(n), text: `element ${n}`, selected: n === this.element })));
    this.parts.element.hidden = answer.elements < 2;
    this.source = answer.source;
    this.limits = answer.limits;
    this.parameters = answer.parameters;
    this.outputs = answer.outputs;
    this.parts.source.replaceChildren(...answer.sources.map((name) => make("option", { value: name, text: name, selected: name === answer.source })));
    this.parts.word.textContent = this.message || `${answer.type}, ${answer.grips.length ? `${answer.grips.length} ${answer.grips[0].kind === "line" ? "lines" : "points"} to drag` : "nothing to drag"}`;
    if (first || !this.parts.limits.contains(document.activeElement)) this.paintLimits(answer);
    this.paintNumbers(answer);
    this.paintTimes(answer);
    this.paintSought(answer);
    const lines = answer.grips.filter((grip) => grip.kind === "line");
    const busy = (plot) => plot.held;
    this.plots.spectrum.set({ curves: [{ x: answer.arrays.f, y: answer.arrays.a, stems: true, thin: true }], ...(busy(this.plots.spectrum) ? {} : { grips: lines }), range: { x: [0, Math.max(...answer.arrays.f, ...lines.map((grip) => 1.1 * grip.x))] }, titles: { y: `amplitude${answer.unit ? ` [${answer.unit}]` : ""}` } });
    const bounds = answer.series[0].limits;
    this.plots.amplitude.set({ bars: { edges: [...answer.arrays.edges], counts: [...answer.arrays.counts] }, titles: { x: `${answer.signal}${answer.unit ? ` [${answer.unit}]` : ""}` }, texts: bounds.peak ? [`limit ±${brief(bounds.peak)}`] : [] });
    const broken = answer.margins.filter((margin) => margin.broken);
    this.say(broken.length ? `Over its limit: ${broken.map((margin) => margin.words).join("; ")}. It cannot be exported.` : "");
  }

  paintTimes(answer) {
    while (this.timePlots.length < answer.series.length) {
      const place = this.timePlots.length;
      this.timePlots.push(new PlotCanvas(this.parts.time, { x: "t [s]", label: "A signal over time with its limits", testid: `plot-time-${place}`, dragged: place ? null : (grip, y, last) => this.drag(grip, y, last), height: place ? "9.5rem" : "13rem" }));
    }
    while (this.timePlots.length > answer.series.length) this.timePlots.pop().canvas.remove();
    const points = answer.grips.filter((grip) => grip.kind === "point");
    answer.series.forEach((one, place) => {
      const [a, b] = [answer.arrays[`${place}.0`], answer.arrays[`${place}.1`]];
      const curve = one.kind === "points" ? { x: a, y: b } : { x: columnTimes(a.length, answer.span), least: a, greatest: b };
      const { peak, min, max } = one.limits;
      const bands = [...(peak ? [{ from: peak }, { to: -peak }] : []), ...(max !== undefined ? [{ from: max }] : []), ...(min !== undefined ? [{ to: min }] : [])];
      const low = Math.min(...(one.kind === "points" ? b : a)), high = Math.max(...b), reach = Math.max(peak || 0, max || 0, -(min || 0)) * 1.12;
      const plot = this.timePlots[place];
      plot.set({ curves: [curve], bands, ...(place || plot.held ? {} : { grips: points }), range: { x: answer.span, y: [Math.min(low, peak || min !== undefined ? -reach : low) - 0.04 * (high - low), Math.max(high, peak || max !== undefined ? reach : high) + 0.04 * (high - low)] }, titles: { y: `${one.name}${one.unit ? ` [${one.unit}]` : ""}` } });
    });
  }

  paintNumbers({ numbers, unit, margins, signal }) {
    const rows = [["crest factor", brief(numbers.crest_factor, 3)], ["peak", `${brief(numbers.peak, 3)} ${unit}`], ["rms", `${brief(numbers.rms, 3)} ${unit}`], ["95 % of power below", `${brief(numbers.bandwidth, 3)} Hz`],
      ...margins.filter((margin) => margin.signal !== signal).map((margin) => [`${margin.signal} ${margin.kind}`, `${brief(margin.value, 3)} of ${brief(margin.limit, 3)} ${this.unitOf(margin.signal, margin.kind)}`, margin.broken])];
    this.parts.numbers.replaceChildren(...rows.map(([name, text, alarm]) => make("div", { class: alarm ? "alarm" : "" }, make("dt", { text: name }), make("dd", { text }))));
  }

  /** The numbers that may be sought; those that are have a tick. */
  paintSought({ choices, parameters }) {
    if (this.soughtOf === choices.join() && this.parts.sought.contains(document.activeElement)) return;
    this.soughtOf = choices.join();
    const box = (name) => make("label", {}, make("input", { type: "checkbox", value: name, checked: parameters.includes(name), testid: `sought-${name}`, onchange: () => this.seek() }), ` ${name}`);
    this.parts.sought.replaceChildren(make("summary", { text: `what is to be found: ${parameters.length} of ${choices.length}` }), make("div", { class: "chosen-boxes" }, ...choices.map(box)));
    this.parts.sought.hidden = !choices.length;
  }

  seek() {
    this.parameters = [...this.parts.sought.querySelectorAll("input:checked")].map((box) => box.value);
    Object.assign(this, { pair: [0, 1], before: null, ellipseOf: null });
    if (!this.parameters.length) { this.cannotForetell({ message: "Choose at least one number that is to be found." }); return; }
    this.parts.sought.querySelector("summary").textContent = `what is to be found: ${this.parameters.length} of ${this.parts.sought.querySelectorAll("input").length}`;
    this.look();
  }

  unitOf(signal, kind) { const unit = this.units?.[signal] || this.units?.[signal.split("[")[0]] || ""; return unit && kind === "rate" ? `${unit}/s` : unit; }

  paintLimits(answer) {
    const rows = Object.entries(this.limits).flatMap(([signal, kinds]) => Object.entries(kinds).map(([kind, value]) => this.limitRow(signal, kind, value)));
    const signal = make("select", { "aria-label": "Signal of a new limit" }, ...answer.watched.map((name) => make("option", { value: name, text: name })));
    const kind = make("select", { "aria-label": "Kind of a new limit" }, ...LIMIT_KINDS.map((name) => make("option", { value: name, text: name })));
    const value = make("input", { type: "number", step: "any", "aria-label": "Value of a new limit" });
    const add = make("button", { type: "button", class: "quiet small", text: "add", onclick: () => { if (value.value) { this.limits = { ...this.limits, [signal.value]: { ...this.limits[signal.value], [kind.value]: Number(value.value) } }; this.relimit(); } } });
    this.parts.limits.replaceChildren(...rows, make("div", { class: "limit" }, signal, kind, value, make("span"), add));
  }

  limitRow(signal, kind, value) {
    const field = make("input", { type: "number", step: "any", value: String(value), "aria-label": `${kind} of ${signal}`, testid: `limit-${signal}-${kind}` });
    field.addEventListener("change", () => { this.limits = { ...this.limits, [signal]: { ...this.limits[signal], [kind]: Number(field.value) } }; this.relimit(); });
    const drop = make("button", { type: "button", class: "quiet small", text: "×", "aria-label": `no limit on ${kind} of ${signal}`, onclick: () => { const { [kind]: gone, ...rest } = this.limits[signal]; this.limits = { ...this.limits, [signal]: rest }; if (!Object.keys(rest).length) delete this.limits[signal]; this.relimit(); } });
    return make("div", { class: "limit" }, make("span", { text: signal }), make("span", { class: "unit", text: kind }), field, make("span", { class: "unit", text: this.unitOf(signal, kind) }), drop);
  }

  relimit() { document.activeElement?.blur(); this.look(); }

  /** Sliders of the bench stand beside the file; here the file counts. */
  paintBeside() {
    const names = Object.keys(this.app.store.get("changes") || {});
    this.parts.beside.hidden = !names.length;
    this.parts.beside.textContent = `As in the file: what the bench changed (${names.join(", ")}) is not part of this until it is written into the text there.`;
  }

  // ---- hands

  drag(grip, y, last) {
    this.message = "";
    if (!this.holding) { this.past.push({ ...this.settings }); this.holding = true; }
    if (last) { this.holding = false; this.parts.undo.disabled = false; }
    this.app.latest("excitation.drag", () => ({ ...this.request(), number: grip.number, y, ...(grip.between ? { x: grip.x } : {}) }), (answer) => { this.settings = answer.settings; this.look(); }, (error) => { if (error.message !== "stale") this.say(error.message); });
  }

  undo() {
    if (!this.past.length) return;
    this.message = "";
    this.settings = this.past.pop();
    this.parts.undo.disabled = !this.past.length;
    this.look();
  }

  async improve() {
    this.parts.improve.disabled = true;
    this.parts.stop.hidden = false;
    this.parts.search.hidden = false;
    this.past.push({ ...this.settings });
    try {
      const request = { ...this.request(), family: this.parts.family.value, criterion: this.parts.criterion.value, seconds: Number(this.parts.seconds.value) };
      const result = await this.app.ask("excitation.improve", request, (step) => this.paintSearch(step));
      this.paintSearch(result);
      const better = result.criterion < result.before;
      if (better) this.settings = result.settings; else this.past.pop();
      this.message = `${result.words}. ${better ? "Undo gives the earlier one back." : "Nothing better came up; what was there stays."}`;
      this.look();
    } catch (error) { this.past.pop(); this.say(error.message); }
    this.parts.improve.disabled = false;
    this.parts.stop.hidden = true;
    this.parts.undo.disabled = !this.past.length;
  }

  paintSearch(step) {
    this.parts.word.textContent = step.words;
    const seconds = step.history.map((entry) => entry[1]), values = step.history.map((entry) => entry[2]);
    if (values.length) this.plots.history.set({ curves: [{ x: [...seconds, step.seconds], y: [...values, values.at(-1)] }], titles: { y: this.parts.criterion.value } });
    if (step.stds) for (const [n, cell] of [...this.parts.table.querySelectorAll("td.searching")].entries()) cell.textContent = step.stds[n] === undefined ? "" : `${brief(100 * step.stds[n], 3)} %`;
  }

  async keep() {
    try {
      const { words } = await this.app.ask("excitation.keep", this.request());
      const diagram = await this.app.ask("edit.adopt");
      this.app.store.set("diagram", { ...diagram, again: true, from: "excitation" });
      this.settings = {};
      this.past = [];
      this.message = words;
      this.look();
    } catch (error) { this.say(error.message); }
  }

  async export(what) {
    try { const file = await this.app.ask("excitation.export", { ...this.request(), what }); handOver(file); this.parts.word.textContent = `${file.name} is in your downloads`; } catch (error) { this.say(error.message); }
  }

  say(text) { this.parts.said.textContent = text; this.parts.said.hidden = !text; }

  // ---- what it will teach

  foretell(answer) {
    const { parameters, values, std, relative_std: share, units } = answer;
    this.before = this.before || share;
    this.last = answer;
    const row = (name, n) => make("tr", { testid: `foretold-${name}` },
      make("th", {}, make("button", { type: "button", class: `quiet small${this.pair.includes(n) ? " chosen" : ""}`, text: name.split(".").slice(1).join("."), title: `${name}: show in the ellipse`, "aria-pressed": String(this.pair.includes(n)), onclick: () => { this.pair = [this.pair[1], n]; this.foretell(this.last); } }), make("small", { text: units[name] || "" })),
      make("td", { text: brief(values[name]) }), make("td", { class: "std", text: std[name] === null ? "not seen" : `± ${brief(std[name], 2)}` }), make("td", { class: share[name] > 0.5 || share[name] === null ? "alarm" : "", text: share[name] === null ? "–" : `${brief(100 * share[name], 3)} %` }),
      make("td", { class: "unit was", text: this.before[name] && share[name] && Math.abs(this.before[name] / share[name] - 1) > 0.005 ? `${brief(100 * this.before[name], 3)} %` : "" }), make("td", { class: "searching unit" }));
    this.parts.table.replaceChildren(make("tr", {}, ...["parameter", "value", "std", "relative", "before", ""].map((text) => make("th", { text }))), ...parameters.map(row));
    this.parts.verdict.textContent = answer.verdict;
    this.parts.ellipse.hidden = false;
    const [i, j] = this.pair[0] < parameters.length && this.pair[1] < parameters.length && this.pair[0] !== this.pair[1] ? this.pair : [0, Math.min(1, parameters.length - 1)];
    const block = [[i, j].map((k) => answer.covariance[i][k]), [i, j].map((k) => answer.covariance[j][k])];
    if (i === j || block.flat().some((value) => typeof value !== "number")) { this.plots.ellipse.set({ texts: ["no ellipse: one of them is not seen"] }); return; }
    const middle = [values[parameters[i]], values[parameters[j]]];
    const names = `${parameters[i]},${parameters[j]}`;
    const now = ellipseCurve(middle, block);
    if (this.ellipseOf !== names) { this.ellipseOf = names; this.firstEllipse = now; }
    const ghost = { ...this.firstEllipse, colour: getComputedStyle(this.root).getPropertyValue("--ghost").trim(), thin: true };
    this.plots.ellipse.set({ curves: [ghost, now], dots: [{ x: middle[0], y: middle[1], size: 2.5 }], titles: { x: titled(parameters[i], units), y: titled(parameters[j], units) }, texts: ["2 standard deviations", ...(Object.keys(this.settings).length ? ["grey: before"] : [])] });
  }
}

/** A parameter with its unit, as an axis has it. */
function titled(name, units) { return units[name] ? `${name} [${units[name]}]` : name; }

export const excitationPane = { name: "excitation", title: "Excitation", key: "3", what: "Shape the signal that moves the plant, within its limits, and see what it will teach.", mount(root, app) { excitationPane.own = new ExcitationPane(root, app); }, show() { excitationPane.own?.show(); }, hide() { excitationPane.own?.hide(); } };
