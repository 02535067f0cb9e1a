// Switches of defects: a row of them above the diagram, and a light at the corner of each block that has some.
import { make } from "./dom.js";

export class DefectSwitches {
  /** `turned(off)` hears the names of those that are off. */
  constructor(root, drawing, turned) {
    this.root = root;
    this.drawing = drawing;
    this.turned = turned;
    this.off = new Set();
    this.defects = [];
    this.buttons = new Map();
  }

  set(defects, keep = false) {
    this.defects = defects;
    for (const name of [...this.off]) if (!keep || !defects.some((defect) => defect.name === name)) this.off.delete(name);
    this.buttons.clear();
    this.root.replaceChildren(...(defects.length ? [make("span", { class: "label", text: "Defects" })] : []), ...defects.map((defect) => {
      const button = make("button", { type: "button", role: "switch", class: "switch", testid: `defect-${defect.name}`, title: `${defect.words}: on or off`, onclick: () => this.turn([defect.name]) },
        make("i"), make("span", { text: defect.kind === "loop" ? defect.words : `${defect.block}: ${defect.words}` }));
      this.buttons.set(defect.name, button);
      return button;
    }));
    this.root.hidden = !defects.length;
    this.light();
    this.mark();
  }

  /** A light at the corner of a block; a click turns all its defects off, or on again. */
  light() {
    const svg = this.drawing.querySelector("svg");
    if (!svg) return;
    for (const block of new Set(this.defects.map((defect) => defect.block))) {
      const group = [...svg.querySelectorAll("[data-block]")].find((one) => one.dataset.block === block);
      if (!group) continue;
      const [, top, right] = group.dataset.box.split(" ").map(Number);
      const light = document.createElementNS("http://www.w3.org/2000/svg", "circle");
      for (const [name, value] of Object.entries({ cx: right - 1, cy: top + 1, r: 5.5, class: "light", tabindex: 0, role: "switch", "data-light": block, "data-testid": `light-${block}`, "aria-label": `defects of ${block}` })) light.setAttribute(name, value);
      const names = this.defects.filter((defect) => defect.block === block).map((defect) => defect.name);
      const turn = (event) => { event.stopPropagation(); event.preventDefault(); this.turn(names, names.some((name) => !this.off.has(name))); };
      light.addEventListener("click", turn);
      light.addEventListener("keydown", (event) => { if (event.key === "Enter" || event.key === " ") turn(event); });
      group.after(light);
    }
  }

  turn(names, off = !this.off.has(names[0])) {
    for (const name of names) if (off) this.off.add(name); else this.off.delete(name);
    this.mark();
    this.turned([...this.off]);
  }

  turnAllOn() { this.off.clear(); this.mark(); }

  mark() {
    for (const [name, button] of this.buttons) button.setAttribute("aria-checked", !this.off.has(name));
    for (const light of this.drawing.querySelectorAll("[data-light]")) {
      const own = this.defects.filter((defect) => defect.block === light.dataset.light), off = own.filter((defect) => this.off.has(defect.name)).length;
      light.setAttribute("aria-checked", off === 0 ? "true" : off === own.length ? "false" : "mixed");
    }
  }
}
