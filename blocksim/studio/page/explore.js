// The bench in a notebook: the same scopes, sliders and estimates, over the kernel's line instead of a WebSocket.
import { Bench } from "./bench.js";
import { watchBusy } from "./busy.js";
import { make } from "./dom.js";
import { valueOf } from "./elements.js";
import { Store } from "./store.js";
import { Wire } from "./wire.js";

/** Whether the notebook around is dark: JupyterLab and marimo each say so in their own way. */
function isDarkNotebook() {
  const body = document.body, root = document.documentElement;
  return body.dataset.jpThemeLight === "false" || body.classList.contains("dark") || body.classList.contains("dark-theme") || root.classList.contains("dark") || root.dataset.theme === "dark" || body.dataset.theme === "dark";
}

const SILENT_S = 4;  // after that a reader asks whether anybody is there

function renderExplorer({ model, el }) {
  const root = document.createElement("div");
  root.className = "blocksim-explore";
  root.dataset.theme = isDarkNotebook() ? "dark" : "light";
  root.dataset.testid = "explore";
  const inner = document.createElement("div");
  inner.className = "pane bench explore";
  const late = make("p", { class: "late-answer", role: "status", hidden: true, testid: "explore-busy" });
  root.append(late, inner);
  el.append(root);
  const wire = new Wire((text) => { try { model.send(JSON.parse(text)); } catch { /* no kernel: what waits for it is said below */ } });
  const watch = watchBusy(wire, (words, seconds) => {
    late.hidden = !words;
    late.textContent = seconds < SILENT_S ? words : `${words}: Python does not answer. The kernel is busy with another cell, or it has ended; then run this cell again.`;
  });
  const hear = (header, buffers) => {
    if (!header || !header.kind) return;
    const arrays = {};
    header.arrays.forEach(([name, count], place) => {
      const view = buffers[place], bytes = view.buffer ? view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength) : view;
      arrays[name] = new Float32Array(bytes, 0, count);
    });
    wire.receive(header, arrays);
  };
  model.on("msg:custom", hear);
  const start = model.get("start"), store = new Store({ changes: {} });
  const app = { store, ask: (...all) => wire.ask(...all), latest: (...all) => wire.latest(...all), onPush: (...all) => wire.onPush(...all), say() {} };
  const bench = new Bench(inner, app, { only: true, pins: start.pins, chunk: 4 });
  const fields = Object.fromEntries(start.pins.map((field) => [field.path, field]));
  store.on("changes", (changes) => {
    const values = Object.fromEntries(start.pins.map((field) => [field.path, valueOf(field, changes)]));
    if (JSON.stringify(values) === JSON.stringify(model.get("values"))) return;
    model.set("values", values);
    model.save_changes();
  });
  const follow = () => {
    for (const [path, value] of Object.entries(model.get("values"))) {
      if (fields[path] && value !== valueOf(fields[path], store.get("changes"))) bench.change(fields[path], value, true);
    }
  };
  model.on("change:values", follow);
  store.set("theme", root.dataset.theme);
  store.set("diagram", { ...start.diagram });
  follow();
  return () => { clearInterval(watch); model.off("msg:custom", hear); model.off("change:values", follow); };
}

export default { render: renderExplorer };
