// The frame: the line to Python, tabs, the file that is open, light or dark, and what is said when the line breaks.
import { make } from "./dom.js";
import { Store } from "./store.js";
import { connect } from "./wire.js";
import { panes } from "./panes.js";
import { watchBusy } from "./busy.js";
import { showFiles } from "./files.js";
import { showHelp } from "./help.js";
import { watchFile } from "./watch.js";

const byId = (name) => document.getElementById(name);
const store = new Store({ changes: {} });
let opened = false, lost = 0;

const wire = connect(new URL("socket", location.href.replace(/^http/, "ws")).href, (state) => {
  document.body.dataset.line = state;
  lost = state === "open" ? 0 : lost + 1;
  const long = "Connection lost. A studio that was started again has a new address: take it from the terminal. Unsaved text is kept as a draft.";
  say(state === "open" ? "" : lost > 4 ? long : "Connection lost. Is the studio still running? Trying again …", state !== "open");
  if (state === "open") openFile(store.get("diagram")?.name || new URLSearchParams(location.search).get("open") || "", opened);
});

/** What panes get: requests, shared values, and words for everybody. */
const app = {
  store,
  ask: (kind, data, each) => wire.ask(kind, data, each),
  latest: (kind, data, paint, fail) => wire.latest(kind, data, paint, fail),
  onPush: (kind, listener) => wire.onPush(kind, listener),
  openFile, say, showPane,
};
window.studio = { app, wire, store, bench: () => panes[0].bench, idle: () => !wire.pending.size && !panes[0].bench?.resting };  // for the console, and for tests

function say(text, alarm = false) {
  const status = byId("status");
  status.textContent = status.title = text;  // a long one, as a list of all names, is read whole by resting on it
  status.classList.toggle("alarm", alarm);
}

/** Open a file; after a broken line the same one again, with the sliders where they were. */
async function openFile(name, again = false) {
  try {
    const diagram = await app.ask("open", { name });
    opened = true;
    if (!again) { store.set("changes", {}); store.set("run", 0); }
    store.set("problems", diagram.problems);
    store.set("diagram", { ...diagram, again });
    if (diagram.welcome) showFiles(byId("files"), app, openFile, true);
    const { drafts } = await app.ask("edit.drafts");
    if (drafts.length && current?.name !== "edit" && !again) say(`A draft of ${drafts[0].when} was not saved; the Edit pane has it.`);
  } catch (error) {
    say(error.message, true);
    if (!opened && name) openFile("");  // the page was read again, and its file is gone
  }
}

/** The name of the file where it is seen, and in the address: a page that is read again has the same file. */
store.on("diagram", ({ name, path, title }) => {
  byId("file-name").textContent = name;
  byId("file-button").title = path;
  document.title = `${title} · blocksim studio`;
  history.replaceState(null, "", `?open=${encodeURIComponent(name)}${location.hash}`);
});

const roots = new Map();
let current = null;

function showPane(name) {
  const pane = panes.find((one) => one.name === name) || panes[0];
  if (current === pane) return;
  if (current) { roots.get(current.name).hidden = true; current.hide?.(); }
  current = pane;
  if (!roots.has(pane.name)) {
    const root = make("section", { class: `pane ${pane.name}`, id: `pane-${pane.name}`, role: "tabpanel", testid: `pane-${pane.name}`, "aria-label": pane.title });
    byId("panes").append(root);
    roots.set(pane.name, root);
    pane.mount(root, app);
  }
  roots.get(pane.name).hidden = false;
  pane.show?.();
  for (const tab of byId("tabs").children) {
    const chosen = tab.dataset.pane === pane.name;
    tab.setAttribute("aria-selected", chosen);
    tab.tabIndex = chosen ? 0 : -1;
  }
  history.replaceState(null, "", `#${pane.name}`);
}

for (const pane of panes) {
  byId("tabs").append(make("button", {
    type: "button", role: "tab", "data-pane": pane.name, testid: `tab-${pane.name}`, text: pane.title, "aria-controls": `pane-${pane.name}`,
    title: `${pane.what} (Alt+${pane.key})`, onclick: () => showPane(pane.name),
  }));
}
byId("tabs").addEventListener("keydown", (event) => {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step) return;
  const place = (panes.indexOf(current) + step + panes.length) % panes.length;
  showPane(panes[place].name);
  byId("tabs").children[place].focus();
});
document.addEventListener("keydown", (event) => {
  if (!event.altKey || event.ctrlKey || event.metaKey) return;
  const pane = panes.find((one) => event.code === `Digit${one.key}` || event.key === one.key);  // Alt makes other letters of digits on some keyboards
  if (pane) { event.preventDefault(); showPane(pane.name); }
});

// ---- light and dark: the system's, unless one was chosen here

function setTheme(theme) {
  if (theme) document.documentElement.dataset.theme = theme; else delete document.documentElement.dataset.theme;
  store.set("theme", theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));
}
let keptTheme = null;
try { keptTheme = localStorage.getItem("theme"); } catch { /* private window: nothing is kept */ }
setTheme(keptTheme);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => setTheme(document.documentElement.dataset.theme));
byId("theme").addEventListener("click", () => {
  const theme = store.get("theme") === "dark" ? "light" : "dark";
  try { localStorage.setItem("theme", theme); } catch { /* as above */ }
  setTheme(theme);
});

// ---- the list of files, and help

byId("file-button").addEventListener("click", () => showFiles(byId("files"), app, openFile));
for (const dialog of [byId("files"), byId("keys")]) dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
byId("help").addEventListener("click", () => showHelp(byId("keys"), panes));
document.addEventListener("keydown", (event) => {
  if (event.key === "?" && !/INPUT|TEXTAREA|SELECT/.test(event.target.tagName)) showHelp(byId("keys"), panes);
});

watchBusy(wire, (words) => { byId("busy").textContent = words; byId("busy").hidden = !words; });
showPane(location.hash.slice(1));
watchFile(app);
