// A small plot on a canvas: axes with names, curves, bars, dots, bands of limits, and grips that a hand or the keyboard drags.
import { bandPath } from "./bands.js";
import { axisTicks, brief, eachFrame, make, pageColour, plotFont } from "./dom.js";

const PLOT_LEFT = 62, PLOT_RIGHT = 12, PLOT_TOP = 10, PLOT_BOTTOM = 34;

export class PlotCanvas {
  /** `options`: x and y axis titles, label for screen readers, testid; `dragged(grip, y, last)`, `picked(dot)`. */
  constructor(root, { x = "", y = "", label = "", testid = "", dragged = null, picked = null, height = "11rem", empty = "" } = {}) {
    this.titles = { x, y };
    this.empty = empty;
    this.dragged = dragged;
    this.picked = picked;
    this.curves = []; this.grips = []; this.bands = []; this.dots = []; this.bars = null; this.texts = [];
    this.focus = -1;
    this.canvas = make("canvas", { class: "plot", tabindex: dragged || picked ? "0" : null, role: "img", "aria-label": label, testid });
    this.canvas.style.height = height;
    this.canvas.style.flex = "none";
    if (!dragged) this.canvas.style.touchAction = "auto";  // a finger scrolls over what it cannot drag
    this.canvas.plot = this;  // for the console, and for tests
    root.append(this.canvas);
    this.draw = eachFrame(() => this.paint());
    new ResizeObserver(() => this.draw()).observe(this.canvas);
    if (dragged || picked) this.listen();
  }

  /** What is to be seen: curves [{x, y, colour, least, greatest, thin, dash}], grips [{x, y}], bands [{from, to}], dots, bars. */
  set(parts) {
    const titles = { ...this.titles, ...parts.titles };
    Object.assign(this, { curves: [], bands: [], dots: [], bars: null, texts: [], range: null }, parts, { titles });
    this.draw();
  }

  extent() {
    let [left, right, bottom, top] = [Infinity, -Infinity, Infinity, -Infinity];
    const take = (x, y) => { if (!Number.isFinite(x) || !Number.isFinite(y)) return; left = Math.min(left, x); right = Math.max(right, x); bottom = Math.min(bottom, y); top = Math.max(top, y); };
    for (const curve of this.curves) {
      for (let k = 0; k < curve.x.length; k++) { if (curve.least) { take(curve.x[k], curve.least[k]); take(curve.x[k], curve.greatest[k]); } else take(curve.x[k], curve.y[k]); }
    }
    for (const one of [...this.grips, ...this.dots]) take(one.x, one.y);
    if (this.bars) { this.bars.edges.forEach((edge) => take(edge, 0)); this.bars.counts.forEach((count) => take(this.bars.edges[0], count)); }
    if (this.range) { const { x, y } = this.range; if (x) [left, right] = x; if (y) [bottom, top] = y; }
    if (!(right > left)) [left, right] = [left - 0.5 || -0.5, right + 0.5 || 0.5];
    const room = 0.08 * (top - bottom) || 0.1 * Math.abs(top) || 1;
    if (!this.range?.y) { top += room; bottom = bottom === 0 ? 0 : bottom - room; }
    if (this.held) { [bottom, top] = [Math.min(bottom, this.held.bottom), Math.max(top, this.held.top)]; }
    return { left, right, bottom, top };
  }

  frame() {
    const width = this.canvas.clientWidth, height = this.canvas.clientHeight, { left, right, bottom, top } = this.extent();
    const floor = height - PLOT_BOTTOM, log = this.range?.log, edge = this.edge(bottom, top, floor);
    const shareX = log ? (x) => Math.log(x / left) / Math.log(right / left) : (x) => (x - left) / (right - left);
    return {
      width, height, floor, edge, left, right, bottom, top,
      x: (value) => edge + (width - edge - PLOT_RIGHT) * shareX(value),
      y: (value) => floor - (floor - PLOT_TOP) * (value - bottom) / (top - bottom),
      across: (pixel) => left + (right - left) * (pixel - edge) / (width - edge - PLOT_RIGHT),
      back: (pixel) => bottom + (top - bottom) * (floor - pixel) / (floor - PLOT_TOP),
    };
  }

  /** Where the axis stands: room for its numbers and its name beside them. */
  edge(bottom, top, floor) {
    const pen = this.canvas.getContext("2d");
    pen.font = plotFont(this.canvas);
    const wide = axisTicks(bottom, top, (floor - PLOT_TOP) / 30).map((tick) => pen.measureText(tick.text).width);
    return Math.max(PLOT_LEFT, Math.ceil(24 + Math.max(0, ...wide)));
  }

  paint() {
    const { canvas } = this, ratio = devicePixelRatio || 1, frame = this.frame(), { width, height } = frame;
    if (!width || !height) return;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    const pen = canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    if (![...this.curves, ...this.dots, ...this.grips].length && !this.bars) { this.paintWords(pen, width, height); return; }
    this.paintAxes(pen, frame);
    pen.save();
    pen.beginPath(); pen.rect(frame.edge, 0, width - frame.edge - PLOT_RIGHT + 6, frame.floor + 5); pen.clip();
    this.paintBands(pen, frame);
    if (this.bars) this.paintBars(pen, frame);
    for (const curve of this.curves) this.paintCurve(pen, frame, curve);
    for (const dot of this.dots) this.paintDot(pen, frame, dot);
    this.grips.forEach((grip, place) => this.paintGrip(pen, frame, grip, place));
    pen.restore();
    pen.fillStyle = pageColour(canvas, "--muted");
    this.texts.forEach((text, n) => { pen.textAlign = "right"; pen.textBaseline = "top"; pen.fillText(text, width - PLOT_RIGHT - 4, PLOT_TOP + 14 * n); });
  }

  /** Nothing to plot: why, in words, and no axes without numbers. */
  paintWords(pen, width, height) {
    pen.font = plotFont(this.canvas);
    pen.fillStyle = pageColour(this.canvas, "--muted");
    pen.textAlign = "center"; pen.textBaseline = "middle";
    pen.fillText(this.texts[0] || this.empty, width / 2, height / 2, width - 20);
  }

  paintAxes(pen, { width, floor, edge, x, y, left, right, bottom, top }) {
    const colour = (name) => pageColour(this.canvas, name);
    pen.font = plotFont(this.canvas);
    pen.lineWidth = 1;
    pen.strokeStyle = colour("--grid");
    pen.fillStyle = colour("--muted");
    pen.textAlign = "right"; pen.textBaseline = "middle";
    for (const tick of axisTicks(bottom, top, (floor - PLOT_TOP) / 30)) {
      const at = Math.round(y(tick.value)) + 0.5;
      pen.beginPath(); pen.moveTo(edge, at); pen.lineTo(width - PLOT_RIGHT, at); pen.stroke();
      pen.fillText(tick.text.replace("-", "−"), edge - 6, at);
    }
    pen.textAlign = "center"; pen.textBaseline = "top";
    const ticks = this.range?.log ? logTicks(left, right) : axisTicks(left, right, (width - edge) / 80);
    for (const tick of ticks) {
      const at = Math.round(x(tick.value)) + 0.5;
      pen.beginPath(); pen.moveTo(at, PLOT_TOP); pen.lineTo(at, floor); pen.stroke();
      pen.fillText(tick.text.replace("-", "−"), Math.min(at, width - 2 - pen.measureText(tick.text).width / 2), floor + 4);
    }
    pen.fillText(this.titles.x, (edge + width - PLOT_RIGHT) / 2, floor + 18);
    pen.save();
    pen.translate(9, (PLOT_TOP + floor) / 2); pen.rotate(-Math.PI / 2); pen.textBaseline = "middle";
    pen.fillText(this.titles.y, 0, 0, floor - PLOT_TOP + 18);  // a long name is drawn narrower, not cut
    pen.restore();
  }

  /** Where a limit is broken the ground is tinted, and its edge drawn. */
  paintBands(pen, { x, y, left, right, bottom, top }) {
    for (const band of this.bands) {
      const low = Math.max(band.from ?? bottom, bottom), high = Math.min(band.to ?? top, top);
      if (high <= low) continue;
      pen.fillStyle = pageColour(this.canvas, "--alarm-soft");
      pen.fillRect(x(left), y(high), x(right) - x(left), y(low) - y(high));
      pen.strokeStyle = pageColour(this.canvas, "--alarm");
      pen.setLineDash([5, 4]);
      const edge = y(band.from ?? band.to);
      pen.beginPath(); pen.moveTo(x(left), edge); pen.lineTo(x(right), edge); pen.stroke();
      pen.setLineDash([]);
    }
  }

  paintCurve(pen, { x, y }, curve) {
    pen.strokeStyle = curve.colour || pageColour(this.canvas, "--accent");
    pen.fillStyle = pen.strokeStyle;
    pen.lineWidth = curve.thin ? 1 : 1.6;
    pen.lineJoin = "bevel";
    pen.setLineDash(curve.dash || []);
    pen.beginPath();
    if (curve.stems) {
      for (let k = 0; k < curve.x.length; k++) { pen.moveTo(x(curve.x[k]), y(0)); pen.lineTo(x(curve.x[k]), y(curve.y[k])); }
    } else if (curve.least) {
      bandPath(pen, curve.least, curve.greatest, (k) => x(curve.x[k]), y, pen.lineWidth / 2);
      pen.fill();
      return;
    } else for (let k = 0; k < curve.x.length; k++) { const at = [x(curve.x[k]), y(curve.y[k])]; if (k) pen.lineTo(...at); else pen.moveTo(...at); }
    if (curve.closed) pen.closePath();
    pen.stroke();
    pen.setLineDash([]);
  }

  paintBars(pen, { x, y }) {
    const { edges, counts } = this.bars;
    pen.fillStyle = pageColour(this.canvas, "--accent");
    pen.globalAlpha = 0.55;
    for (let k = 0; k < counts.length; k++) pen.fillRect(x(edges[k]) + 0.5, y(counts[k]), Math.max(1, x(edges[k + 1]) - x(edges[k]) - 1), y(0) - y(counts[k]));
    pen.globalAlpha = 1;
  }

  paintDot(pen, { x, y }, dot) {
    pen.fillStyle = dot.colour || pageColour(this.canvas, "--accent");
    pen.globalAlpha = dot.faint ? 0.35 : 0.9;
    pen.beginPath(); pen.arc(x(dot.x), y(dot.y), dot.size || 3, 0, 7); pen.fill();
    pen.globalAlpha = 1;
    if (dot.chosen) { pen.strokeStyle = pageColour(this.canvas, "--ink"); pen.lineWidth = 1.5; pen.beginPath(); pen.arc(x(dot.x), y(dot.y), (dot.size || 3) + 3, 0, 7); pen.stroke(); }
  }

  paintGrip(pen, { x, y }, grip, place) {
    pen.beginPath(); pen.arc(x(grip.x), y(grip.y), place === this.focus ? 6.5 : 4.5, 0, 7);
    pen.fillStyle = place === this.focus ? pageColour(this.canvas, "--accent") : pageColour(this.canvas, "--paper");
    pen.strokeStyle = pageColour(this.canvas, "--accent");
    pen.lineWidth = 1.6;
    pen.fill(); pen.stroke();
  }

  // ---- hands

  nearest(items, event, reach = 16) {
    const box = this.canvas.getBoundingClientRect(), frame = this.frame();
    const far = items.map((one) => Math.hypot(frame.x(one.x) - (event.clientX - box.left), frame.y(one.y) - (event.clientY - box.top)));
    const place = far.indexOf(Math.min(...far));
    return place >= 0 && far[place] < reach ? place : -1;
  }

  listen() {
    const { canvas } = this;
    let holding = -1, row = null;
    canvas.addEventListener("pointerdown", (event) => {
      if (!this.dragged) return;
      holding = this.nearest(this.grips, event);
      if (holding < 0) return;
      this.focus = holding;
      row = this.frame();
      this.held = row;
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (holding < 0) { canvas.style.cursor = (this.dragged && this.nearest(this.grips, event) >= 0) ? (this.grips[this.nearest(this.grips, event)].between ? "move" : "ns-resize") : (this.picked && this.nearest(this.dots, event) >= 0) ? "pointer" : ""; return; }
      const box = canvas.getBoundingClientRect(), grip = this.grips[holding], y = row.back(event.clientY - box.top);
      this.grips[holding] = { ...grip, y, x: grip.between ? within(row.across(event.clientX - box.left), grip.between) : grip.x };
      this.dragged(this.grips[holding], y, false);
      this.draw();
    });
    canvas.addEventListener("pointerup", () => {
      if (holding >= 0) { this.held = null; this.dragged(this.grips[holding], this.grips[holding].y, true); }
      holding = -1;
    });
    canvas.addEventListener("click", (event) => { if (this.picked) { const place = this.nearest(this.dots, event); if (place >= 0) this.picked(this.dots[place]); } });
    canvas.addEventListener("keydown", (event) => this.onKey(event));
  }

  onKey(event) {
    const items = this.dragged ? this.grips : this.dots;
    if (!items.length) return;
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key], up = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    const moved = step && this.dragged && event.ctrlKey ? items[this.focus] : null;
    if (moved) {
      if (!moved.between) return;
      const { left, right } = this.frame();
      moved.x = within(moved.x + step * (right - left) * (event.shiftKey ? 0.05 : 0.01), moved.between);
      this.dragged(moved, moved.y, true);
    } else if (step) this.focus = (this.focus + step + items.length) % items.length;
    else if (up && this.dragged && this.focus >= 0) {
      const { bottom, top } = this.frame(), grip = items[this.focus];
      grip.y += up * (top - bottom) * (event.shiftKey ? 0.1 : 0.02);
      this.dragged(grip, grip.y, true);
    } else if (event.key === "Enter" && this.picked && this.focus >= 0) this.picked(items[this.focus]);
    else return;
    if (!this.dragged) this.dots.forEach((dot, place) => { dot.chosen = place === this.focus; });
    event.preventDefault();
    this.draw();
  }
}

/** A place between two others, a little away from both. */
function within(x, [low, high]) { const least = 0.005 * (high - low); return Math.min(high - least, Math.max(low + least, x)); }

export function logTicks(left, right) {
  const ticks = [];
  for (let power = Math.floor(Math.log10(left)); power <= Math.log10(right) + 1e-9; power++) {
    for (const factor of [1, 2, 5]) { const value = factor * 10 ** power; if (value >= left * 0.999 && value <= right * 1.001) ticks.push({ value, text: brief(value, 2) }); }
  }
  return ticks;
}

/** The points of an ellipse of a covariance [[a, b], [b, c]] around a middle, at this many standard deviations. */
export function ellipseCurve([mx, my], [[a, b], [, c]], size = 2) {
  const mean = (a + c) / 2, half = Math.hypot((a - c) / 2, b), turn = Math.atan2(2 * b, a - c) / 2;
  const r1 = size * Math.sqrt(Math.max(0, mean + half)), r2 = size * Math.sqrt(Math.max(0, mean - half));
  const x = [], y = [];
  for (let k = 0; k <= 72; k++) {
    const angle = 2 * Math.PI * k / 72, u = r1 * Math.cos(angle), v = r2 * Math.sin(angle);
    x.push(mx + u * Math.cos(turn) - v * Math.sin(turn));
    y.push(my + u * Math.sin(turn) + v * Math.cos(turn));
  }
  return { x, y, closed: true };
}

/** x values of an envelope's columns. */
export function columnTimes(count, [low, high]) { return Array.from({ length: count }, (_, k) => low + (high - low) * (k + 0.5) / count); }
