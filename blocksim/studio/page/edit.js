// The Edit pane: palette, diagram with ports, the chosen block, and the text. Every act is an edit of the file's text, made in Python.
import { handOver, make } from "./dom.js";
import { DiagramView, sizeButton } from "./diagram.js";
import { TextEditor } from "./edit_text.js";
import { Inspector } from "./edit_block.js";
import { Palette } from "./edit_palette.js";
import { WireBoard } from "./edit_wires.js";

const SETTLE_MS = 350;

class EditPane {
  constructor(root, app) {
    this.root = root;
    this.app = app;
    Object.assign(this, { state: null, block: "" });
    this.build();
    this.inspector = new Inspector(this.parts.block, { act: (request, refuse) => this.act(request, refuse), page: (type) => app.ask("edit.palette", { type }) });
    this.editor = new TextEditor(this.parts.text, { typed: (text) => this.type(text), moved: (line) => this.chooseAt(line) });
    this.palette = new Palette(this.parts.palette, { insert: (type) => this.act({ act: "insert", type }), page: (type) => app.ask("edit.palette", { type }) });
    this.view = new DiagramView(this.parts.canvas, (block, by) => { this.choose(block, true); if (by === "again") this.parts.block.querySelector("input")?.focus(); });
    this.wires = new WireBoard(this.parts.canvas, { connect: (wire) => this.act({ act: "connect", ...wire }), chosen: (wire) => this.chooseWire(wire), dropped: (type) => this.act({ act: "insert", type }) });
    document.addEventListener("keydown", (event) => { if (this.visible) this.onKey(event); });
    app.ask("edit.palette").then(({ families }) => this.palette.set(families), (error) => this.say(error.message, true));
    app.store.on("diagram", (diagram) => { if (diagram.from !== "edit") this.open(diagram); });
    app.store.set("editing", true);
    app.store.on("outside", (state) => { if (this.state && state.what) { this.typing = false; this.take(state); } });
  }

  build() {
    const button = (text, testid, onclick, title = "") => make("button", { type: "button", text, testid, onclick, title });
    const part = (name, title, ...inner) => make("section", { class: `part ${name}`, "aria-label": title, testid: `part-edit-${name}` }, ...inner);
    this.parts = {
      canvas: make("div", { class: "canvas board", testid: "edit-board" }), text: make("div", { class: "text-host" }), palette: make("div", { class: "palette" }),
      block: make("div", { class: "inspector", testid: "edit-block" }), problems: make("ol", { class: "problems", testid: "edit-problems" }),
      said: make("p", { class: "edit-said", role: "status", testid: "edit-said" }), ask: make("div", { class: "asks", role: "alert", hidden: true, testid: "edit-ask" }),
      undo: button("Undo", "edit-undo", () => this.step("edit.undo"), "Ctrl+Z"), redo: button("Redo", "edit-redo", () => this.step("edit.redo"), "Ctrl+Shift+Z"),
      save: button("Save", "edit-save", () => this.save(), "Ctrl+S"), saveAs: button("Save as …", "edit-save-as", () => this.saveAs(), "Ctrl+Shift+S"),
      file: make("span", { class: "file-state", testid: "edit-file" }),
    };
    const exports = make("span", { class: "exports" }, make("span", { class: "unit", text: "Export" }),
      ...[["SVG", "svg"], ["PNG", "png"], ["YAML", "yaml"], ["record", "record"]].map(([text, what]) => make("button", { type: "button", class: "quiet", text, testid: `export-${what}`, onclick: () => this.export(what) })));
    this.root.append(
      make("div", { class: "edit-bar", role: "toolbar", "aria-label": "Edit" }, this.parts.undo, this.parts.redo, this.parts.save, this.parts.saveAs, exports, sizeButton(this.parts.canvas), this.parts.file, this.parts.said),
      this.parts.ask,
      part("blocks", "Palette", this.parts.palette),
      part("drawing", "Diagram", this.parts.canvas),
      part("chosen", "The chosen block", this.parts.block),
      part("text", "Text", this.parts.text, this.parts.problems));
  }

  show() { this.visible = true; if (this.state) this.editor.paint(); }

  hide() { this.visible = false; }

  // ---- the line to Python

  async open(diagram) {
    const kept = diagram.again && !diagram.from && this.state && this.state.path === diagram.path && this.state.dirty ? { text: this.editor.area.value } : {};
    try {
      const state = await this.app.ask("edit.open", kept);
      this.block = "";
      this.take(state);
      this.offerDrafts(state.drafts);
      if (kept.text) this.say("The line was lost and is back; the text here is the one you had.");
    } catch (error) { this.say(error.message, true); }
  }

  take(state) {
    const other = this.state?.path !== state.path;
    this.state = state;
    if (document.activeElement !== this.editor.area || !this.typing) this.editor.set(state.text);
    this.editor.mark(state.problems);
    if (state.svg) this.view.set(state.svg, other);
    this.parts.canvas.classList.toggle("stale", !state.svg);
    if (state.svg) this.wires.set(state.blocks);
    const wrong = new Set(state.problems.map((problem) => problem.block));
    for (const group of this.parts.canvas.querySelectorAll("[data-block]")) group.classList.toggle("wrong", wrong.has(group.dataset.block));
    this.parts.problems.replaceChildren(...state.problems.map((problem) => make("li", {}, make("button", { type: "button", class: "quiet", onclick: () => this.editor.goTo(problem.line || 1, true) }, make("b", { text: problem.line ? `${problem.line}: ` : "" }), problem.what))));
    this.parts.undo.disabled = !state.undo;
    this.parts.redo.disabled = !state.redo;
    this.parts.undo.title = state.undo ? `Ctrl+Z: ${state.undo}` : "";
    this.parts.redo.title = state.redo ? `Ctrl+Shift+Z: ${state.redo}` : "";
    this.parts.save.disabled = !state.dirty;
    this.parts.file.textContent = state.bundled ? "comes with blocksim" : state.dirty ? "not saved" : "saved";
    this.parts.file.classList.toggle("alarm", Boolean(state.outside));
    if (state.words || state.news?.length) this.say([state.words, ...(state.news || [])].filter(Boolean).join(". "));
    if (state.outside) this.askAboutOutside(); else if (this.asking === "outside") this.closeAsk();
    this.inspector.show(this.state, this.block);
    clearTimeout(this.settling);
    if (!state.problems.length) this.settling = setTimeout(() => this.adopt(), SETTLE_MS);
  }

  /** All panes get the new diagram once the hand rests. */
  async adopt() {
    try {
      const diagram = await this.app.ask("edit.adopt");
      this.app.store.set("problems", []);
      this.app.store.set("diagram", { ...diagram, again: true, from: "edit" });
    } catch (error) { if (error.problems?.length) this.app.store.set("problems", error.problems); }
  }

  type(text) {
    this.typing = true;
    this.app.latest("edit.type", () => ({ text: this.editor.area.value }), (state) => { this.take(state); this.typing = false; }, (error) => this.say(error.message, true));
  }

  async act(request, field = null) {
    try {
      this.take(await this.app.ask("edit.do", request));
      if (request.act === "insert") this.choose(this.state.blocks.at(-1)?.name || "", true);
      if (request.act === "rename") this.choose(request.name, true);
      if (request.act === "connect") this.choose(request.block, true);
      if (request.act === "delete") this.choose("", false);
      return true;
    } catch (error) {
      if (field) field(error.problems.length ? error.problems.map((problem) => problem.what).join(" ") : error.message);
      else this.say(error.message, true);
      return false;
    }
  }

  async step(kind) { this.typing = false; try { this.take(await this.app.ask(kind)); } catch (error) { this.say(error.message, true); } }

  async save(force = false) {
    if (this.state.bundled) { this.saveAs(); return; }
    try { this.take(await this.app.ask("edit.save", { force })); this.closeAsk(); } catch (error) { this.say(error.message, true); this.askAboutOutside(error.message); }
  }

  saveAs(words = "", name = "") {
    const field = make("input", { type: "text", value: name || this.state.path.split("/").at(-1), "aria-label": "File name", testid: "save-as-name" });
    const go = async (force) => {
      try { this.take(await this.app.ask("edit.save", { path: field.value, force })); this.closeAsk(); this.adopt(); } catch (error) { this.saveAs(error.message, field.value); }
    };
    field.addEventListener("keydown", (event) => { if (event.key === "Enter") go(false); if (event.key === "Escape") this.closeAsk(); });
    this.ask("save-as", words || "Save under which name? It is found from the folder the studio was started in.", field,
      make("button", { type: "button", class: "primary", text: "Save", testid: "save-as-go", onclick: () => go(false) }),
      words ? make("button", { type: "button", text: "Overwrite", testid: "save-as-force", onclick: () => go(true) }) : null);
    field.focus();
    field.select();
  }

  askAboutOutside(words = "") {
    this.ask("outside", words || "The file was changed outside while it is changed here. Both texts are kept.",
      make("button", { type: "button", text: "Take the file's text", testid: "outside-take", onclick: async () => { this.typing = false; this.take(await this.app.ask("edit.reload")); this.closeAsk(); } }),
      make("button", { type: "button", text: "Overwrite the file", testid: "outside-overwrite", onclick: () => this.save(true) }),
      make("button", { type: "button", text: "Save as …", onclick: () => this.saveAs() }));
  }

  offerDrafts(drafts) {
    if (!drafts?.length) return;
    const [draft] = drafts;
    const answer = async (drop) => { try { this.take(await this.app.ask("edit.draft", { name: draft.name, drop })); } catch (error) { this.say(error.message, true); } this.closeAsk(); };
    this.ask("draft", `There is a draft of ${draft.when} that was not saved.`,
      make("button", { type: "button", class: "primary", text: "Take it up", testid: "draft-take", onclick: () => answer(false) }),
      make("button", { type: "button", text: "Drop it", testid: "draft-drop", onclick: () => answer(true) }));
  }

  ask(kind, words, ...inner) {
    if (this.asking === kind && kind === "outside") return;
    this.asking = kind;
    this.parts.ask.hidden = false;
    this.parts.ask.replaceChildren(make("span", { text: words }), ...inner.filter(Boolean), make("button", { type: "button", class: "quiet small", text: "×", "aria-label": "not now", onclick: () => this.closeAsk() }));
  }

  closeAsk() { this.asking = ""; this.parts.ask.hidden = true; }

  async export(what) {
    try {
      const file = await this.app.ask("edit.export", { what });
      handOver(file);
      this.say(`${file.name} is in your downloads`);
    } catch (error) { this.say(error.message, true); }
  }

  say(text, alarm = false) { this.parts.said.textContent = text; this.parts.said.classList.toggle("alarm", alarm); }

  // ---- the chosen block

  choose(block, lead = false) {
    this.block = block;
    this.wire = null;
    this.view.mark(block);
    const entry = this.entry();
    if (lead && entry?.line) this.editor.goTo(entry.line);
    this.inspector.show(this.state, this.block);
  }

  chooseAt(line) {
    const before = (this.state?.blocks || []).filter((block) => block.line <= line && block.line > 0).sort((a, b) => b.line - a.line)[0];
    if (before && before.name !== this.block) { this.block = before.name; this.view.mark(this.block); this.inspector.show(this.state, this.block); }
  }

  chooseWire({ block, port, from }) {
    this.choose(block, true);
    const entry = this.entry();
    const input = entry?.inputs.find((one) => one.name === port) || entry?.inputs[0];
    const signal = input?.signals.find((one) => from === one || from.startsWith(`${one}.`) || one.startsWith(from.split(".")[0])) || "";
    this.wire = input ? { block, port: input.name, signal } : null;
    this.say(this.wire ? `${signal} to ${block}.${input.name}; Delete takes the wire away` : "");
    this.parts.canvas.focus();
  }

  entry() { return this.state?.blocks?.find((block) => block.name === this.block); }

  onKey(event) {
    const key = event.key.toLowerCase(), command = event.ctrlKey || event.metaKey;
    const inField = /INPUT|SELECT/.test(event.target.tagName);
    if (command && key === "s") { event.preventDefault(); if (event.shiftKey) this.saveAs(); else this.save(); }
    else if (command && !inField && (key === "z" || key === "y")) { event.preventDefault(); this.step(key === "y" || event.shiftKey ? "edit.redo" : "edit.undo"); }
    else if ((event.key === "Delete" || event.key === "Backspace") && !inField && event.target.tagName !== "TEXTAREA") {
      if (this.wire) { const wire = this.wire; this.wire = null; this.act({ act: "disconnect", ...wire }); }
      else if (event.key === "Delete" && this.block) this.act({ act: "delete", block: this.block });
    }
  }
}

export const editPane = { name: "edit", title: "Edit", key: "2", what: "Change the diagram by mouse or as text; both are the same file.", mount(root, app) { editPane.edit = new EditPane(root, app); }, show() { editPane.edit?.show(); }, hide() { editPane.edit?.hide(); } };
