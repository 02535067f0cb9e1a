// What each pane is for, in a sentence, and the keys.
import { make } from "./dom.js";

const KEYS = [
  ["Alt + 1 … 6", "the panes"], ["Tab, Enter", "from block to block, into its settings (in Edit Enter again); Escape: back"], ["← → on a slider", "a small step; with Shift ten"],
  ["+ − 0 on a scope", "zoom in, out, all of it again"], ["← → on a scope", "move the cursor; with Shift the window"],
  ["Ctrl + S, Z, Shift + Z", "in Edit: save, undo, redo"], ["↓ in a search", "into its list of blocks or settings; arrows go through it, Enter takes one"], ["Delete", "in Edit: take the chosen wire or block away"], ["Escape, Tab", "in the text of Edit: leave it"],
  ["← → ↑ ↓ on a plot", "in Excitation: choose a line or a point, drag it; with Shift far; Ctrl + ← → moves a way point in time"], ["← →, Enter", "in Study: choose a dot, open its run"],
  ["Space", "play and pause the robot; arrows on it turn it"], ["?", "this list"],
];

export function showHelp(dialog, panes) {
  const row = (head, text) => make("tr", {}, make("th", {}, head), make("td", { text }));
  dialog.replaceChildren(make("h2", { text: "Panes" }), make("table", { class: "of-panes" }, ...panes.map((pane) => row(make("b", { text: pane.title }), pane.what))),
    make("h2", { text: "Keys" }), make("table", {}, ...KEYS.map(([key, text]) => row(make("kbd", { text: key }), text))));
  dialog.showModal();
}
