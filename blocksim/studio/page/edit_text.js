// A text editor from a textarea: a coloured copy of the text behind it, line numbers beside it, mistakes at their lines.
import { make } from "./dom.js";

const YAML_PARTS = /(#.*$)|("(?:[^"\\]|\\.)*"|'(?:[^']|'')*')|([A-Za-z_][\w.]*)(?=\s*:(?:\s|$))|(?<![\w.])(-?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)(?![\w.])/gm;

/** The text as HTML with comments, texts, keys and numbers in their colours. */
export function colouredYaml(text) {
  const safe = (words) => words.replace(/[&<>]/g, (sign) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[sign]);
  let html = "", at = 0;
  for (const match of text.matchAll(YAML_PARTS)) {
    const [whole, comment, quoted, key] = match;
    if (comment && match.index > 0 && !/\s/.test(text[match.index - 1])) continue;
    const kind = comment ? "comment" : quoted ? "text" : key ? "key" : "number";
    html += `${safe(text.slice(at, match.index))}<span class="y-${kind}">${safe(whole)}</span>`;
    at = match.index + whole.length;
  }
  return `${html}${safe(text.slice(at))}\n`;
}

export class TextEditor {
  /** `typed(text)` hears every change by hand, `moved(line)` where the caret goes. */
  constructor(root, { typed, moved }) {
    this.area = make("textarea", { spellcheck: "false", autocomplete: "off", autocapitalize: "off", wrap: "off", "aria-label": "The file's text", testid: "edit-text" });
    this.under = make("pre", { class: "under", "aria-hidden": "true" });
    this.gutter = make("div", { class: "gutter", "aria-hidden": "true", testid: "edit-gutter" });
    this.bar = make("div", { class: "line-bar", "aria-hidden": "true" });
    root.append(make("div", { class: "editor" }, this.gutter, make("div", { class: "sheet" }, this.bar, this.under, this.area)));
    this.typed = typed;
    this.problems = [];
    this.area.addEventListener("input", () => { this.paint(); typed(this.area.value); });
    this.area.addEventListener("scroll", () => this.follow());
    this.area.addEventListener("keydown", (event) => this.onKey(event));
    for (const kind of ["keyup", "click", "focus"]) this.area.addEventListener(kind, () => { this.showLine(this.line()); moved(this.line()); });
  }

  onKey(event) {
    if (event.key !== "Tab" || event.shiftKey || event.ctrlKey || this.escaped) { this.escaped = event.key === "Escape"; return; }
    event.preventDefault();  // two spaces; Escape, then Tab, leaves the editor
    this.area.setRangeText("  ", this.area.selectionStart, this.area.selectionEnd, "end");
    this.paint();
    this.typed(this.area.value);
  }

  line() { return this.area.value.slice(0, this.area.selectionStart).split("\n").length; }

  /** Another text, the caret kept where it was as far as it goes. */
  set(text) {
    if (text === this.area.value) return;
    const { selectionStart, scrollTop, scrollLeft } = this.area;
    this.area.value = text;
    this.area.setSelectionRange(Math.min(selectionStart, text.length), Math.min(selectionStart, text.length));
    this.area.scrollTop = scrollTop;
    this.area.scrollLeft = scrollLeft;
    this.paint();
  }

  paint() {
    this.under.innerHTML = colouredYaml(this.area.value);
    const count = this.area.value.split("\n").length;
    const wrong = new Map(this.problems.map((problem) => [problem.line, problem.what]));
    this.gutter.replaceChildren(...Array.from({ length: count }, (_, n) => make("div", { class: wrong.has(n + 1) ? "wrong" : "", title: wrong.get(n + 1) || "", text: String(n + 1) })));
    this.follow();
  }

  mark(problems) { this.problems = problems; this.paint(); }

  follow() {
    this.under.style.transform = `translate(${-this.area.scrollLeft}px, ${-this.area.scrollTop}px)`;
    this.gutter.style.transform = `translateY(${-this.area.scrollTop}px)`;
    this.bar.style.transform = `translateY(${-this.area.scrollTop}px)`;
  }

  height() { return parseFloat(getComputedStyle(this.area).lineHeight); }

  showLine(line) { this.bar.style.top = `calc(${(line - 1) * this.height()}px + .5rem)`; this.bar.hidden = line < 1; }

  /** Bring a line into sight, and the caret to it where asked. */
  goTo(line, caret = false) {
    const height = this.height(), top = (line - 1) * height;
    if (top < this.area.scrollTop || top > this.area.scrollTop + this.area.clientHeight - 2 * height) this.area.scrollTop = Math.max(0, top - this.area.clientHeight / 3);
    this.showLine(line);
    this.follow();
    if (!caret) return;
    const place = this.area.value.split("\n").slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
    this.area.focus();
    this.area.setSelectionRange(place, place);
  }
}
