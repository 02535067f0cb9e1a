// Requests and answers over one line: a WebSocket in the studio, a kernel in a notebook. Of a kind, the latest wins.

export class Refusal extends Error {
  constructor(error) { super(error.text); this.problems = error.problems || []; this.expected = error.expected; this.time = error.time; }
}

/** Header and float32 arrays of a binary message. */
export function unpack(buffer) {
  const length = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  let place = 4 + length;
  const arrays = {};
  for (const [name, count] of header.arrays) { arrays[name] = new Float32Array(buffer, place, count); place += 4 * count; }
  return { header, arrays };
}

export class Wire {
  /** `send(text)` puts a request on its way; answers come to `receive(header, arrays)`. */
  constructor(send) {
    this.send = send;
    this.number = 0;
    this.pending = new Map();
    this.flying = new Map();
    this.pushes = new Map();
  }

  /** A promise of the last answer; `each` sees those that stream before it. */
  ask(kind, data = {}, each = null) {
    const id = ++this.number;
    return new Promise((resolve, reject) => {
      this.pending.set(id, { resolve, reject, each, kind, since: performance.now() });
      this.send(JSON.stringify({ ...data, id, kind }));
    });
  }

  /** Ask now, or as soon as the request of this kind that is on its way has come back; only the newest is sent then.
   *  `paint(answer, sent)` and `fail(error, sent)` hear what was asked, too. */
  latest(kind, data, paint, fail = null) {
    const waiting = this.flying.get(kind);
    if (waiting) { waiting.next = { data, paint, fail }; return; }
    this.flying.set(kind, {});
    const sent = typeof data === "function" ? data() : data;
    const back = (act) => (value) => {
      const next = this.flying.get(kind)?.next;
      this.flying.delete(kind);
      if (next) this.latest(kind, next.data, next.paint, next.fail);
      if (act) act(value, sent);
    };
    this.ask(kind, sent, paint).then(back(paint), back(fail));
  }

  /** Be told what the server says unasked. */
  onPush(kind, listener) { this.pushes.set(kind, [...(this.pushes.get(kind) || []), listener]); }

  receive(header, arrays) {
    const answer = { ...header.data, arrays };
    const waiting = this.pending.get(header.id);
    if (!waiting) { for (const listener of this.pushes.get(header.kind) || []) listener(answer); return; }
    if (header.more) { if (waiting.each) waiting.each(answer); return; }
    this.pending.delete(header.id);
    if (header.data.error) waiting.reject(new Refusal(header.data.error));
    else if (!header.data.stale) waiting.resolve(answer);
    else waiting.reject(new Refusal({ text: "stale", expected: true, problems: [] }));
  }

  /** The line broke: nothing that is on its way comes back. */
  drop() {
    const lost = [...this.pending.values()];
    this.pending.clear();
    this.flying.clear();
    for (const waiting of lost) waiting.reject(new Refusal({ text: "the connection was lost", expected: true, problems: [], lost: true }));
  }
}

/** A wire over a WebSocket that comes back by itself; `changed("open" | "lost")` hears of it. */
export function connect(address, changed) {
  let socket = null, pause = 250;
  const queue = [];
  const wire = new Wire((text) => { if (socket && socket.readyState === 1) socket.send(text); else queue.push(text); });
  const dial = () => {
    socket = new WebSocket(address);
    socket.binaryType = "arraybuffer";
    socket.onopen = () => { pause = 250; changed("open"); while (queue.length) socket.send(queue.shift()); };
    socket.onmessage = (event) => {
      if (typeof event.data === "string") wire.receive(JSON.parse(event.data), {});
      else { const { header, arrays } = unpack(event.data); wire.receive(header, arrays); }
    };
    socket.onclose = () => {
      queue.length = 0;
      wire.drop();
      changed("lost");
      setTimeout(dial, pause);
      pause = Math.min(5000, 2 * pause);
    };
  };
  dial();
  wire.close = () => { socket.onclose = null; socket.close(); };
  wire.cut = () => socket.close();
  return wire;
}
