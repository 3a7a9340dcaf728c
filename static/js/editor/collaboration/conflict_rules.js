// Decides which conflicts resolve themselves and which need a decision, and builds the operation for a decision.

export const MISSING = "gone"; // the server's marker for a side without a value
const MIN_MERGE_LENGTH = 60; // characters from which a text is merged rather than chosen, when its field is unknown
const LATER_WINS = new Set(["place", "size"]); // positions and sizes need no decision

/**
 * @returns {{again: object[], resolve: object, ask: object[]}} `again`: operations to send once more, of which `resolve`
 * names by index those that win; `ask`: conflicts with their operation that need a decision
 */
export function sortConflicts(ops, conflicts) {
  const conflictsByIndex = new Map(conflicts.map((conflict) => [conflict.op, conflict]));
  const result = { toResend: [], resolve: {}, ask: [] };
  ops.forEach((op, index) => {
    const conflict = conflictsByIndex.get(index);
    if (conflict && !LATER_WINS.has(conflict.field)) return result.ask.push({ ...conflict, op });
    if (conflict) result.resolve[result.toResend.length] = "mine";
    result.toResend.push(op);
  });
  return result;
}

export const isMissing = (value) => value === MISSING;

/**
 * Return whether both values can be combined: texts one after the other, lists with the items of either. Short texts such
 * as names are combined only in a field for texts (`isText`).
 */
export function canCombine({ op, yours, theirs, isText }) {
  const hasValue = ["set", "feature", "header"].includes(op.op) && !op.remove && theirs !== MISSING;
  if (!hasValue) return false;
  if (Array.isArray(yours) && Array.isArray(theirs)) return true;
  const areTexts = typeof yours === "string" && typeof theirs === "string";
  return areTexts && (isText || (isLong(yours) && isLong(theirs)));
}

const isLong = (value) => value.includes("\n") || value.length >= MIN_MERGE_LENGTH;

/** Return the operation that applies a choice as ours, or null when theirs stays. */
export function buildDecision(conflict, choice) {
  if (choice === "theirs") return null;
  const { op, yours, theirs } = conflict;
  if (choice === "yours") return op;
  return { ...op, value: Array.isArray(yours) ? mergeLists(theirs, yours) : mergeTexts(conflict) };
}

function mergeLists(theirs, yours) {
  const existing = new Set(theirs.map((item) => JSON.stringify(item)));
  return [...theirs, ...yours.filter((item) => !existing.has(JSON.stringify(item)))];
}

/** Combine two texts, ours below theirs, so that nothing is lost. */
const mergeTexts = ({ yours, theirs }) => `${theirs}\n${yours}`;
