// A pinned parameter: name, number field, slider. A wrong value is refused here, in the words of Python.
import { brief, hasFocus, make } from "./dom.js";

const STEPS = 1000;

export class Slider {
  /** `field` is as Python described it; `move(value, last)` hears every step, `last` at the end of a drag. */
  constructor(field, value, { move, unpin }) {
    this.field = field;
    this.scale = field.slider;
    this.move = move;
    this.range = make("input", { type: "range", min: "0", max: String(STEPS), step: "1", "aria-label": `${field.path}${field.unit ? " in " + field.unit : ""}`, testid: `slider-${field.path}` });
    this.number = make("input", { type: "text", inputmode: "decimal", class: "number", "aria-label": `value of ${field.path}`, testid: `number-${field.path}` });
    this.words = make("p", { class: "refusal", role: "alert", hidden: true, testid: `refusal-${field.path}` });
    this.ends = make("div", { class: "ends", "aria-hidden": "true" });
    this.showEnds();
    this.home = make("button", { type: "button", class: "quiet small", title: `back to ${brief(field.value)}, as in the file`, "aria-label": `${field.path} back to the file's value`, text: "↺", onclick: () => this.take(this.field.value, true) });
    const close = unpin && make("button", { type: "button", class: "quiet small", title: "unpin", "aria-label": `unpin ${field.path}`, text: "×", onclick: unpin });
    this.root = make("div", { class: "slider", title: field.doc },
      make("div", { class: "row" }, make("label", { text: field.path }), make("span", { class: "unit", text: field.unit }), this.home, close),
      make("div", { class: "track" }, make("div", { class: "rail" }, this.range, this.ends), this.number), this.words);
    this.range.addEventListener("input", () => this.take(this.fromPlace(Number(this.range.value)), false));
    this.range.addEventListener("change", () => this.take(this.fromPlace(Number(this.range.value)), true));
    this.range.addEventListener("keydown", (event) => this.onKey(event));
    this.number.addEventListener("change", () => this.typed());
    this.show(value);
  }

  showEnds() {
    const { low, high, log } = this.scale;
    this.ends.replaceChildren(...[brief(low, 3), log ? "log" : "", brief(high, 3)].map((text) => make("span", { text })));
  }

  onKey(event) {
    const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const place = Math.min(STEPS, Math.max(0, Number(this.range.value) + step * (event.shiftKey ? 100 : 10)));
    this.range.value = place;
    this.take(this.fromPlace(place), true);
  }

  typed() {
    const text = this.number.value.trim().replace(",", ".");
    const value = Number(text);
    this.take(text !== "" && Number.isFinite(value) ? value : text, true);
  }

  take(value, last) {
    this.show(value, hasFocus(this.number));
    this.move(value, last);
  }

  fromPlace(place) {
    const { low, high, log, whole } = this.scale, share = place / STEPS;
    const value = log ? low * (high / low) ** share : low + (high - low) * share;
    return whole ? Math.round(value) : Number(value.toPrecision(4));
  }

  toPlace(value) {
    const { low, high, log } = this.scale;
    const share = log ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);
    return Math.round(STEPS * Math.min(1, Math.max(0, share)));
  }

  show(value, typing = false) {
    this.value = value;
    if (!typing) this.number.value = typeof value === "number" ? brief(value, 5) : value;
    if (typeof value === "number") {
      const place = this.toPlace(value);
      if (!hasFocus(this.range) || Math.abs(place - this.range.value) > 1) this.range.value = place;
      this.root.style.setProperty("--share", `${place / STEPS * 100}%`);
    }
    this.range.setAttribute("aria-valuetext", `${value} ${this.field.unit}`);
    this.home.style.visibility = value === this.field.value ? "hidden" : "visible";
  }

  /** The same setting of another text of the file; the range stays while the file's value lies in it. */
  renew(field) {
    const { low, high } = this.scale;
    if (!(field.value >= low && field.value <= high) && field.slider) {
      this.scale = field.slider;
      this.showEnds();
    }
    this.field = field;
    this.home.title = `back to ${brief(field.value)}, as in the file`;
  }

  refuse(text) { this.words.textContent = text; this.words.hidden = !text; this.number.setAttribute("aria-invalid", Boolean(text)); }
}
