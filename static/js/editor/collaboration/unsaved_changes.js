// What didn't become part of the draft as it was meant: clashes to be decided, and what was refused. Kept until somebody
// decided or put it away, across reloads and for all tabs of the person.

import { randomId } from "./tab.js";

const HIDDEN = "…";

export class Ledger extends EventTarget {
  #place;
  #entries = new Map();

  constructor(place) {
    super();
    this.#place = `mnemoflow-reported:${place}:`;
    this.#read();
    addEventListener("storage", (event) => {
      if (event.key?.startsWith(this.#place)) this.#read();
    });
  }

  /** Oldest first. An entry: {id, at, kind: "clash"|"refused", label, ops, message, clashes?}. */
  get all() {
    return [...this.#entries.values()].sort((a, b) => a.at - b.at);
  }

  get clashes() {
    return this.all.filter(({ kind }) => kind === "clash");
  }

  get refused() {
    return this.all.filter(({ kind }) => kind === "refused");
  }

  add(entry) {
    const added = { id: randomId(), at: Date.now(), ...entry };
    this.#entries.set(added.id, added);
    this.#keep(added);
    this.dispatchEvent(new CustomEvent("change", { detail: added }));
    return added;
  }

  /** With some of its clashes decided. */
  update(id, more) {
    const entry = { ...this.#entries.get(id), ...more };
    this.#entries.set(id, entry);
    this.#keep(entry);
    this.dispatchEvent(new CustomEvent("change", { detail: entry }));
  }

  remove(id) {
    this.#entries.delete(id);
    try {
      localStorage.removeItem(this.#place + id);
    } catch {
      // not kept there
    }
    this.dispatchEvent(new CustomEvent("change", { detail: null }));
  }

  #keep(entry) {
    try {
      localStorage.setItem(this.#place + entry.id, JSON.stringify({ ...entry, ops: entry.ops.map(withoutSecret) }));
    } catch {
      // shown as long as the page lives
    }
  }

  #read() {
    try {
      const names = Object.keys(localStorage).filter((name) => name.startsWith(this.#place));
      this.#entries = new Map(names.map((name) => JSON.parse(localStorage.getItem(name))).map((entry) => [entry.id, entry]));
      this.dispatchEvent(new CustomEvent("change", { detail: null }));
    } catch {
      // as many as this page knows of
    }
  }
}

function withoutSecret(op) {
  return op.op === "variable" && op.spec?.value_type === "secret" ? { ...op, spec: { ...op.spec, value: HIDDEN } } : op;
}
