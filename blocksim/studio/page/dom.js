// Small words for the document: make an element, format a number, call at most once a frame.

/** An element: make("button", {class: "quiet", onclick: f, text: "Go"}, children...). */
export function make(tag, options = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(options)) {
    if (value === null || value === undefined || (value === false && !name.startsWith("aria-"))) continue;
    if (name.startsWith("aria-")) element.setAttribute(name, value);
    else if (name === "text") element.textContent = value;
    else if (name === "html") element.innerHTML = value;
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name in element && !name.includes("-") && typeof value !== "string") element[name] = value;
    else element.setAttribute(name === "testid" ? "data-testid" : name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** A number in few digits, as a person writes it: 0.0031416, 1.2e-7, 20. */
export function brief(value, digits = 4) {
  if (value === null || value === undefined) return "";
  if (typeof value !== "number") return String(value);
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-4) return value.toExponential(digits - 1).replace(/\.?0+e/, "e").replace("e+", "e");
  return String(Number(value.toPrecision(digits)));
}

/** Steps of 1, 2 or 5 times a power of ten for an axis with about this many ticks, and never fewer than two: one tick is no scale. */
export function axisTicks(low, high, count) {
  const span = high - low;
  if (!(span > 0) || !isFinite(span)) return [];
  const rough = span / Math.max(1, count), power = 10 ** Math.floor(Math.log10(rough)), factors = [0.1, 0.2, 0.5, 1, 2, 5, 10];
  const ticksOf = (factor) => Math.floor(high / (factor * power) + 1e-9) - Math.ceil(low / (factor * power) - 1e-9) + 1;
  let place = factors.findIndex((factor) => factor >= 1 && factor * power >= rough);
  while (place > 0 && ticksOf(factors[place]) < 2) place--;
  const step = power * factors[place];
  const places = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const digits = Math.max(4, Math.ceil(Math.log10(Math.max(Math.abs(low), Math.abs(high)) / step)) + 1);  // two neighbours are told apart
  const ticks = [];
  for (let n = Math.ceil(low / step - 1e-9); n * step <= high + 1e-9 * span; n++) {
    const value = n * step;
    ticks.push({ value, text: places > 5 || Math.abs(high) >= 1e6 ? brief(value, digits) : value.toFixed(places) });
  }
  return ticks;
}

/** A function that runs once in the next frame, however often it is called before. */
export function eachFrame(action) {
  let waiting = false;
  return () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; action(); });
  };
}

/** Whether an element has the keyboard, in a shadow of the page too, as marimo keeps its cells. */
export function hasFocus(element) { return element.getRootNode().activeElement === element; }

/** The letters of a plot: they grow with the page's, as on a projector. */
export function plotFont(element) {
  const size = parseFloat(getComputedStyle(document.documentElement).fontSize) || 14;
  return `${Math.max(11, 0.78 * size).toFixed(1)}px ${getComputedStyle(element).fontFamily}`;
}

/** A colour of the page by the name of its variable. */
export function pageColour(element, name) {
  return getComputedStyle(element).getPropertyValue(name).trim();
}

/** A file from Python into the downloads. */
export function handOver({ name, mime, content }) {
  const bytes = Uint8Array.from(atob(content), (letter) => letter.charCodeAt(0));
  const link = make("a", { href: URL.createObjectURL(new Blob([bytes], { type: mime })), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
