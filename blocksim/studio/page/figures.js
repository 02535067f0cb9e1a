// How robots look: a link that turns, a slide, masses on a shaft with spring and gap, a chain of links in space.
import { brief, pageColour } from "./dom.js";

/** Draw one robot; `scene` has its numbers of now, those of the whole run, the size of the canvas, and how it is looked at. */
export function drawRobot(pen, scene) {
  pen.lineCap = pen.lineJoin = "round";
  scene.ink = pageColour(scene.root, "--ink");
  scene.muted = pageColour(scene.root, "--muted");
  scene.line = pageColour(scene.root, "--line");
  scene.accent = pageColour(scene.root, "--accent");
  scene.warm = pageColour(scene.root, "--defect");
  scene.paper = pageColour(scene.root, "--paper");
  pen.font = "13px " + getComputedStyle(scene.root).fontFamily;
  ({ link: drawLink, slide: drawSlide, masses: drawMasses, chain: drawChain })[scene.robot.kind]?.(pen, scene);
}

/** A link on a fixed axis, with the way it came in the last second. */
function drawLink(pen, { robot, numbers, all, times, t, width, height, ink, muted, line, accent, paper }) {
  const scale = robot.scale ?? 1, offset = robot.offset ?? 0, angle = numbers[0] * scale + offset;
  const x = width / 2, y = height / 2, reach = 0.38 * Math.min(width, height), thick = Math.max(10, 0.09 * reach);
  pen.strokeStyle = line;
  pen.lineWidth = 1;
  pen.beginPath(); pen.arc(x, y, reach, 0, 2 * Math.PI); pen.stroke();
  pen.setLineDash([3, 4]);
  pen.beginPath(); pen.moveTo(x, y); pen.lineTo(x + reach * 1.08, y); pen.stroke();
  pen.setLineDash([]);
  pen.strokeStyle = accent;
  for (let k = 0, before = null; k < times.length; k++) {
    if (times[k] < t - 1 || times[k] > t) { before = null; continue; }
    const a = all[k] * scale + offset, point = [x + reach * Math.cos(a), y - reach * Math.sin(a)];
    if (before) { pen.globalAlpha = 0.55 * (1 - (t - times[k])); pen.lineWidth = 4; pen.beginPath(); pen.moveTo(...before); pen.lineTo(...point); pen.stroke(); }
    before = point;
  }
  pen.globalAlpha = 1;
  pen.strokeStyle = accent;
  pen.lineWidth = thick;
  pen.beginPath(); pen.moveTo(x, y); pen.lineTo(x + reach * Math.cos(angle), y - reach * Math.sin(angle)); pen.stroke();
  joint(pen, x, y, 0.75 * thick, ink, paper);
  pen.fillStyle = muted;
  pen.textAlign = "left"; pen.textBaseline = "top";
  pen.fillText(`${brief(angle * 180 / Math.PI, 4)}°`, 8, 8);
}

/** A carriage on a rail, scaled to the way of the whole run. */
function drawSlide(pen, { numbers, all, count, width, height, ink, muted, line, accent, paper }) {
  let low = Infinity, high = -Infinity;
  for (let k = 0; k < count; k++) { low = Math.min(low, all[k]); high = Math.max(high, all[k]); }
  const span = high - low || 1, edge = 70, y = height / 2, x = (v) => edge + (width - 2 * edge) * (v - low) / span;
  pen.strokeStyle = line;
  pen.lineWidth = 6;
  pen.beginPath(); pen.moveTo(edge - 40, y + 26); pen.lineTo(width - edge + 40, y + 26); pen.stroke();
  pen.fillStyle = accent;
  pen.beginPath(); pen.roundRect(x(numbers[0]) - 32, y - 26, 64, 46, 8); pen.fill();
  joint(pen, x(numbers[0]) - 18, y + 20, 6, ink, paper);
  joint(pen, x(numbers[0]) + 18, y + 20, 6, ink, paper);
  pen.fillStyle = muted;
  pen.textAlign = "center"; pen.textBaseline = "top";
  pen.fillText(`${brief(low, 3)} m`, x(low), y + 40);
  pen.fillText(`${brief(high, 3)} m`, x(high), y + 40);
  pen.textBaseline = "bottom";
  pen.fillText(`${brief(numbers[0], 4)} m`, x(numbers[0]), y - 34);
}

/** Discs on a shaft; the spring between two is wound by its torque, and the jaws of a gap open and close. */
function drawMasses(pen, scene) {
  const { robot, numbers, all, count, width, height, ink, muted, accent, warm, paper } = scene;
  const discs = robot.names.length, springs = discs - 1, slot = width / discs, radius = Math.min(0.3 * slot, 0.3 * height), y = 0.42 * height;
  const most = (place) => { let size = 1e-12; for (let k = 0; k < count; k++) size = Math.max(size, Math.abs(all[place * count + k])); return size; };
  for (let n = 0; n < springs; n++) {
    const a = slot * (n + 0.5) + radius, b = slot * (n + 1.5) - radius, torque = numbers[discs + n] / most(discs + n);
    drawSpring(pen, a, b, y, torque, Math.abs(torque) < 1e-6 ? muted : torque > 0 ? accent : warm, Math.min(18, 0.25 * radius + 6));
    pen.fillStyle = muted;
    pen.textAlign = "center"; pen.textBaseline = "bottom";
    pen.fillText(`${brief(numbers[discs + n], 3)} N m`, (a + b) / 2, y - 26);
  }
  for (let n = 0; n < discs; n++) {
    const x = slot * (n + 0.5), angle = numbers[n] * robot.scales[n];
    pen.fillStyle = paper;
    pen.strokeStyle = ink;
    pen.lineWidth = 2;
    pen.beginPath(); pen.arc(x, y, radius, 0, 2 * Math.PI); pen.fill(); pen.stroke();
    pen.strokeStyle = accent;
    pen.lineWidth = 6;
    pen.beginPath(); pen.moveTo(x, y); pen.lineTo(x + 0.8 * radius * Math.cos(angle), y - 0.8 * radius * Math.sin(angle)); pen.stroke();
    joint(pen, x, y, 6, ink, paper);
    pen.fillStyle = muted;
    pen.textAlign = "center"; pen.textBaseline = "top";
    const geared = robot.scales[n] === 1 ? "" : ", after the gear";
    pen.fillText(`${robot.names[n]}${geared}  ${brief(angle * 180 / Math.PI, 4).replace("-", "−")}°`, x, y + radius + 10);
  }
  drawGap(pen, scene, numbers[numbers.length - 1], most(numbers.length - 1));
}

/** A spring from a to b whose coils stand close when it is pushed together. */
function drawSpring(pen, a, b, y, torque, colour, size) {
  const coils = 9, squeeze = 1 - 0.35 * torque, middle = (a + b) / 2, half = (b - a) / 2 * Math.min(1, Math.max(0.35, 0.72 * squeeze));
  pen.strokeStyle = colour;
  pen.lineWidth = 1.5 + 3 * Math.abs(torque);
  pen.beginPath();
  pen.moveTo(a, y); pen.lineTo(middle - half, y);
  for (let k = 0; k <= 2 * coils; k++) pen.lineTo(middle - half + (2 * half) * (k + 0.5) / (2 * coils + 1), y + (k % 2 ? size : -size));
  pen.lineTo(middle + half, y); pen.lineTo(b, y);
  pen.stroke();
}

/** The gap on a scale of the torsion: between the jaws nothing is driven; beyond one the spring is wound by what is beyond it. */
function drawGap(pen, { robot, width, height, ink, muted, accent, warm, line, paper }, torsion, most) {
  const gap = robot.gap || 0, y = 0.84 * height, x = width / 2, span = Math.max(1.15 * most, 0.75 * gap) || 1, half = 0.36 * width;
  const place = (angle) => x + half * Math.max(-1, Math.min(1, angle / span)), at = place(torsion);
  const open = gap > 0 && Math.abs(torsion) < gap / 2, jaw = gap > 0 ? Math.sign(torsion) * gap / 2 : 0;
  pen.fillStyle = line;
  if (gap > 0) pen.fillRect(place(-gap / 2), y - 16, place(gap / 2) - place(-gap / 2), 32);
  pen.strokeStyle = line;
  pen.lineWidth = 1;
  pen.beginPath(); pen.moveTo(x - half, y); pen.lineTo(x + half, y); pen.stroke();
  pen.strokeStyle = ink;
  pen.lineWidth = gap > 0 ? 4 : 1.5;
  for (const side of gap > 0 ? [-1, 1] : [0]) { pen.beginPath(); pen.moveTo(place(side * gap / 2), y - 16); pen.lineTo(place(side * gap / 2), y + 16); pen.stroke(); }
  pen.strokeStyle = pen.fillStyle = torsion > 0 ? accent : warm;
  pen.lineWidth = 5;
  if (!open) { pen.beginPath(); pen.moveTo(place(jaw), y); pen.lineTo(at, y); pen.stroke(); }
  if (open) { pen.fillStyle = paper; pen.strokeStyle = ink; pen.lineWidth = 2; }
  pen.beginPath(); pen.arc(at, y, 8, 0, 2 * Math.PI); pen.fill(); if (open) pen.stroke();
  pen.fillStyle = muted;
  pen.textAlign = "center"; pen.textBaseline = "top";
  const words = !(gap > 0) ? "" : open ? ": in the gap, nothing is driven" : `: gap of ${brief(1000 * gap, 3)} mrad closed, spring wound by ${brief(1000 * (torsion - jaw), 3)} mrad`;
  pen.fillText(`torsion ${brief(torsion * 1000, 3)} mrad${words}`.replaceAll("-", "−"), x, y + 26, width - 16);
}

/** A chain of links in space, looked at from a side that can be turned. */
function drawChain(pen, { robot, numbers, all, count, width, height, view, ink, line, accent, muted, paper }) {
  const joints = robot.joints, flat = !hasHeight(all, count, joints);
  const look = flat ? { turn: 0, tilt: Math.PI / 2 } : view;
  const reach = reachOfChain(all, count, joints), size = 0.42 * Math.min(width, height) / reach.size;
  const project = (px, py, pz) => {
    const [ct, st, cp, sp] = [Math.cos(look.turn), Math.sin(look.turn), Math.cos(look.tilt), Math.sin(look.tilt)];
    const [ax, ay, az] = [px - reach.centre[0], py - reach.centre[1], pz - reach.centre[2]];
    const u = ct * ax + st * ay, v = -st * ax + ct * ay;
    return [width / 2 + size * u, height / 2 - size * (sp * v + cp * az)];
  };
  floorGrid(pen, reach, project, line);
  const points = [], shadow = [];
  for (let k = 0; k < joints; k++) {
    points.push(project(numbers[3 * k], numbers[3 * k + 1], numbers[3 * k + 2]));
    shadow.push(project(numbers[3 * k], numbers[3 * k + 1], reach.floor));
  }
  if (!flat) { pen.strokeStyle = line; pen.lineWidth = 6; polyline(pen, shadow); }
  pen.strokeStyle = accent;
  pen.lineWidth = 11;
  polyline(pen, points);
  points.slice(0, -1).forEach(([px, py]) => joint(pen, px, py, 7, ink, paper));
  pen.fillStyle = muted;
  pen.textAlign = "left"; pen.textBaseline = "top";
  if (!flat) pen.fillText("drag, or arrow keys, to turn", 8, 8);
}

function polyline(pen, points) { pen.beginPath(); points.forEach((point, k) => (k ? pen.lineTo(...point) : pen.moveTo(...point))); pen.stroke(); }

function joint(pen, x, y, radius, ink, paper) {
  pen.fillStyle = paper;
  pen.strokeStyle = ink;
  pen.lineWidth = 2;
  pen.beginPath(); pen.arc(x, y, radius, 0, 2 * Math.PI); pen.fill(); pen.stroke();
}

function hasHeight(all, count, joints) {
  for (let k = 2; k < 3 * count * joints; k += 3) if (Math.abs(all[k]) > 1e-9) return true;
  return false;
}

/** Where a chain goes in the whole run: the middle, the half size and the floor. */
function reachOfChain(all, count, joints) {
  const low = [0, 0, 0], high = [0, 0, 0];
  for (let k = 0; k < 3 * count * joints; k++) { low[k % 3] = Math.min(low[k % 3], all[k]); high[k % 3] = Math.max(high[k % 3], all[k]); }
  const centre = low.map((value, k) => (value + high[k]) / 2);
  return { centre, size: Math.max(...low.map((value, k) => high[k] - value), 1e-6) / 2 * 1.25, floor: Math.min(0, low[2]) };
}

function floorGrid(pen, { centre, size, floor }, project, line) {
  pen.strokeStyle = line;
  pen.lineWidth = 1;
  for (let k = -4; k <= 4; k++) {
    const s = size * k / 4;
    polyline(pen, [project(centre[0] + s, centre[1] - size, floor), project(centre[0] + s, centre[1] + size, floor)]);
    polyline(pen, [project(centre[0] - size, centre[1] + s, floor), project(centre[0] + size, centre[1] + s, floor)]);
  }
}
