// Fields that wait for a decision: further input on this page joins our side of the decision instead of being sent, and
// changes by others update theirs. A reloaded page continues where the last one was.

import { getAtPath, setAtPath, isEqual } from "../../common/json_paths.js";
import { MISSING } from "./conflict_rules.js";
import { CLIENT } from "./tabs.js";

export class PendingDecisions {
  constructor(unsavedChanges) {
    this.unsavedChanges = unsavedChanges;
  }

  /** Return the entry that waits for a decision about the target of an operation and the index of its conflict, or null. */
  find(op) {
    if (!setsField(op)) return null;
    for (const entry of this.unsavedChanges.conflicts) {
      if (entry.way || entry.client !== CLIENT) continue;
      const index = entry.conflicts.findIndex((conflict) => setsField(conflict.op) && isInside(op, conflict.op));
      if (index >= 0) return { entry, index };
    }
    return null;
  }

  /** Return our waiting value as {value}, undefined when it was removed, or null when nothing waits. */
  getOwnValue(op) {
    const pending = this.find(op);
    if (!pending) return null;
    const { op: pendingOp } = pending.entry.conflicts[pending.index];
    return { value: getAtPath({ value: pendingOp.remove ? undefined : pendingOp.value }, ["value", ...getSubPath(op, pendingOp)]) };
  }

  /** @returns {object[]} the operations to send; the others joined a pending decision */
  join(ops, label) {
    return ops.filter((op) => !this.#joinPending(op, label));
  }

  /** @returns {object[]} the conflicts without a pending decision; the others were updated */
  filterNew(conflicts, label) {
    return conflicts.filter((conflict) => {
      if (!this.#joinPending(conflict.op, label)) return true;
      this.#updateTheirs(conflict.op, conflict.theirs, conflict.by);
      return false;
    });
  }

  /** Update pending decisions after changes by others. */
  applyChanges({ ops = [], client, author }) {
    if (client === CLIENT) return;
    for (const op of ops) this.#updateTheirs(op, getValue(op), author?.name ?? "");
  }

  #joinPending(op, label) {
    const pending = this.find(op);
    if (!pending) return false;
    const { entry, index } = pending;
    const { op: pendingOp } = entry.conflicts[index];
    const subPath = getSubPath(op, pendingOp);
    const merged = subPath.length ? { ...pendingOp, value: setAtPath(pendingOp.value, subPath, op.remove ? undefined : op.value) } : op;
    this.#update(entry, index, { op: merged, yours: getValue(merged) }, label);
    return true;
  }

  #updateTheirs(op, theirs, by) {
    const pending = this.find(op);
    if (!pending) return;
    const { entry, index } = pending;
    const conflict = entry.conflicts[index];
    if (getSubPath(op, conflict.op).length || isEqual(conflict.theirs, theirs)) return;
    this.#update(entry, index, { theirs, by }, entry.label);
  }

  /** Update a conflict, and remove it when both sides have become equal. */
  #update(entry, index, changes, label) {
    const all = entry.conflicts.map((conflict, position) => (position === index ? { ...conflict, ...changes } : conflict));
    const conflicts = all.filter(({ yours, theirs }) => !isEqual(yours, theirs));
    if (conflicts.length) this.unsavedChanges.update(entry.id, { label, conflicts, ops: conflicts.map(({ op }) => op) });
    else this.unsavedChanges.remove(entry.id);
  }
}

/** Return whether an operation sets one field. Operations that insert, remove or move rows do not count as later values. */
function setsField(op) {
  if (op.op === "set" || op.op === "feature") return !op.insert && !(op.remove && typeof op.path.at(-1) === "number");
  return op.op === "rename" || op.op === "header";
}

function isInside(op, container) {
  if (op.op !== container.op || op.id !== container.id || op.field !== container.field) return false;
  return (container.path ?? []).every((step, index) => String(step) === String(op.path[index]));
}

const getSubPath = (op, container) => (op.path ?? []).slice(container.path?.length ?? 0);
const getValue = (op) => (op.remove ? MISSING : op.op === "rename" ? op.title : op.value);
