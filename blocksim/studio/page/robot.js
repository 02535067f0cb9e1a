// The robot in motion, in step with the scopes: play, slow motion, scrub. Poses come from Python; here they are drawn.
import { brief, eachFrame, make } from "./dom.js";
import { COLOURS, benchPane } from "./bench.js";
import { Scopes } from "./scopes.js";
import { drawRobot } from "./figures.js";

const STILL = "Nothing in this diagram is seen to move: no block of it is a robot. Time goes through the scopes all the same.";
const SPEEDS = [0.05, 0.1, 0.25, 0.5, 1, 2, 5];

class RobotView {
  constructor(root, app) {
    Object.assign(this, { root, app, motion: null, t: 0, playing: false, pose: null, view: { turn: -0.7, tilt: 0.5 } });
    this.draw = eachFrame(() => this.paint());
    this.build();
    this.scopes = new Scopes(this.plots, { colours: COLOURS, wanted: () => this.curves(), cursor: (t) => { if (!this.playing) this.seek(t, true); } });
    app.store.on("diagram", ({ again }) => {
      if (!again) { this.motion = null; this.t = 0; this.scopes.clear(); }
      if (!benchPane.bench) app.store.set("run", 0);  // nobody else runs it
    });
    app.store.on("run", () => { this.stale = true; if (!root.hidden) this.load(); });
    app.store.on("theme", () => { this.scopes.draw(); this.draw(); });
    new ResizeObserver(() => this.draw()).observe(this.canvas);
  }

  build() {
    this.canvas = make("canvas", { role: "img", "aria-label": "the robot", testid: "robot-canvas", tabindex: "0" });
    this.which = make("select", { "aria-label": "which robot", testid: "robot-which", onchange: () => { this.trail = null; this.draw(); } });
    this.playButton = make("button", { type: "button", class: "primary", testid: "robot-play", text: "Play", onclick: () => this.toggle() });
    this.speed = make("select", { "aria-label": "speed", testid: "robot-speed" }, ...SPEEDS.map((speed) => make("option", { value: String(speed), text: `${speed} ×`, selected: speed === 1 })));
    this.scrub = make("input", { type: "range", min: "0", max: "10000", value: "0", step: "1", "aria-label": "time", testid: "robot-scrub", oninput: () => this.seek(this.fromScrub()) });
    this.clock = make("output", { class: "clock", testid: "robot-time" });
    this.readings = make("table", { class: "readings", testid: "robot-readings" });
    this.said = make("p", { class: "said", hidden: true });
    this.note = make("p", { class: "hint" });
    this.plots = make("div");
    this.root.append(
      make("section", { class: "part stage", "aria-label": "Robot" }, this.said, make("div", { class: "bar" }, this.which, this.note), this.canvas,
        make("div", { class: "transport" }, this.playButton, this.speed, this.scrub, this.clock)),
      make("section", { class: "part side", "aria-label": "Scopes and readings" }, this.plots, this.readings));
    this.root.addEventListener("keydown", (event) => {
      if (event.key === " " && !/INPUT|SELECT|BUTTON/.test(event.target.tagName)) { event.preventDefault(); this.toggle(); }
    });
    document.addEventListener("keydown", (event) => {
      if (event.key === " " && !this.root.hidden && event.target === document.body) { event.preventDefault(); this.toggle(); }
    });
    let from = null;
    this.canvas.addEventListener("pointerdown", (event) => { from = [event.clientX, event.clientY]; this.canvas.setPointerCapture(event.pointerId); });
    this.canvas.addEventListener("pointerup", () => { from = null; });
    this.canvas.addEventListener("pointermove", (event) => {
      if (!from) return;
      this.view.turn -= 0.008 * (event.clientX - from[0]);
      this.view.tilt = Math.min(1.57, Math.max(-0.3, this.view.tilt + 0.008 * (event.clientY - from[1])));
      from = [event.clientX, event.clientY];
      this.draw();
    });
    this.canvas.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, 0.1], ArrowDown: [0, -0.1] }[event.key];
      if (!step) return;
      event.preventDefault();
      this.view.turn += step[0];
      this.view.tilt = Math.min(1.57, Math.max(-0.3, this.view.tilt + step[1]));
      this.draw();
    });
  }

  async load() {
    this.stale = false;
    if (!this.app.store.get("diagram")) return;
    if (!this.app.store.get("diagram").runnable) { this.note.textContent = ""; this.say("This file does not run, so nothing moves; the Edit pane says why."); return; }
    this.note.textContent = "The run is on its way …";
    if (benchPane.bench && !this.app.store.get("run")) return;  // the bench has begun it, and will say so
    try {
      if (!this.app.store.get("run")) await this.app.ask("bench.run", { changes: this.app.store.get("changes") });
      const answer = await this.app.ask("robot.motion");
      this.say("");
      this.note.textContent = answer.robots.length ? "" : STILL;
      this.motion = answer;
      const before = this.which.value;
      this.which.replaceChildren(...answer.robots.map((robot) => make("option", { value: robot.path, text: robot.path })));
      if (answer.robots.some((robot) => robot.path === before)) this.which.value = before;
      this.which.hidden = answer.robots.length < 2;
      this.trail = null;
      this.curves();
      this.seek(Math.min(Math.max(this.t, answer.span[0]), answer.span[1]));
    } catch (error) {
      if (error.message !== "stale") { this.note.textContent = ""; this.say(error.message); }
    }
  }

  say(text) { this.said.textContent = text; this.said.hidden = !text; }

  curves() {
    this.app.latest("robot.curves", () => ({ columns: this.scopes.columns(), window: this.scopes.window }), (answer) => { this.scopes.set({ ...answer, span: this.motion.span }); this.seek(this.t); }, () => {});
  }

  // ---- time

  fromScrub() { const [low, high] = this.motion?.span || [0, 1]; return low + (high - low) * Number(this.scrub.value) / 10000; }

  /** Show a time: the pose of the record at it, asked from Python while nothing plays. */
  seek(t, byScope = false) {
    this.t = t;
    const [low, high] = this.motion?.span || [0, 1];
    if (document.activeElement !== this.scrub || this.playing || byScope) this.scrub.value = Math.round(10000 * (t - low) / (high - low || 1));
    this.clock.textContent = `${t.toFixed(3)} s`;
    this.scopes.t = t;
    this.scopes.draw();
    this.pose = null;
    this.app.latest("robot.at", () => ({ t: this.t, show: this.scopes.series.map((one) => one.name) }), (answer) => this.read(answer), () => {});
    this.draw();
  }

  read(answer) {
    if (!this.playing && Math.abs(answer.t - this.t) < 1e-6) this.pose = answer;
    const rows = answer.readings.map((one) => make("tr", {}, make("th", { scope: "row", text: one.name }), make("td", { text: brief(one.value, 6), testid: `reading-${one.name}` }), make("td", { class: "unit", text: one.unit })));
    this.readings.replaceChildren(...rows);
    this.scopes.showValues(answer.values);
    this.draw();
  }

  toggle() {
    if (!this.motion) return;
    this.playing = !this.playing;
    this.playButton.textContent = this.playing ? "Pause" : "Play";
    if (!this.playing) { this.seek(this.t); return; }
    if (this.t >= this.motion.span[1] - 1e-9) this.t = this.motion.span[0];
    let last = performance.now();
    const step = (now) => {
      if (!this.playing) return;
      const t = this.t + Number(this.speed.value) * Math.max(0, now - last) / 1000;
      last = now;
      if (t >= this.motion.span[1]) { this.t = this.motion.span[1]; this.toggle(); return; }
      this.seek(t);
      requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  }

  // ---- paint

  /** The numbers of a robot at the time that is shown: exactly, or while it plays of the nearest instant before. */
  numbersOf(robot) {
    if (this.pose) return this.pose.arrays[robot.path];
    const all = this.motion.arrays[robot.path], times = this.motion.arrays.t, count = times.length;
    let place = Math.floor((this.t - times[0]) / (times[count - 1] - times[0] || 1) * (count - 1) + 1e-6);
    place = Math.min(count - 1, Math.max(0, place));
    if (robot.kind === "chain") return all.subarray(3 * robot.joints * place, 3 * robot.joints * (place + 1));
    return robot.signals.map((_, k) => all[k * count + place]);
  }

  paint() {
    const robot = this.motion?.robots.find((one) => one.path === this.which.value) || this.motion?.robots[0];
    const ratio = devicePixelRatio || 1, width = this.canvas.clientWidth, height = this.canvas.clientHeight;
    if (!width || !height) return;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    const pen = this.canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    if (!robot) return;
    this.note.textContent = robot.note || "";
    drawRobot(pen, { robot, numbers: this.numbersOf(robot), all: this.motion.arrays[robot.path], count: this.motion.count, width, height, root: this.root, view: this.view, t: this.t, times: this.motion.arrays.t });
  }
}

export const robotPane = {
  name: "robot", title: "Robot", key: "5", what: "Watch the plant move in step with the scopes.",
  mount(root, app) { robotPane.view = new RobotView(root, app); },
  show() { const view = robotPane.view; if (view.stale || !view.motion) view.load(); else view.draw(); },
  hide() { if (robotPane.view.playing) robotPane.view.toggle(); },
};
