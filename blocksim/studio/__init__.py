"""The studio: a window on a diagram file, in the browser. `blocksim studio FILE` serves one page over one WebSocket.

The file is the truth; the page draws and asks, Python answers. How a request travels:

1. `page/wire.js` sends {"id": 7, "kind": "bench.run", ...}. `app.ask(kind, data)` gives a promise; `app.latest(kind, data,
   paint)` keeps one request of a kind on its way and sends the newest of those that came meanwhile: the latest wins.
2. `server.py` lets in who knows the token and comes from this page, and hands the request to the tab's `Session` (session.py).
3. `lanes.py` runs the handler in a thread: requests of one lane in turn, lanes side by side. Of a kind that is `latest` a newer
   request replaces one that waits, and ends one that streams.
4. The handler (the table in `handlers.py`) gives an `Answer`: data for JSON, and arrays that travel as float32 behind it. One
   that yields several answers streams them. A BlocksimError becomes the answer's error: line and block of each problem.

How to add a pane, say `study`:

- Python: a module `blocksim/studio/study.py` with functions under `@handles("study.run", lane="study")`, taking the session and
  the request; its name in `handlers.PANES`. What it keeps between requests goes into `session.shelf["study"]`. `session.push`
  tells the page something nobody asked for.
- Page: a module `page/study.js` that exports `studyPane = {name, title, key, mount(root, app), show(), hide()}`, its import and
  its name in `page/panes.js`. `mount` is called once, when the tab is first opened. `app.store` holds what panes share:
  `diagram` (name, path, text, svg, blocks, methods with their colours), `changes`, `problems`;
  `app.store.on("diagram", ...)` tells of another.
  Styles: variables of `page/style.css`, rules of its own in `page/study.css`, linked in `index.html`.
- Tests find things by `data-testid`; every button has a name that a screen reader says, and works by keyboard.
- The same front end runs in a notebook (`notebook/`): its modules are joined into one text, so top-level names differ.
"""
