// What panes share: named values, and who wants to know when one changes.

export class Store {
  constructor(values = {}) { this.values = values; this.listeners = new Map(); }

  get(name) { return this.values[name]; }

  set(name, value) {
    this.values[name] = value;
    for (const listener of this.listeners.get(name) || []) listener(value);
  }

  /** Call the listener now, where there is a value, and at every change. */
  on(name, listener) {
    if (!this.listeners.has(name)) this.listeners.set(name, new Set());
    this.listeners.get(name).add(listener);
    if (this.values[name] !== undefined) listener(this.values[name]);
    return () => this.listeners.get(name).delete(listener);
  }
}
