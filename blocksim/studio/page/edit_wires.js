// Ports on the drawn blocks: drag from an output to an input to connect them; a click on a wire chooses it.

const SVG_SPACE = "http://www.w3.org/2000/svg";

function svgPart(tag, options) {
  const element = document.createElementNS(SVG_SPACE, tag);
  for (const [name, value] of Object.entries(options)) element.setAttribute(name, value);
  return element;
}

/** Where a wire begins and ends, by the path that is drawn. */
function wireEnds(group) {
  const path = group.querySelector("path");
  const length = path.getTotalLength();
  return [path.getPointAtLength(0), path.getPointAtLength(length)];
}

/** Places for the ports of one edge, evenly spaced, farthest from those that are taken by wires first. */
function freePlaces(top, bottom, count, taken) {
  const wanted = count - taken.length, all = Array.from({ length: 2 * count + 1 }, (_, n) => top + (bottom - top) * (n + 1) / (2 * count + 2));
  if (!taken.length) return all.filter((_, n) => n % 2).slice(0, count);
  const chosen = [];
  while (chosen.length < wanted) {
    const far = (y) => Math.min(...[...taken, ...chosen].map((other) => Math.abs(other - y)));
    chosen.push(all.reduce((best, y) => (far(y) > far(best) + 1e-9 ? y : best)));
  }
  return chosen.sort((one, other) => one - other);
}

export class WireBoard {
  /** `connect({signal, block, port})`, `chosen({block, port, signal})` for a wire, `dropped(type)` for a block of the palette. */
  constructor(root, { connect, chosen, dropped }) {
    this.root = root;
    this.connect = connect;
    this.chosen = chosen;
    root.addEventListener("pointerdown", (event) => this.begin(event));
    root.addEventListener("click", (event) => { if (this.drawn) { this.drawn = false; event.stopImmediatePropagation(); } }, true);  // the end of a drag is no click
    root.addEventListener("click", (event) => { const wire = event.target.closest(".wire"); if (wire) this.pick(wire); });
    root.addEventListener("dragover", (event) => { if (event.dataTransfer.types.includes("text/blocksim-type")) event.preventDefault(); });
    root.addEventListener("drop", (event) => {
      const type = event.dataTransfer.getData("text/blocksim-type");
      if (type) { event.preventDefault(); dropped(type); }
    });
  }

  /** Put the ports of all blocks onto the drawing. */
  set(blocks) {
    this.blocks = new Map(blocks.map((block) => [block.name, block]));
    this.svg = this.root.querySelector("svg");
    if (!this.svg) return;
    const ends = new Map();
    for (const group of this.svg.querySelectorAll(".wire")) {
      const [start, stop] = wireEnds(group);
      const from = `out ${group.dataset.from}`;
      if (!ends.has(from) || group.querySelector("path").getTotalLength() > 0) ends.set(from, ends.get(from) || start);
      const key = `in ${group.dataset.to}`;
      ends.set(key, ends.has(key) ? ends.get(key) : stop);
      group.setAttribute("tabindex", "-1");
    }
    for (const block of blocks) {
      const group = this.svg.querySelector(`[data-block="${CSS.escape(block.name)}"]`);
      if (!group) continue;
      const [left, top, right, bottom] = group.dataset.box.split(" ").map(Number);
      const turned = block.outputs.some((port) => ends.has(`out ${block.name}.${port}`) && ends.get(`out ${block.name}.${port}`).x < (left + right) / 2);
      const onEdge = (point) => point && (Math.abs(point.x - left) < 3 || Math.abs(point.x - right) < 3 || Math.abs(point.y - top) < 3 || Math.abs(point.y - bottom) < 3) ? point : null;  // not where a wire branches off
      const names = { out: block.outputs, in: block.inputs.map((port) => port.name) };
      for (const side of ["out", "in"]) {
        const x = (side === "out") === turned ? left : right, wired = names[side].map((name) => onEdge(ends.get(`${side} ${block.name}.${name}`)));
        const places = freePlaces(top, bottom, names[side].length, wired.filter((point) => point && Math.abs(point.x - x) < 3).map((point) => point.y));
        names[side].forEach((name, n) => this.handle(side, block.name, name, wired[n] || { x, y: places.shift() }, side === "in" && !block.inputs[n].signals.length && !block.inputs[n].optional));
      }
    }
  }

  handle(side, block, port, { x, y }, open = false) {
    const dot = svgPart("circle", { class: `port ${side}${open ? " open" : ""}`, cx: x, cy: y, r: 4.5, "data-side": side, "data-of": block, "data-port": port, "data-testid": `port-${side}-${block}.${port}` });
    const title = svgPart("title", {});
    title.textContent = `${block}.${port} (${side === "in" ? "input" : "output"})`;
    dot.append(title);
    this.svg.append(dot);
  }

  place(event) {
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(this.svg.getScreenCTM().inverse());
    return { x: point.x, y: point.y };
  }

  begin(event) {
    const dot = event.target.closest("circle.port.out");
    if (!dot || event.button) return;
    event.preventDefault();
    event.stopPropagation();
    const start = { x: Number(dot.getAttribute("cx")), y: Number(dot.getAttribute("cy")) };
    const line = svgPart("path", { class: "rubber", d: "" });
    this.svg.append(line);
    this.svg.classList.add("wiring");
    const move = (moving) => {
      const { x, y } = this.place(moving), middle = (start.x + x) / 2;
      line.setAttribute("d", `M${start.x} ${start.y}C${middle} ${start.y} ${middle} ${y} ${x} ${y}`);
    };
    const end = (last) => {
      removeEventListener("pointermove", move);
      removeEventListener("pointerup", end);
      line.remove();
      this.svg.classList.remove("wiring");
      this.drawn = true;
      setTimeout(() => { this.drawn = false; }, 0);
      this.land(dot, last);
    };
    addEventListener("pointermove", move);
    addEventListener("pointerup", end);
  }

  /** Where the wire was let go: on an input, or on a block, whose first input without a wire it takes. */
  land(dot, event) {
    const target = document.elementFromPoint(event.clientX, event.clientY);
    const source = this.blocks.get(dot.dataset.of);
    const signal = source.outputs.length === 1 ? source.name : `${source.name}.${dot.dataset.port}`;
    const port = target?.closest("circle.port.in");
    if (port) { this.connect({ signal, block: port.dataset.of, port: port.dataset.port }); return; }
    const name = target?.closest("[data-block]")?.dataset.block;
    const block = this.blocks.get(name);
    if (!block || !block.inputs.length || name === source.name) return;
    const open = block.inputs.find((one) => one.many || !one.signals.length) || block.inputs[0];
    this.connect({ signal, block: name, port: open.name });
  }

  pick(group) {
    for (const other of this.svg.querySelectorAll(".wire.chosen")) other.classList.remove("chosen");
    group.classList.add("chosen");
    const [block, ...port] = group.dataset.to.split(".");
    this.chosen({ block, port: port.join("."), from: group.dataset.from });
  }
}
