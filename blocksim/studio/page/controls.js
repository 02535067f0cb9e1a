// The controls: pinned sliders, and the settings of the block that is chosen, with unit, limits and meaning from its declarations.
import { brief, hasFocus, make } from "./dom.js";
import { valueOf } from "./elements.js";
import { Slider } from "./sliders.js";

let fieldCount = 0;  // several benches in one notebook: every label finds its own field

export class Controls {
  /** `owner` is the bench: it knows the changes, takes a new value, and asks Python. */
  constructor(root, owner) {
    this.owner = owner;
    this.sliders = new Map();
    this.rows = new Map();
    this.pins = make("div", { class: "pins", testid: "pins", role: "tabpanel", "aria-label": "Sliders" });
    this.block = make("div", { class: "block-fields", testid: "block-fields", role: "tabpanel", "aria-label": "Settings", hidden: true });
    this.tabs = ["Sliders", "File"].map((text, place) => make("button", { type: "button", role: "tab", text, testid: place ? "tab-block" : "tab-pins", onclick: () => this.show(place) }));
    this.keep = owner.options.only ? null : make("div", { class: "keeping", hidden: true },
      make("button", { type: "button", class: "small", text: "write into the file's text", title: "the values that differ from the file; Undo in Edit takes them back", testid: "keep-sliders", onclick: () => owner.keep() }),
      make("button", { type: "button", class: "small", text: "back to the file's", title: "all settings as the file has them", testid: "restore-sliders", onclick: () => owner.restore() }));
    root.append(make("div", { class: "segments", role: "tablist", "aria-label": "Controls" }, ...this.tabs), this.pins, this.block, this.keep || "");
    this.show(0);
  }

  show(place) {
    this.pins.hidden = place !== 0;
    this.block.hidden = place !== 1;
    this.tabs.forEach((tab, number) => tab.setAttribute("aria-selected", number === place));
  }

  clear() { this.sliders.clear(); this.rows.clear(); this.pins.replaceChildren(this.hint()); this.block.replaceChildren(); }

  hint() { return make("p", { class: "hint", text: "Click a block of the diagram and pin any of its numbers here." }); }

  pin(field) {
    if (this.sliders.has(field.path) || !field.slider) return;
    if (!this.sliders.size) this.pins.replaceChildren();
    const value = valueOf(field, this.owner.changes());
    const slider = new Slider(field, value, { move: (number, last) => this.owner.change(field, number, last), unpin: () => this.unpin(field.path) });
    this.sliders.set(field.path, slider);
    this.pins.append(slider.root);
    this.mark(field.path);
  }

  unpin(path) {
    this.sliders.get(path)?.root.remove();
    this.sliders.delete(path);
    if (!this.sliders.size) this.pins.replaceChildren(this.hint());
    this.mark(path);
  }

  mark(path) { this.rows.get(path)?.pin?.setAttribute("aria-pressed", this.sliders.has(path)); }

  /** The settings of a block, as Python described them. */
  fill(answer) {
    this.rows.clear();
    this.tabs[1].textContent = answer.block || "File";
    const [first, ...rest] = answer.doc.split("\n\n");
    this.block.replaceChildren(
      make("h3", {}, make("span", { text: answer.block || "The file's parameters" }), make("small", { text: answer.type })),
      first ? make("p", { class: "doc", text: first.trim(), title: rest.join("\n\n") }) : "",
      ...answer.fields.map((field) => this.makeField(field)));
    if (!answer.fields.length) this.block.append(make("p", { class: "hint", text: "Nothing to set here." }));
  }

  makeField(field) {
    const input = this.makeInput(field, valueOf(field, this.owner.changes()));
    const pin = field.slider && make("button", { type: "button", class: "pin", text: "pin", title: "make it a slider", "aria-pressed": this.sliders.has(field.path), "aria-label": `pin ${field.path} as slider`, testid: `pin-${field.path}`,
      onclick: () => { if (this.sliders.has(field.path)) this.unpin(field.path); else this.pin(field); } });
    const words = make("p", { class: "refusal", role: "alert", hidden: true, testid: `field-refusal-${field.path}` });
    const row = { input, pin, words, field };
    this.rows.set(field.path, row);
    const limits = field.limits ? `, ${field.limits}` : "", each = field.elements.length ? this.makeElements(field) : null;
    return make("div", { class: "field" }, make("label", { for: input.id }, make("span", { text: field.name }), " ", make("span", { class: "unit", text: field.unit })), input, pin || each?.button || make("span"),
      field.doc || limits ? make("p", { class: "doc", text: field.doc + limits }) : null, words, each?.rows);
  }

  /** The elements of a list one by one, each to be typed and pinned; folded at first. */
  makeElements(field) {
    const rows = make("div", { class: "elements", hidden: true, testid: `elements-${field.path}` });
    const button = make("button", { type: "button", class: "pin", text: "each", title: "its elements one by one, each to be typed or pinned", "aria-expanded": "false", "aria-label": `elements of ${field.path}`, testid: `each-${field.path}`,
      onclick: () => {
        if (!rows.children.length) rows.append(...field.elements.map((element) => this.makeField({ ...element, doc: "", limits: "" })));
        rows.hidden = !rows.hidden;
        button.setAttribute("aria-expanded", !rows.hidden);
      } });
    return { button, rows };
  }

  makeInput(field, value) {
    const testid = `field-${field.path}`, options = { id: `${testid}-${++fieldCount}`, testid, onchange: (event) => this.owner.change(field, this.read(field, event.target.value), true) };
    if (field.kind === "choice") {
      const choices = field.choices.map((choice) => make("option", { value: String(choice), text: String(choice), selected: choice === value }));
      return make("select", options, ...choices);
    }
    return make("input", { type: "text", ...options, value: this.write(field, value), readonly: field.kind === "text" });
  }

  write(field, value) { return Array.isArray(value) ? JSON.stringify(value).replaceAll(",", ", ") : typeof value === "number" ? brief(value, 7) : String(value ?? ""); }

  /** What was typed, as a value: a number, a list, one of the choices, or the text itself for Python to refuse. */
  read(field, text) {
    if (field.kind === "choice") return field.choices.find((choice) => String(choice) === text);
    const trimmed = text.trim();
    if (field.kind === "list") { try { return JSON.parse(trimmed); } catch { return trimmed; } }
    return trimmed !== "" && Number.isFinite(Number(trimmed)) ? Number(trimmed) : trimmed;
  }

  /** The button that keeps values is there while any differ from the file. */
  offerKeeping(changes) { if (this.keep) this.keep.hidden = !Object.keys(changes).length; }

  /** Fields as the file has them now; sliders of those that it has no longer go. */
  renew(present, changes) {
    for (const path of [...this.sliders.keys()]) if (present.has(path)) this.sliders.get(path).renew(present.get(path)); else this.unpin(path);
    this.showAll(changes);
  }

  /** Show these changes, and for the rest the file's values. */
  showAll(changes) {
    for (const slider of this.sliders.values()) slider.show(valueOf(slider.field, changes));
    for (const row of this.rows.values()) row.input.value = this.write(row.field, valueOf(row.field, changes));
  }

  /** The same while a hand moves one of them: it is left alone. */
  follow(changes) {
    for (const slider of this.sliders.values()) { const value = valueOf(slider.field, changes); if (slider.value !== value) slider.show(value); }
    for (const row of this.rows.values()) if (!hasFocus(row.input)) row.input.value = this.write(row.field, valueOf(row.field, changes));
  }

  /** Refuse the value of a field with these words, or none. */
  refuse(path, text) {
    this.sliders.get(path)?.refuse(text);
    const row = this.rows.get(path);
    if (row) { row.words.textContent = text; row.words.hidden = !text; row.input.setAttribute("aria-invalid", Boolean(text)); }
  }

  /** A run took these changes: nothing is refused any more, and what was is shown as it is used. */
  accept(changes) {
    for (const path of new Set([...this.sliders.keys(), ...this.rows.keys()])) {
      const slider = this.sliders.get(path), row = this.rows.get(path);
      if (slider && !slider.words.hidden) slider.show(valueOf(slider.field, changes));
      if (row && !row.words.hidden) row.input.value = this.write(row.field, valueOf(row.field, changes));
      this.refuse(path, "");
    }
  }
}
