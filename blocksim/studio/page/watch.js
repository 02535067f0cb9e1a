// The file on the disk: one saved in another editor is read again, whichever pane is looked at.

const LOOK_MS = 700;

/** Look at the file while the page is seen. `store.outside` tells what came; panes that edit take it up, else all get the diagram. */
export function watchFile(app) {
  const tell = async (state) => {
    if (!state.what) return;
    app.say(state.words, state.what !== "reloaded");
    app.store.set("outside", state);
    if (state.what !== "reloaded") return;
    if (state.problems.length) { app.say(`${state.words}; line ${state.problems[0].line}: ${state.problems[0].what} The last good one stays.`, true); return; }
    if (app.store.get("editing")) return;
    try { app.store.set("diagram", { ...(await app.ask("edit.adopt")), again: true }); } catch (error) { app.say(error.message, true); }
  };
  setInterval(() => {
    if (document.hidden || !app.store.get("diagram") || document.body.dataset.line !== "open") return;
    app.latest("edit.poll", {}, tell, () => {});
  }, LOOK_MS);
}
