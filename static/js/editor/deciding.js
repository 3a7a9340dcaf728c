// Fields that wait for a decision: what this page writes there from now on joins it instead of being sent, and what others
// make of the field in the meantime is what there is to decide about. A page loaded since goes on where the last one was.

import { get, put, same } from "../inspector/trees.js";
import { GONE } from "./clashing.js";
import { CLIENT } from "./tab.js";

export class Deciding {
  constructor(ledger) {
    this.ledger = ledger;
  }

  /** The entry that waits about what an operation would set, and the place of its clash; null: nothing waits. */
  find(op) {
    if (!isSetting(op)) return null;
    for (const entry of this.ledger.clashes) {
      if (entry.way || entry.client !== CLIENT) continue;
      const at = entry.clashes.findIndex((clash) => isSetting(clash.op) && isWithin(op, clash.op));
      if (at >= 0) return { entry, at };
    }
    return null;
  }

  /** What was written here and waits: {value}, undefined where it was taken away; or null. */
  mine(op) {
    const found = this.find(op);
    if (!found) return null;
    const { op: waiting } = found.entry.clashes[found.at];
    return { value: get({ value: waiting.remove ? undefined : waiting.value }, ["value", ...beyond(op, waiting)]) };
  }

  /** @returns {object[]} the operations that are to be sent; the others became what waits as ours */
  join(ops, label) {
    return ops.filter((op) => !this.#joins(op, label));
  }

  /** @returns {object[]} the clashes nothing waits about yet; the others were told of what waits */
  renew(clashes, label) {
    return clashes.filter((clash) => {
      if (!this.#joins(clash.op, label)) return true;
      this.#meet(clash.op, clash.theirs, clash.by);
      return false;
    });
  }

  /** Somebody has changed it again since. */
  heard({ ops = [], client, author }) {
    if (client === CLIENT) return;
    for (const op of ops) this.#meet(op, valueOf(op), author?.name ?? "");
  }

  #joins(op, label) {
    const found = this.find(op);
    if (!found) return false;
    const { entry, at } = found;
    const { op: waiting } = entry.clashes[at];
    const rest = beyond(op, waiting);
    const joined = rest.length ? { ...waiting, value: put(waiting.value, rest, op.remove ? undefined : op.value) } : op;
    this.#put(entry, at, { op: joined, yours: valueOf(joined) }, label);
    return true;
  }

  #meet(op, theirs, by) {
    const found = this.find(op);
    if (!found) return;
    const { entry, at } = found;
    const clash = entry.clashes[at];
    if (beyond(op, clash.op).length || same(clash.theirs, theirs)) return;
    this.#put(entry, at, { theirs, by }, entry.label);
  }

  /** Where both have come to say the same, there is nothing left to decide. */
  #put(entry, at, more, label) {
    const all = entry.clashes.map((clash, place) => (place === at ? { ...clash, ...more } : clash));
    const clashes = all.filter(({ yours, theirs }) => !same(yours, theirs));
    if (clashes.length) this.ledger.update(entry.id, { label, clashes, ops: clashes.map(({ op }) => op) });
    else this.ledger.remove(entry.id);
  }
}

/** Whether an operation gives one field its value; rows that come, go or move are no later value of anything. */
function isSetting(op) {
  if (op.op === "set" || op.op === "feature") return !op.insert && !(op.remove && typeof op.path.at(-1) === "number");
  return op.op === "rename" || op.op === "header";
}

function isWithin(op, outer) {
  if (op.op !== outer.op || op.id !== outer.id || op.field !== outer.field) return false;
  return (outer.path ?? []).every((step, at) => String(step) === String(op.path[at]));
}

const beyond = (op, outer) => (op.path ?? []).slice(outer.path?.length ?? 0);
const valueOf = (op) => (op.remove ? GONE : op.op === "rename" ? op.title : op.value);
