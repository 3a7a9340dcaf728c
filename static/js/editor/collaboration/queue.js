// Gestures that wait for the server, in order. Each is stored before it is sent, in an entry of its own, so that a reload,
// a crash or a dead network loses none. localStorage is used because its writes are complete when they return.

import { CLIENT, onceClosed } from "./tabs.js";
import { createRandomId } from "../../common/random_ids.js";

const REPLACEABLE_FIELDS = { move: ["x", "y"], resize: ["width", "height"], rename: ["title"], set: ["value", "remove"] };

export class Queue {
  #prefix;
  #waiting = [];
  #number = 0;
  #unstored = new Set(); // gestures that the browser could not store, which are lost when the page is left

  /** `storageKey` belongs to one person and one workflow, so that another person's session never sends the gestures. */
  constructor(storageKey) {
    this.#prefix = `mnemoflow-edits:${storageKey}:`;
  }

  get first() {
    return this.#waiting[0];
  }

  get size() {
    return this.#waiting.length;
  }

  get all() {
    return [...this.#waiting];
  }

  get hasUnstored() {
    return this.#waiting.some((gesture) => this.#unstored.has(gesture));
  }

  /** @returns {object} the queued gesture: a new one, or a waiting one for the same fields with the newer values */
  add(gesture) {
    const last = this.#waiting.at(-1);
    if (last && !last.tried && isPlain(last) && isPlain(gesture) && haveSameTargets(last.ops, gesture.ops)) {
      Object.assign(last, { ops: gesture.ops, label: gesture.label });
      this.#store(last);
      return last;
    }
    const queued = { key: createRandomId(), client: CLIENT, ...gesture, number: ++this.#number };
    this.#waiting.push(queued);
    this.#store(queued);
    return queued;
  }

  /** Replace a gesture by the rest of it after a conflict, before all later gestures. */
  replace(gesture, next) {
    const queued = { key: createRandomId(), client: CLIENT, ...next, number: gesture.number };
    this.#waiting[this.#waiting.indexOf(gesture)] = queued;
    this.#store(queued);
    this.#discard(gesture);
    return queued;
  }

  /** Mark a gesture before it is sent: it may arrive, and must not change any more. */
  markTried(gesture) {
    if (gesture.tried) return;
    gesture.tried = true;
    this.#store(gesture);
  }

  rebase(gesture, base) {
    gesture.base = base;
    this.#store(gesture);
  }

  remove(gesture) {
    this.#waiting = this.#waiting.filter((other) => other !== gesture);
    this.#discard(gesture);
  }

  /** Take over the gestures of closed tabs of this person, now and later. Calls back after each. */
  takeOver(then) {
    const clients = new Set(this.#entries().map(({ client }) => client).filter((client) => client !== CLIENT));
    for (const client of clients) {
      onceClosed(client, () => {
        const orphaned = this.#entries().filter((entry) => entry.client === client);
        for (const { name, gesture } of orphaned) this.#adopt(name, gesture);
        if (orphaned.length) then(orphaned.length);
      });
    }
  }

  // The key and the tab stay, so that the server recognises a gesture that had arrived after all.
  #adopt(name, gesture) {
    const queued = { ...gesture, number: ++this.#number, tried: true, adopted: true };
    this.#waiting.push(queued);
    this.#store(queued);
    localStorage.removeItem(name);
  }

  #entries() {
    const entries = [];
    try {
      for (const name of Object.keys(localStorage)) {
        if (!name.startsWith(this.#prefix)) continue;
        const client = name.slice(this.#prefix.length).split(":")[0];
        entries.push({ name, client, gesture: JSON.parse(localStorage.getItem(name)) });
      }
    } catch {
      return [];
    }
    return entries.sort((a, b) => a.gesture.number - b.gesture.number);
  }

  #name(gesture) {
    return `${this.#prefix}${CLIENT}:${gesture.key}`;
  }

  #store(gesture) {
    try {
      if (containsSecret(gesture)) throw new Error("secrets aren't written to disk");
      localStorage.setItem(this.#name(gesture), JSON.stringify(gesture));
      this.#unstored.delete(gesture);
    } catch {
      this.#unstored.add(gesture);
    }
  }

  #discard(gesture) {
    this.#unstored.delete(gesture);
    try {
      localStorage.removeItem(this.#name(gesture));
    } catch {
      // it was not stored
    }
  }
}

const isPlain = ({ kind, resolve }) => kind === "edit" && !resolve;

/** Return whether two gestures set the same fields of the same nodes, so that only the later values count. */
function haveSameTargets(previous, next) {
  const getTarget = (op) => (REPLACEABLE_FIELDS[op.op] ? JSON.stringify([op.op, op.id, op.path ?? null]) : null);
  const targets = next.map(getTarget);
  return previous.length === next.length && !targets.includes(null) && previous.every((op, index) => getTarget(op) === targets[index]);
}

function containsSecret({ ops = [] }) {
  return ops.some((op) => op.op === "variable" && op.spec?.value_type === "secret");
}
