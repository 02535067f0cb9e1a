// Scopes: one plot for each unit, a common time axis, linked cursors, zoom. They draw envelopes that Python made.
import { bandPath } from "./bands.js";
import { axisTicks, brief, eachFrame, make, pageColour, plotFont } from "./dom.js";

const LEFT = 58, RIGHT = 10, TOP = 8, BOTTOM = 20;

export class Scopes {
  /** `wanted(window)` is called when another window of time is to be seen, `cursor(t)` when the cursor moves. */
  constructor(root, { wanted, cursor, colours }) {
    this.root = root;
    this.wanted = wanted;
    this.cursor = cursor;
    this.colours = colours;
    this.plots = [];
    this.series = [];
    this.ghost = null;
    this.span = null;
    this.window = null;
    this.t = null;
    this.holding = false;
    this.ranges = new Map();
    this.draw = eachFrame(() => this.paint());
    this.observer = new ResizeObserver(() => this.draw());
    root.classList.add("scopes");
  }

  columns() { return Math.max(100, Math.round((this.plots[0]?.canvas.clientWidth || 600) - LEFT - RIGHT)); }

  /** Another answer of Python: series with their arrays. */
  set(answer) {
    this.series = answer.series.map((one, number) => ({ ...one, window: answer.window, parts: [answer.arrays[`${number}.0`], answer.arrays[`${number}.1`]] }));
    if (answer.span) this.span = answer.span;
    if (!this.window) this.seen = answer.window;
    this.arrange();
    this.paint();
  }

  /** Keep the curves of now in grey behind those that come. */
  keepGhost() { this.ghost = this.series; this.draw(); }

  clear() { Object.assign(this, { ghost: null, window: null, t: null, series: [] }); this.ranges.clear(); this.arrange(); }

  /** One plot for each unit, and one more for what would be a flat line beside the rest; made again only when units or names change. */
  arrange() {
    const key = this.series.map((one) => `${one.name}|${one.unit}`).join();
    if (key === this.key) return;
    this.key = key;
    this.ranges.clear();
    const groups = [...new Set(this.series.map((one) => one.unit))].flatMap((unit) => groupsBySize(this.series.filter((one) => one.unit === unit)));
    this.observer.disconnect();
    this.plots = groups.map((group, place) => this.makePlot(group[0].unit, group.map((one) => one.name), groups.findIndex((other) => other[0].unit === group[0].unit) === place));
    this.root.replaceChildren(...this.plots.map((plot) => plot.root));
    for (const plot of this.plots) this.observer.observe(plot.canvas);
  }

  makePlot(unit, names, first = true) {
    const canvas = make("canvas", { tabindex: "0", role: "img", "aria-label": `${names.join(", ")} in ${unit || "no unit"} over time`, testid: `scope-${unit || "none"}${first ? "" : `-${names[0]}`}` });
    const legend = make("div", { class: "legend" }, ...names.map((name, place) => this.makeChip(name, this.colours[place % this.colours.length])),
      make("span", { class: "unit", text: unit ? `[${unit}]` : "" }));
    const plot = { unit, names, canvas, legend, root: make("figure", { class: "scope" }, legend, canvas) };
    this.listen(canvas);
    return plot;
  }

  makeChip(name, colour) {
    const chip = make("span", { class: "chip" }, make("i", { class: "swatch" }), make("span", { class: "signal", text: name, title: name }), make("output", { "data-value": name }));
    chip.firstChild.style.background = colour;
    return chip;
  }

  // ---- hands

  listen(canvas) {
    let begin = null;
    const timeAt = (event) => {
      const [low, high] = this.current(), box = canvas.getBoundingClientRect();
      return low + (high - low) * Math.min(1, Math.max(0, (event.clientX - box.left - LEFT) / (box.width - LEFT - RIGHT)));
    };
    canvas.addEventListener("pointerdown", (event) => { if (event.button === 0) { begin = timeAt(event); canvas.setPointerCapture(event.pointerId); } });
    canvas.addEventListener("pointermove", (event) => {
      this.setCursor(timeAt(event));
      this.brush = begin === null ? null : [begin, timeAt(event)];
    });
    canvas.addEventListener("pointerup", () => {
      const [low, high] = this.current(), brush = this.brush;
      begin = this.brush = null;
      if (brush && Math.abs(brush[1] - brush[0]) > 0.01 * (high - low)) this.zoomTo(Math.min(...brush), Math.max(...brush));
      this.draw();
    });
    canvas.addEventListener("pointercancel", () => { begin = this.brush = null; this.draw(); });
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoomBy(event.deltaY > 0 ? 1.25 : 0.8, timeAt(event));
    }, { passive: false });
    canvas.addEventListener("dblclick", () => this.reset());
    canvas.addEventListener("keydown", (event) => this.onKey(event));
  }

  onKey(event) {
    const [low, high] = this.current(), span = high - low, at = this.t ?? (low + high) / 2;
    const direction = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (direction && event.shiftKey) this.zoomTo(low + 0.2 * span * direction, high + 0.2 * span * direction, true);
    else if (direction) this.setCursor(Math.min(high, Math.max(low, at + 0.01 * span * direction)));
    else if (event.key === "+" || event.key === "=") this.zoomBy(0.5, at);
    else if (event.key === "-") this.zoomBy(2, at);
    else if (event.key === "0" || event.key === "Escape") this.reset();
    else return;
    event.preventDefault();
  }

  current() { return this.window || this.span || [0, 1]; }

  zoomBy(factor, at) {
    const [low, high] = this.current();
    this.zoomTo(at - (at - low) * factor, at + (high - at) * factor);
  }

  zoomTo(low, high, slide = false) {
    if (!this.span) return;
    const [first, last] = this.span;
    if (slide && (low < first || high > last)) return;
    low = Math.max(first, low);
    high = Math.min(last, high);
    if (high - low < 1e-6 * (last - first)) return;
    this.window = low <= first && high >= last ? null : [low, high];
    this.ranges.clear();
    this.wanted(this.window);
    this.draw();
  }

  reset() { if (this.span) this.zoomTo(...this.span); }

  setCursor(t) { this.t = t; this.cursor?.(t); this.draw(); }

  /** Values at the cursor, as Python says they are in the record. */
  showValues(values) {
    for (const output of this.root.querySelectorAll("output[data-value]")) output.textContent = output.dataset.value in values ? brief(values[output.dataset.value], 5) : "";
  }

  // ---- paint

  paint() {
    const last = this.plots.length - 1;
    this.plots.forEach((plot, place) => this.paintPlot(plot, place === last));
  }

  paintPlot(plot, withTime) {
    const canvas = plot.canvas, ratio = devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
    if (!width || !height) return;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) { canvas.width = Math.round(width * ratio); canvas.height = Math.round(height * ratio); }
    const pen = canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    const shown = this.series.filter((one) => plot.names.includes(one.name));
    const ghosts = (this.ghost || []).filter((one) => plot.names.includes(one.name));
    const [low, high] = this.current(), [bottom, top] = this.range(plot, shown);
    const floor = height - (withTime ? BOTTOM : 6);
    const x = (t) => LEFT + (width - LEFT - RIGHT) * (t - low) / (high - low);
    const y = (v) => floor - (floor - TOP) * (v - bottom) / (top - bottom);
    const frame = { pen, width, floor, x, y, low, high, bottom, top };
    this.paintAxes(frame, withTime);
    pen.save();
    pen.beginPath();
    pen.rect(LEFT, TOP - 4, width - LEFT - RIGHT, floor - TOP + 8);
    pen.clip();
    pen.lineJoin = "bevel";
    for (const one of ghosts) this.paintCurve(frame, one, pageColour(this.root, "--ghost"), 1.2);
    for (const one of shown) this.paintCurve(frame, one, this.colours[plot.names.indexOf(one.name) % this.colours.length], 1.5);
    pen.restore();
    this.paintHand(frame);
  }

  /** The range of a plot: while a slider is held it only grows, so that the picture stays calm. */
  range(plot, shown) {
    let bottom = Infinity, top = -Infinity;
    for (const one of shown) { const [least, greatest] = extremes(one); bottom = Math.min(bottom, least); top = Math.max(top, greatest); }
    if (!isFinite(bottom) || !isFinite(top)) [bottom, top] = [-1, 1];
    const margin = 0.06 * (top - bottom) || 0.1 * Math.abs(top) || 1;
    const old = this.ranges.get(plot);
    let range = [bottom - margin, top + margin];
    if (this.holding && old) range = [Math.min(old[0], range[0]), Math.max(old[1], range[1])];
    this.ranges.set(plot, range);
    return range;
  }

  paintAxes({ pen, width, floor, x, y, low, high, bottom, top }, withTime) {
    const grid = pageColour(this.root, "--grid"), ink = pageColour(this.root, "--muted");
    pen.font = plotFont(this.root);
    pen.lineWidth = 1;
    pen.strokeStyle = grid;
    pen.fillStyle = ink;
    pen.textBaseline = "middle";
    pen.textAlign = "right";
    for (const tick of axisTicks(bottom, top, (floor - TOP) / 34)) {
      const at = Math.round(y(tick.value)) + 0.5;
      pen.beginPath(); pen.moveTo(LEFT, at); pen.lineTo(width - RIGHT, at); pen.stroke();
      pen.fillText(tick.text.replace("-", "−"), LEFT - 7, at);
    }
    pen.textAlign = "center";
    pen.textBaseline = "top";
    for (const tick of axisTicks(low, high, (width - LEFT) / 90)) {
      const at = Math.round(x(tick.value)) + 0.5;
      pen.beginPath(); pen.moveTo(at, TOP); pen.lineTo(at, floor); pen.stroke();
      if (withTime) pen.fillText(tick.text.replace("-", "−"), Math.min(at, width - 14), floor + 6);
    }
    if (withTime) { pen.textAlign = "left"; pen.fillText("t [s]", 6, floor + 6); }
  }

  paintCurve({ pen, x, y }, one, colour, thickness) {
    pen.fillStyle = pen.strokeStyle = colour;
    pen.lineWidth = thickness;
    if (one.kind === "bands") {
      const [least, greatest] = one.parts, [low, high] = one.window;
      bandPath(pen, least, greatest, (k) => x(low + (high - low) * (k + 0.5) / least.length), y, thickness / 2);
      pen.fill();
      return;
    }
    const [times, values] = one.parts;
    pen.beginPath();
    for (let k = 0; k < times.length; k++) { const px = x(times[k]), py = y(values[k]); if (k) pen.lineTo(px, py); else pen.moveTo(px, py); }
    pen.stroke();
  }

  paintHand({ pen, floor, x, low, high }) {
    if (this.brush) {
      pen.fillStyle = pageColour(this.root, "--brush");
      const [a, b] = this.brush.map(x);
      pen.fillRect(Math.min(a, b), TOP, Math.abs(b - a), floor - TOP);
    }
    if (this.t === null || this.t < low || this.t > high) return;
    pen.strokeStyle = pageColour(this.root, "--ink");
    pen.lineWidth = 1;
    pen.setLineDash([3, 3]);
    pen.beginPath(); pen.moveTo(x(this.t), TOP); pen.lineTo(x(this.t), floor); pen.stroke();
    pen.setLineDash([]);
  }
}

const FLAT = 0.01;  // a curve that moves by less than this share of the largest is a flat line beside it

/** The least and the greatest finite value of a curve. */
function extremes(one) {
  let least = Infinity, greatest = -Infinity;
  for (const part of one.kind === "bands" ? one.parts : [one.parts[1]]) {
    for (const value of part) { if (value < least && value > -Infinity) least = value; if (value > greatest && value < Infinity) greatest = value; }
  }
  return [least, greatest];
}

/** Series of one unit in groups that can share an axis: those that would be flat lines beside the largest come after it. */
function groupsBySize(series) {
  const moves = new Map(series.map((one) => { const [least, greatest] = extremes(one); return [one, greatest > least ? greatest - least : 0]; }));
  const most = Math.max(...moves.values()), small = series.filter((one) => moves.get(one) > 0 && moves.get(one) < FLAT * most);
  return small.length ? [series.filter((one) => !small.includes(one)), ...groupsBySize(small)] : [series];
}
