// Changes that did not become part of the draft: conflicts to decide and refused edits. They are stored until somebody
// decides or dismisses them, across reloads and for all tabs of the person.

import { createRandomId } from "../../common/random_ids.js";

const HIDDEN = "…";

export class UnsavedChanges extends EventTarget {
  #prefix;
  #entries = new Map();

  constructor(storageKey) {
    super();
    this.#prefix = `mnemoflow-reported:${storageKey}:`;
    this.#load();
    addEventListener("storage", (event) => {
      if (event.key?.startsWith(this.#prefix)) this.#load();
    });
  }

  /** Return all entries, oldest first: {id, at, kind: "conflict"|"refused", label, ops, message, conflicts?}. */
  get all() {
    return [...this.#entries.values()].sort((a, b) => a.at - b.at);
  }

  get conflicts() {
    return this.all.filter(({ kind }) => kind === "conflict");
  }

  get refused() {
    return this.all.filter(({ kind }) => kind === "refused");
  }

  add(entry) {
    const entryWithId = { id: createRandomId(), at: Date.now(), ...entry };
    this.#entries.set(entryWithId.id, entryWithId);
    this.#store(entryWithId);
    this.dispatchEvent(new CustomEvent("change", { detail: entryWithId }));
    return entryWithId;
  }

  /** Change an entry after some of its conflicts were decided. */
  update(id, changes) {
    const entry = { ...this.#entries.get(id), ...changes };
    this.#entries.set(id, entry);
    this.#store(entry);
    this.dispatchEvent(new CustomEvent("change", { detail: entry }));
  }

  remove(id) {
    this.#entries.delete(id);
    try {
      localStorage.removeItem(this.#prefix + id);
    } catch {
      // nothing was stored
    }
    this.dispatchEvent(new CustomEvent("change", { detail: null }));
  }

  #store(entry) {
    try {
      localStorage.setItem(this.#prefix + entry.id, JSON.stringify({ ...entry, ops: entry.ops.map(maskSecret) }));
    } catch {
      // shown until the page is closed
    }
  }

  #load() {
    try {
      const names = Object.keys(localStorage).filter((name) => name.startsWith(this.#prefix));
      this.#entries = new Map(names.map((name) => JSON.parse(localStorage.getItem(name))).map((entry) => [entry.id, entry]));
      this.dispatchEvent(new CustomEvent("change", { detail: null }));
    } catch {
      // shows the entries of this page only
    }
  }
}

function maskSecret(op) {
  return op.op === "variable" && op.spec?.value_type === "secret" ? { ...op, spec: { ...op.spec, value: HIDDEN } } : op;
}
