// The list of files: what was open lately, what lies in the folder, what comes with blocksim. It is the welcome, too.
import { make } from "./dom.js";

const GROUPS = [["Lately open", "recent"], ["In this folder", "own"], ["Comes with blocksim", "bundled"]];

/** A path by its folder and its name; a narrow list would cut it at its end. */
function shortened(name) {
  const parts = name.split(/[\\/]/);
  return parts.length > 3 ? `…/${parts.slice(-2).join("/")}` : name;
}

/** Show the list in `dialog`; `open(name)` hears what was chosen. The welcome says first what all this is. */
export async function showFiles(dialog, app, open, welcome = false) {
  const found = await app.ask("files");
  const search = make("input", { type: "search", placeholder: "Name, or a path on this machine", "aria-label": "Diagram", testid: "file-search" });
  const list = make("div", { class: "files" });
  const take = (name) => { dialog.close(); open(name); };
  const item = ({ name, title }) => make("button", { type: "button", class: "item", "data-name": name, title: name, onclick: () => take(name) }, make("span", { class: "name", text: shortened(name) }), make("small", { text: title }));
  const show = () => {
    const words = search.value.toLowerCase();
    list.replaceChildren(...GROUPS.flatMap(([title, group]) => {
      const some = found[group].filter((one) => `${one.name} ${one.title}`.toLowerCase().includes(words));
      return some.length ? [make("h3", { text: title }), ...some.map(item)] : [];
    }));
    if (!list.children.length) list.append(make("p", { class: "hint", text: "Nothing of that name is listed; Enter opens it as a path." }));
  };
  const step = (event, by) => {
    const buttons = [...list.querySelectorAll("button")], next = buttons[buttons.indexOf(document.activeElement) + by];
    event.preventDefault();
    (next || (by < 0 ? search : buttons.at(-1)))?.focus();
  };
  search.addEventListener("input", show);
  dialog.onkeydown = (event) => {
    if (event.key === "ArrowDown") step(event, 1);
    if (event.key === "ArrowUp") step(event, -1);
    if (event.key !== "Enter" || event.target !== search) return;
    event.preventDefault();
    const names = [...list.querySelectorAll("button")].map((button) => button.dataset.name);
    if (search.value || names.length) take(names.includes(search.value) ? search.value : names[0] || search.value);
  };
  const words = welcome ? [make("p", { testid: "welcome", text: "A diagram is a text file; the studio is a window on it. Drag a number, and the loop, the estimates and their honesty answer at once." }),
    make("p", { class: "hint", text: "Behind this list waits a joint that is identified in closed loop: Escape, and try its sliders. ? says what each pane is for." })] : [];
  dialog.replaceChildren(make("h2", { text: welcome ? "Welcome. What shall be opened?" : "Open a diagram" }), ...words, search, list);
  show();
  dialog.showModal();
}
