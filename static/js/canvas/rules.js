// Which connections make sense, and why another one doesn't: said while it is being dragged.

import { t } from "../editor/words.js";

/**
 * @param {import("./model.js").Model} model
 * @param {{id?: string, from: string, fp: string, to: string}} wanted `id`: the edge that is being plugged elsewhere
 * @returns {string} the reason it can't be; empty when it can
 */
export function refusal(model, wanted) {
  const from = model.nodes.get(wanted.from);
  const to = model.nodes.get(wanted.to);
  for (const [applies, reason] of RULES) if (applies(model, from, to, wanted)) return reason();
  return "";
}

const RULES = [
  [(_model, from, to) => !from || !to || from.isNote || to.isNote, () => t("Only nodes can be connected.")],
  [(_model, from, to) => from === to, () => t("A node can't follow itself.")],
  [(_model, from, to) => from.scope !== to.scope, () => t("An edge can't cross the border of a container.")],
  [(_model, _from, to) => to.ins.length === 0, () => t("Nothing leads into this node.")],
  [(_model, from) => from.outs.length === 0, () => t("Nothing leads out of this node.")],
  [isDuplicate, () => t("These two are connected already.")],
  [closesCircle, () => t("That would go round in a circle. Repeat with a loop instead.")],
];

function isDuplicate(model, from, to, { id, fp }) {
  return [...model.edgesOf(from.id)].some((edge) => edge.id !== id && edge.from === from.id && edge.fp === fp && edge.to === to.id);
}

function closesCircle(model, from, to, { id }) {
  return reached(model, to.id, "to", id).has(from.id);
}

/** Everything behind ("to") or before ("from") a node, itself included; one edge may be thought away. */
function reached(model, start, way, but) {
  const found = new Set([start]);
  const queue = [start];
  const other = way === "to" ? "from" : "to";
  while (queue.length) {
    const id = queue.pop();
    for (const edge of model.edgesOf(id)) {
      if (edge.id === but || edge[other] !== id || found.has(edge[way])) continue;
      found.add(edge[way]);
      queue.push(edge[way]);
    }
  }
  return found;
}

/** The nodes one may not plug into, with the reason: worked out once, when a connection begins. */
export function refusals(model, { id, node, fp, out }) {
  const origin = model.nodes.get(node);
  const circle = reached(model, node, out ? "from" : "to", id);
  const found = new Map();
  for (const other of model.nodes.values()) {
    if (other.isNote || (other.scope !== origin.scope && model.isHidden(other))) continue;
    const wanted = out ? { id, from: node, fp, to: other.id } : { id, from: other.id, fp: other.outs[0]?.name, to: node };
    const reason = refusalBut(model, wanted, circle.has(other.id));
    if (reason) found.set(other.id, reason);
  }
  return found;
}

function refusalBut(model, wanted, isCircle) {
  const [from, to] = [model.nodes.get(wanted.from), model.nodes.get(wanted.to)];
  const cheap = RULES.slice(0, -1).find(([applies]) => applies(model, from, to, wanted));
  if (cheap) return cheap[1]();
  return isCircle ? RULES.at(-1)[1]() : "";
}
