// The chosen block of the Edit pane: its name, what its inputs read, its settings with unit, limits and meaning; or the file's parameters.
import { make } from "./dom.js";

export class Inspector {
  /** `act(request, refuse)` edits the text, and says in words what is refused; `page(type)` promises what a type of block declares. */
  constructor(root, { act, page }) {
    Object.assign(this, { root, act, page, state: null, declared: new Map(), asked: new Set(), unfolded: false });
  }

  /** Show a block of this state of the file; without a name the file's own parameters. Who types in a field is left alone. */
  show(state, block) {
    const inside = this.root.contains(document.activeElement);
    this.state = state;
    if (inside && this.shownBlock === block && this.shownText === state?.text) return;
    Object.assign(this, { shownBlock: block, shownText: state?.text });
    this.paint();
  }

  paint() {
    const entry = this.state?.blocks?.find((one) => one.name === this.shownBlock);
    const focus = this.root.contains(document.activeElement) ? document.activeElement.dataset.testid : "";
    this.root.replaceChildren(...(entry ? this.blockParts(entry) : this.fileParts()));
    if (focus) this.root.querySelector(`[data-testid="${CSS.escape(focus)}"]`)?.focus();
    if (entry && !this.asked.has(entry.type)) this.learn(entry.type);
  }

  fileParts() {
    const fields = (title, act, values) => !Object.keys(values).length ? [] : [make("h3", { text: title }), ...Object.entries(values).map(([key, text]) => this.field(key, text, (words, refuse) => this.act({ act, key, text: words }, refuse), `${act}-${key}`))];
    return [make("p", { class: "hint", text: "Choose a block (Enter again: its fields), or drag from an output to an input. Blocks come from the palette: double-click or drag." }),
      ...fields("parameters", "parameter", this.state?.parameters || {}), ...fields("simulate", "simulate", this.state?.simulate || {})];
  }

  blockParts(entry) {
    const name = make("input", { type: "text", class: "name", value: entry.name, "aria-label": "Name of the block", testid: "block-name" });
    const refusal = make("p", { class: "refusal", role: "alert", hidden: true, testid: "name-refusal" });
    const refuse = (text) => { refusal.textContent = text; refusal.hidden = !text; };
    name.addEventListener("change", () => { if (name.value !== entry.name) this.act({ act: "rename", block: entry.name, name: name.value }, refuse); });
    return [
      make("div", { class: "row" }, name, make("small", { text: entry.type }), make("button", { type: "button", class: "quiet", text: "Delete", testid: "block-delete", onclick: () => this.act({ act: "delete", block: entry.name }) })), refusal,
      ...entry.inputs.map((port) => this.wireRow(entry, port)), ...this.settings(entry),
    ];
  }

  /** The settings that the file gives, or must; folded below them those that have their defaults. Of a subsystem nothing is declared. */
  settings(entry) {
    const rows = this.declared.get(entry.type), set = (key) => (text, refuse) => this.act({ act: "set", block: entry.name, key, text }, refuse);
    const field = (key) => this.field(key, entry.settings[key] ?? "", set(key), `set-${entry.name}.${key}`, rows?.get(key));
    const others = [...rows?.values() || []].filter((row) => !(row.parameter in entry.settings)), spare = others.filter((row) => row.default);
    const shown = [...Object.keys(entry.settings), ...others.filter((row) => !row.default).map((row) => row.parameter)].map(field);
    const more = () => make("details", { class: "more", testid: "more-settings", open: this.unfolded, ontoggle: (event) => { this.unfolded = event.target.open; } },
      make("summary", { text: `${spare.length} more at ${spare.length === 1 ? "its default" : "their defaults"}` }), ...spare.map((row) => field(row.parameter)));
    return [...shown, spare.length ? more() : null, rows ? null : this.anotherSetting(set)].filter(Boolean);
  }

  /** What a type of block declares of its settings; of a subsystem nothing is known here, its own file says what it takes. */
  async learn(type) {
    this.asked.add(type);
    try {
      this.declared.set(type, new Map((await this.page(type)).page.settings.map((row) => [row.parameter, row])));
      if (![...this.root.querySelectorAll("input")].some((input) => input.value !== input.defaultValue)) this.paint();  // typing goes on undisturbed
    } catch { /* a subsystem */ }
  }

  /** A setting whose name is typed, for what declares none. */
  anotherSetting(set) {
    const key = make("input", { type: "text", placeholder: "setting", "aria-label": "Another setting", testid: "setting-key" }), value = make("input", { type: "text", placeholder: "value", "aria-label": "Its value", testid: "setting-value" });
    const refusal = make("p", { class: "refusal", role: "alert", hidden: true });
    const add = () => { if (key.value && value.value) set(key.value)(value.value, (text) => { refusal.textContent = text; refusal.hidden = false; }); };
    value.addEventListener("keydown", (event) => { if (event.key === "Enter") add(); });
    return make("div", {}, make("div", { class: "row add" }, key, value, make("button", { type: "button", class: "quiet", text: "add", testid: "setting-add", onclick: add })), refusal);
  }

  /** One field: its text, and what is declared of it. A wrong value is refused below it; Escape gives back what the file says. */
  field(key, text, take, testid, declared = null) {
    const input = make("input", { type: "text", value: text, "aria-label": key, testid, placeholder: declared?.default || "" });
    const refusal = make("p", { class: "refusal", role: "alert", hidden: true, testid: `refusal-${testid}` });
    const clear = () => { refusal.hidden = true; input.setAttribute("aria-invalid", "false"); };
    input.addEventListener("change", async () => {
      clear();
      const good = await take(input.value, (words) => { refusal.textContent = words; refusal.hidden = false; });
      input.setAttribute("aria-invalid", !good);
    });
    input.addEventListener("keydown", (event) => { if (event.key === "Escape") { input.value = text; clear(); } });
    const words = declared ? [declared.meaning, declared.limits].filter(Boolean).join(", ") : "";
    return make("div", { class: "setting" }, make("label", {}, make("span", { class: "key", text: key }), input, make("span", { class: "unit", text: declared?.unit || "" })), words ? make("p", { class: "doc", text: words }) : null, refusal);
  }

  wireRow(entry, port) {
    const signals = this.state.blocks.flatMap((block) => block.outputs.map((output) => block.outputs.length === 1 ? block.name : `${block.name}.${output}`));
    const select = make("select", { "aria-label": `${entry.name}.${port.name} reads`, testid: `wire-${entry.name}.${port.name}` }, make("option", { value: "", text: port.signals.length && !port.many ? "…" : "connect …" }), ...signals.map((signal) => make("option", { value: signal, text: signal })));
    select.addEventListener("change", () => { if (select.value) this.act({ act: "connect", block: entry.name, port: port.name, signal: select.value }); });
    return make("div", { class: "wire-row", title: port.doc }, make("span", { class: "port-name", text: `→ ${port.name}` }),
      ...port.signals.map((signal) => make("span", { class: "chip" }, signal, make("button", { type: "button", class: "quiet small", text: "×", "aria-label": `disconnect ${signal} from ${entry.name}.${port.name}`, testid: `cut-${entry.name}.${port.name}-${signal}`, onclick: () => this.act({ act: "disconnect", block: entry.name, port: port.name, signal }) }))),
      select);
  }
}
