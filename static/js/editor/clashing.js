// Two values for one field: which clashes decide themselves, which are asked about, and what the choices come to.

export const GONE = "gone"; // what the server says where one side has no value any more
const LONG = 60; // characters from which a text is one to be merged rather than chosen, where nobody says what field it is of
const LATER_WINS = new Set(["place", "size"]); // nobody wants to be asked where a card lies

/**
 * @returns {{again: object[], resolve: object, ask: object[]}} `again`: operations to send once more, `resolve` says of
 * some by their place that ours holds; `ask`: clashes with their operation, to be decided
 */
export function sorted(ops, clashes) {
  const about = new Map(clashes.map((clash) => [clash.op, clash]));
  const found = { again: [], resolve: {}, ask: [] };
  ops.forEach((op, at) => {
    const clash = about.get(at);
    if (clash && !LATER_WINS.has(clash.field)) return found.ask.push({ ...clash, op });
    if (clash) found.resolve[found.again.length] = "mine";
    found.again.push(op);
  });
  return found;
}

export const isGone = (value) => value === GONE;

/**
 * Whether both values can stand: texts one after the other, lists with what is in either. Two names make no name: a text
 * is what a field for texts holds (`isText`), however short it is now, or what is long.
 */
export function canBeBoth({ op, yours, theirs, isText }) {
  const hasValue = ["set", "feature", "header"].includes(op.op) && !op.remove && theirs !== GONE;
  if (!hasValue) return false;
  if (Array.isArray(yours) && Array.isArray(theirs)) return true;
  const areTexts = typeof yours === "string" && typeof theirs === "string";
  return areTexts && (isText || (isLong(yours) && isLong(theirs)));
}

const isLong = (value) => value.includes("\n") || value.length >= LONG;

/** The operation that makes the choice so, sent as ours; null: theirs stays. */
export function decided(clash, choice) {
  if (choice === "theirs") return null;
  const { op, yours, theirs } = clash;
  if (choice === "yours") return op;
  return { ...op, value: Array.isArray(yours) ? union(theirs, yours) : joined(clash) };
}

function union(theirs, yours) {
  const known = new Set(theirs.map((item) => JSON.stringify(item)));
  return [...theirs, ...yours.filter((item) => !known.has(JSON.stringify(item)))];
}

/** With markers, as people know them from merging texts: nothing is lost, and nobody overlooks that it is to be tidied. */
function joined({ yours, theirs, by }) {
  return `<<<<<<< ${by}\n${theirs}\n=======\n${yours}\n>>>>>>>`;
}
