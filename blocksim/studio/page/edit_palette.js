// The palette: blocks by family, searched by name and words; a click shows a block's page, a second one or a drag inserts it.
import { make } from "./dom.js";

export class Palette {
  /** `insert(type)` puts a block into the diagram; `page(type)` promises what there is to say about it. */
  constructor(root, { insert, page }) {
    this.insert = insert;
    this.page = page;
    this.search = make("input", { type: "search", placeholder: "Search blocks", "aria-label": "Search blocks", testid: "palette-search" });
    this.list = make("div", { class: "palette-list", testid: "palette-list" });
    this.about = make("div", { class: "palette-page", testid: "palette-page", hidden: true });
    root.append(this.search, this.list, this.about);
    this.search.addEventListener("input", () => this.paint());
    this.search.addEventListener("keydown", (event) => { if (event.key === "ArrowDown") { event.preventDefault(); this.list.querySelector("button")?.focus(); } });
    this.list.addEventListener("keydown", (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      const buttons = [...this.list.querySelectorAll("button")];
      (buttons[buttons.indexOf(document.activeElement) + step] || this.search).focus();
    });
  }

  set(families) { this.families = families; this.paint(); }

  paint() {
    const words = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const hits = this.families.map(({ family, blocks }) => {
      const some = blocks.filter((block) => words.every((word) => `${block.name} ${block.equation} ${family}`.toLowerCase().includes(word)));
      const named = some.filter((block) => words.every((word) => block.name.toLowerCase().includes(word)));
      return { family, blocks: [...named, ...some.filter((block) => !named.includes(block))], named: named.length > 0 };
    }).filter((hit) => hit.blocks.length);
    if (words.length) hits.sort((one, other) => other.named - one.named);  // what bears the word comes before what only speaks of it
    this.list.replaceChildren(...hits.flatMap(({ family, blocks }) => [make("h3", { text: family }), ...blocks.map((block) => this.item(block))]));
  }

  item(block) {
    return make("button", {
      type: "button", tabindex: "-1", class: `item ${block.colour}`, text: block.name, title: block.equation, draggable: "true", testid: `palette-${block.name}`,
      onclick: () => this.show(block.name),
      ondblclick: () => this.insert(block.name),
      onkeydown: (event) => { if (event.key === "Enter" && this.shown === block.name) { event.preventDefault(); this.insert(block.name); } },
      ondragstart: (event) => event.dataTransfer.setData("text/blocksim-type", block.name),
    });
  }

  async show(type) {
    this.shown = type;
    const { page } = await this.page(type);
    const table = (rows, names) => make("table", {}, ...rows.map((row) => make("tr", {}, ...names.map((name, n) => make(n ? "td" : "th", { text: row[name] })))));
    this.about.hidden = false;
    this.about.replaceChildren(
      make("div", { class: "row" }, make("h3", { text: page.name }), make("button", { type: "button", class: "primary", text: "Insert", testid: "palette-insert", onclick: () => this.insert(page.name) }),
        make("button", { type: "button", class: "quiet small", text: "×", "aria-label": "close the page of this block", onclick: () => { this.about.hidden = true; } })),
      make("p", { class: "equation", text: page.equation }), ...page.doc.map(([text, columns]) => make(columns ? "pre" : "p", { class: "doc", text })),
      page.ports.length ? table(page.ports, ["port", "unit", "meaning"]) : null,
      page.settings.length ? table(page.settings, ["parameter", "default", "unit", "meaning"]) : null);
    this.about.scrollTop = 0;
  }
}
