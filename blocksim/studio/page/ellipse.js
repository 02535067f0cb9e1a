// Two parameters against each other: the ellipse each method claims, the cloud of other seeds, the truth where the lines cross.
import { axisTicks, eachFrame, make, pageColour, plotFont } from "./dom.js";

const REACH_95 = Math.sqrt(5.991464547107979);  // of two normal numbers 95 % lie within
const EDGE = { left: 46, right: 10, top: 10, bottom: 34 };

export class EllipsePlot {
  constructor(root) {
    this.root = root;
    this.methods = [];
    this.estimates = {};
    this.clouds = {};
    this.names = "";
    this.draw = eachFrame(() => this.paint());
    const choice = (label, testid) => make("select", { "aria-label": label, testid, onchange: () => { this.reach = null; this.draw(); } });
    this.across = choice("parameter across", "pair-x");
    this.up = choice("parameter up", "pair-y");
    this.canvas = make("canvas", { role: "img", "aria-label": "claimed ellipse and cloud of seeds", testid: "ellipse" });
    this.words = make("p", { class: "honesty", testid: "cloud-words" });
    root.append(make("div", { class: "pair-head" }, make("h2", { text: "Pair" }), this.across, make("span", { text: "and" }), this.up), this.canvas, this.words);
    new ResizeObserver(() => this.draw()).observe(this.canvas);
  }

  set(methods, estimates) {
    this.methods = methods;
    this.estimates = estimates;
    const names = [...new Set(methods.flatMap((method) => (estimates[method.name]?.rows || []).filter(hasTruth).map((row) => row.name)))];
    if (names.join() !== this.names) {
      this.names = names.join();
      [this.across, this.up].forEach((select, place) => {
        select.replaceChildren(...names.map((name) => make("option", { value: name, text: name })));
        select.value = names[Math.min(place, names.length - 1)] || "";
      });
      this.reach = null;
    }
    this.root.hidden = names.length < 2;
    this.draw();
  }

  setCloud(clouds) { this.clouds = clouds; this.tell(); this.draw(); }

  clearCloud() { this.clouds = {}; this.words.textContent = ""; this.draw(); }

  /** Seen spread over claimed, in words: what the cloud is for. */
  tell() {
    const pair = [this.across.value, this.up.value];
    this.words.replaceChildren(...this.methods.flatMap((method) => {
      const cloud = this.clouds[method.name], result = this.estimates[method.name];
      if (!cloud || !result || cloud.count < 3) return [];
      const parts = pair.map((name) => {
        const place = cloud.names.indexOf(name), row = result.rows[place];
        if (!row || !row.std) return null;
        return { name, share: spreadOf(cloud, place) / row.std };
      }).filter(Boolean);
      const swatch = make("i", { class: "swatch" });
      swatch.style.background = method.colour;
      const same = parts.length && parts.every(({ share }) => share < 1e-4);
      const words = same ? `${cloud.count} other seeds change nothing: no noise is drawn in this diagram` : `spread of ${cloud.count} seeds ${parts.map(({ name, share }) => `${name} ${share.toFixed(2)} ×`).join(", ")} the claimed`;
      return [make("span", { class: "line" }, swatch, `${method.name}: ${words}`)];
    }));
  }

  /** A method's centre, half axes and cloud in per cent of the truth. */
  shapeOf(method, pair) {
    const result = this.estimates[method.name];
    if (!result) return null;
    const places = pair.map((name) => result.rows.findIndex((row) => row.name === name));
    if (places.includes(-1)) return null;
    const rows = places.map((place) => result.rows[place]);
    if (!rows.every((row) => hasTruth(row) && typeof row.value === "number")) return null;
    const scale = rows.map((row) => 100 / Math.abs(row.truth)), truth = rows.map((row) => row.truth);
    const centre = rows.map((row, k) => (row.value - truth[k]) * scale[k]);
    let matrix = null;
    if (result.covariance) {
      const entry = (i, j) => result.covariance[places[i]][places[j]] * scale[i] * scale[j];
      matrix = [entry(0, 0), entry(0, 1), entry(1, 1)];
    } else if (rows.every((row) => row.std)) matrix = [(rows[0].std * scale[0]) ** 2, 0, (rows[1].std * scale[1]) ** 2];
    const cloud = this.clouds[method.name], points = [];
    if (cloud) {
      const own = pair.map((name) => cloud.names.indexOf(name)), wide = cloud.names.length;
      for (let k = 0; k < cloud.count; k++) points.push(own.map((place, axis) => (cloud.values[k * wide + place] - truth[axis]) * scale[axis]));
    }
    return { method, centre, matrix: matrix && matrix.every(Number.isFinite) ? matrix : null, points };
  }

  paint() {
    const canvas = this.canvas, ratio = devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
    if (!width || !height) return;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    const pen = canvas.getContext("2d"), pair = [this.across.value, this.up.value];
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    const shapes = this.methods.map((method) => this.shapeOf(method, pair)).filter(Boolean);
    if (!shapes.length) return;
    const reach = this.reachOf(shapes);
    const x = (v) => EDGE.left + (width - EDGE.left - EDGE.right) * (v + reach[0]) / (2 * reach[0]);
    const y = (v) => height - EDGE.bottom - (height - EDGE.top - EDGE.bottom) * (v + reach[1]) / (2 * reach[1]);
    this.paintFrame(pen, { width, height, x, y, reach, pair });
    pen.save();
    pen.beginPath();
    pen.rect(EDGE.left, EDGE.top, width - EDGE.left - EDGE.right, height - EDGE.top - EDGE.bottom);
    pen.clip();
    for (const shape of shapes) {
      pen.fillStyle = shape.method.colour;
      pen.globalAlpha = 0.5;
      for (const [a, b] of shape.points) { pen.beginPath(); pen.arc(x(a), y(b), 2.6, 0, 2 * Math.PI); pen.fill(); }
      pen.globalAlpha = 1;
      pen.strokeStyle = shape.method.colour;
      pen.lineWidth = 2;
      if (shape.matrix) { ellipsePath(pen, shape, x, y); pen.stroke(); }
      pen.beginPath();
      pen.arc(x(shape.centre[0]), y(shape.centre[1]), 3.6, 0, 2 * Math.PI);
      pen.fill();
    }
    pen.restore();
  }

  /** How far the axes reach; it shrinks by itself only when something else is looked at, so that a drag stays calm. */
  reachOf(shapes) {
    const reach = [0, 1].map((axis) => {
      let most = 0;
      for (const { centre, matrix, points } of shapes) {
        most = Math.max(most, Math.abs(centre[axis]) + (matrix ? REACH_95 * Math.sqrt(matrix[axis ? 2 : 0]) : 0));
        for (const point of points) most = Math.max(most, Math.abs(point[axis]));
      }
      return 1.12 * most || 1;
    });
    this.reach = this.reach ? reach.map((most, axis) => most > this.reach[axis] ? most : most < 0.4 * this.reach[axis] ? 1.6 * most : this.reach[axis]) : reach;
    return this.reach;
  }

  paintFrame(pen, { width, height, x, y, reach, pair }) {
    pen.clearRect(0, 0, width, height);
    pen.font = plotFont(this.root);
    pen.lineWidth = 1;
    pen.strokeStyle = pageColour(this.root, "--grid");
    pen.fillStyle = pageColour(this.root, "--muted");
    const bottom = height - EDGE.bottom;
    pen.textAlign = "center"; pen.textBaseline = "top";
    for (const tick of axisTicks(-reach[0], reach[0], (width - EDGE.left) / 70)) {
      const at = Math.round(x(tick.value)) + 0.5;
      pen.beginPath(); pen.moveTo(at, EDGE.top); pen.lineTo(at, bottom); pen.stroke();
      if (at < width - 14) pen.fillText(tick.text.replace("-", "−"), at, bottom + 5);
    }
    pen.textAlign = "right"; pen.textBaseline = "middle";
    for (const tick of axisTicks(-reach[1], reach[1], (height - EDGE.bottom) / 40)) {
      const at = Math.round(y(tick.value)) + 0.5;
      pen.beginPath(); pen.moveTo(EDGE.left, at); pen.lineTo(width - EDGE.right, at); pen.stroke();
      pen.fillText(tick.text.replace("-", "−"), EDGE.left - 6, at);
    }
    pen.textAlign = "right"; pen.textBaseline = "bottom";
    pen.fillText(`error of ${pair[0]} [%]`, width - EDGE.right, height - 1);
    pen.save();
    pen.translate(11, EDGE.top);
    pen.rotate(-Math.PI / 2);
    pen.textBaseline = "middle";
    pen.fillText(`error of ${pair[1]} [%]`, 0, 0);
    pen.restore();
    pen.strokeStyle = pageColour(this.root, "--muted");
    pen.setLineDash([3, 3]);
    pen.beginPath();
    pen.moveTo(Math.round(x(0)) + 0.5, EDGE.top); pen.lineTo(Math.round(x(0)) + 0.5, bottom);
    pen.moveTo(EDGE.left, Math.round(y(0)) + 0.5); pen.lineTo(width - EDGE.right, Math.round(y(0)) + 0.5);
    pen.stroke();
    pen.setLineDash([]);
  }
}

/** Standard deviation of one parameter over the seeds of a cloud. */
function spreadOf(cloud, place) {
  const wide = cloud.names.length, values = Array.from({ length: cloud.count }, (_, k) => cloud.values[k * wide + place]);
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  return Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1));
}

function hasTruth(row) { return typeof row.truth === "number" && row.truth !== 0; }

/** The curve (p - centre)' M^-1 (p - centre) = 5.99, from the Cholesky factor of M. */
function ellipsePath(pen, { centre, matrix: [a, b, c] }, x, y) {
  const l11 = Math.sqrt(a), l21 = l11 ? b / l11 : 0, l22 = Math.sqrt(Math.max(0, c - l21 * l21));
  pen.beginPath();
  for (let k = 0; k <= 72; k++) {
    const angle = k / 36 * Math.PI, u = REACH_95 * Math.cos(angle), v = REACH_95 * Math.sin(angle);
    const px = x(centre[0] + l11 * u), py = y(centre[1] + l21 * u + l22 * v);
    if (k) pen.lineTo(px, py); else pen.moveTo(px, py);
  }
  pen.closePath();
}
