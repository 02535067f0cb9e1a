// The diagram as Python drew it; a click or Enter on a block chooses it.

export class DiagramView {
  constructor(root, choose) {
    this.root = root;
    this.choose = choose;
    this.block = "";
    root.addEventListener("click", (event) => this.pick(event.target.closest("[data-block]")));
    root.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); this.pick(event.target.closest("[data-block]")); }
      if (event.key === "Escape") this.pick(null);
    });
  }

  set(svg) {
    this.root.innerHTML = svg;
    const drawing = this.root.querySelector("svg");
    if (drawing) drawing.style.maxWidth = `${1.25 * drawing.dataset.width}px`;
    this.mark(this.block);
  }

  pick(group) {
    this.mark(group ? group.dataset.block : "");
    this.choose(this.block);
  }

  mark(block) {
    this.block = block;
    for (const group of this.root.querySelectorAll("[data-block]")) group.classList.toggle("chosen", group.dataset.block === block);
  }
}
