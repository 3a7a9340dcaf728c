// Gestures that wait for the server, in order. Each is written down before it is sent, one entry a gesture, so that a
// reload, a crash or a dead network loses none: localStorage, because its writes are done when they return.

import { CLIENT, onceGone, randomId } from "./tab.js";

const REPLACED = { move: ["x", "y"], resize: ["width", "height"], rename: ["title"], set: ["value", "remove"] };

export class Queue {
  #place;
  #waiting = [];
  #number = 0;
  #unkept = new Set(); // gestures the browser wouldn't keep: leaving the page would lose them

  /** `place` is of one person and one workflow: another person's session never sends them. */
  constructor(place) {
    this.#place = `mnemoflow-edits:${place}:`;
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

  get couldBeLost() {
    return this.#waiting.some((gesture) => this.#unkept.has(gesture));
  }

  /** @returns {object} the gesture that stands for it: a new one, or a waiting one that says the same with newer values */
  add(gesture) {
    const last = this.#waiting.at(-1);
    if (last && !last.tried && isPlain(last) && isPlain(gesture) && sameTargets(last.ops, gesture.ops)) {
      Object.assign(last, { ops: gesture.ops, label: gesture.label });
      this.#keep(last);
      return last;
    }
    const added = { key: randomId(), client: CLIENT, ...gesture, number: ++this.#number };
    this.#waiting.push(added);
    this.#keep(added);
    return added;
  }

  /** In the place of a gesture (what is left of it after a clash), before anything that came later. */
  replace(gesture, next) {
    const added = { key: randomId(), client: CLIENT, ...next, number: gesture.number };
    this.#waiting[this.#waiting.indexOf(gesture)] = added;
    this.#keep(added);
    this.#forget(gesture);
    return added;
  }

  /** About to be sent: it may have arrived, so from now on it isn't changed any more. */
  try(gesture) {
    if (gesture.tried) return;
    gesture.tried = true;
    this.#keep(gesture);
  }

  rebase(gesture, base) {
    gesture.base = base;
    this.#keep(gesture);
  }

  done(gesture) {
    this.#waiting = this.#waiting.filter((other) => other !== gesture);
    this.#forget(gesture);
  }

  /** What other tabs of this person left behind when they went, and those that will. Calls back after each. */
  takeOver(then) {
    const clients = new Set(this.#entries().map(({ client }) => client).filter((client) => client !== CLIENT));
    for (const client of clients) {
      onceGone(client, () => {
        const left = this.#entries().filter((entry) => entry.client === client);
        for (const { name, gesture } of left) this.#adopt(name, gesture);
        if (left.length) then(left.length);
      });
    }
  }

  // The key and the tab it was made in stay: if it had arrived after all, the server knows it again.
  #adopt(name, gesture) {
    const adopted = { ...gesture, number: ++this.#number, tried: true, adopted: true };
    this.#waiting.push(adopted);
    this.#keep(adopted);
    localStorage.removeItem(name);
  }

  #entries() {
    const found = [];
    try {
      for (const name of Object.keys(localStorage)) {
        if (!name.startsWith(this.#place)) continue;
        const client = name.slice(this.#place.length).split(":")[0];
        found.push({ name, client, gesture: JSON.parse(localStorage.getItem(name)) });
      }
    } catch {
      return [];
    }
    return found.sort((a, b) => a.gesture.number - b.gesture.number);
  }

  #name(gesture) {
    return `${this.#place}${CLIENT}:${gesture.key}`;
  }

  #keep(gesture) {
    try {
      if (holdsSecret(gesture)) throw new Error("secrets aren't written to disk");
      localStorage.setItem(this.#name(gesture), JSON.stringify(gesture));
      this.#unkept.delete(gesture);
    } catch {
      this.#unkept.add(gesture);
    }
  }

  #forget(gesture) {
    this.#unkept.delete(gesture);
    try {
      localStorage.removeItem(this.#name(gesture));
    } catch {
      // it wasn't kept either
    }
  }
}

const isPlain = ({ kind, resolve }) => kind === "edit" && !resolve;

/** The same fields of the same nodes: the later values are all that is wanted of both. */
function sameTargets(before, after) {
  const target = (op) => (REPLACED[op.op] ? JSON.stringify([op.op, op.id, op.path ?? null]) : null);
  const targets = after.map(target);
  return before.length === after.length && !targets.includes(null) && before.every((op, at) => target(op) === targets[at]);
}

function holdsSecret({ ops = [] }) {
  return ops.some((op) => op.op === "variable" && op.spec?.value_type === "secret");
}
