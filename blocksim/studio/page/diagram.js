// The diagram as Python drew it; a click or Enter on a block chooses it.
import { make } from "./dom.js";

const READABLE = 0.6;  // pixels for each unit of a drawing, whose letters are 10 and 12 units high

/** A button that shows a diagram as large as it is drawn, to be scrolled, or fitted into its place again. */
export function sizeButton(root) {
  const button = make("button", { type: "button", class: "quiet small", title: "the diagram as large as it is drawn, or fitted", testid: "diagram-size", onclick: () => root.enlarge(!root.classList.contains("large")) });
  root.enlarge = (large) => { root.classList.toggle("large", large); button.textContent = large ? "fit" : "larger"; button.setAttribute("aria-pressed", large); };
  root.enlarge(false);
  return button;
}

export class DiagramView {
  /** `choose(block, by)` hears which block, and whether a key chose it, and it was chosen before: "again". */
  constructor(root, choose) {
    this.root = root;
    this.choose = choose;
    this.block = "";
    root.addEventListener("click", (event) => this.pick(event.target.closest("[data-block]")));
    root.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); this.pick(event.target.closest("[data-block]"), true); }
      if (event.key === "Escape") this.pick(null);
    });
  }

  /** Another drawing; that of another file is fitted where it can be read then, and else to be scrolled. */
  set(svg, other = false) {
    this.root.innerHTML = svg;
    const drawing = this.root.querySelector("svg");
    if (drawing) for (const [name, scale] of [["--drawn", 1.25], ["--large", 1]]) drawing.style.setProperty(name, `${scale * drawing.dataset.width}px`);
    this.mark(this.block);
    if (!drawing || !other) return;
    this.root.enlarge?.(false);
    const scale = drawing.getScreenCTM()?.a;
    if (!scale || scale >= READABLE) return;
    this.root.enlarge?.(true);
    drawing.querySelector("[data-block]")?.scrollIntoView({ block: "nearest", inline: "start" });  // where the file begins
  }

  pick(group, byKey = false) {
    const before = this.block;
    this.mark(group ? group.dataset.block : "");
    this.choose(this.block, !byKey ? "hand" : before && before === this.block ? "again" : "key");
  }

  /** Give the keyboard back to the chosen block. */
  focus() { [...this.root.querySelectorAll("[data-block]")].find((group) => group.dataset.block === this.block)?.focus(); }

  mark(block) {
    this.block = block;
    for (const group of this.root.querySelectorAll("[data-block]")) group.classList.toggle("chosen", group.dataset.block === block);
  }
}
