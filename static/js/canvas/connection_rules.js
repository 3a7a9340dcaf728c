// Decides which connections are possible and gives the reason when one is not, while it is dragged.

import { t } from "../common/translations.js";

/**
 * @param {import("./model.js").Model} model
 * @param {{id?: string, from: string, fp: string, to: string}} connection `id`: the edge whose end is being moved
 * @returns {string} the reason for the refusal, empty when the connection is possible
 */
export function findRefusal(model, connection) {
  const from = model.nodes.get(connection.from);
  const to = model.nodes.get(connection.to);
  for (const [applies, reason] of RULES) if (applies(model, from, to, connection)) return reason();
  return "";
}

const RULES = [
  [(_model, from, to) => !from || !to || from.isNote || to.isNote, () => t("Only nodes can be connected.")],
  [(_model, from, to) => from === to, () => t("A node can't be connected to itself.")],
  [(_model, from, to) => from.scope !== to.scope, () => t("An edge can't cross the border of a container.")],
  [(_model, _from, to) => to.ins.length === 0, () => t("This node has no input.")],
  [(_model, from) => from.outs.length === 0, () => t("This node has no output.")],
  [isDuplicate, () => t("These nodes are already connected.")],
  [closesCircle, () => t("This connection would create a cycle. Use a Loop node to repeat steps.")],
];

function isDuplicate(model, from, to, { id, fp }) {
  return [...model.edgesOf(from.id)].some((edge) => edge.id !== id && edge.from === from.id && edge.fp === fp && edge.to === to.id);
}

function closesCircle(model, from, to, { id }) {
  return collectReachable(model, to.id, "to", id).has(from.id);
}

/** Return all nodes after ("to") or before ("from") a node, including itself, without one excluded edge. */
function collectReachable(model, start, direction, excluded) {
  const reachable = new Set([start]);
  const queue = [start];
  const opposite = direction === "to" ? "from" : "to";
  while (queue.length) {
    const id = queue.pop();
    for (const edge of model.edgesOf(id)) {
      if (edge.id === excluded || edge[opposite] !== id || reachable.has(edge[direction])) continue;
      reachable.add(edge[direction]);
      queue.push(edge[direction]);
    }
  }
  return reachable;
}

/** Return the nodes that refuse the connection, with the reasons; computed once when a connection begins. */
export function findRefusals(model, { id, node, fp, out }) {
  const origin = model.nodes.get(node);
  const reachable = collectReachable(model, node, out ? "from" : "to", id);
  const reasons = new Map();
  for (const other of model.nodes.values()) {
    if (other.isNote || (other.scope !== origin.scope && model.isHidden(other))) continue;
    const connection = out ? { id, from: node, fp, to: other.id } : { id, from: other.id, fp: other.outs[0]?.name, to: node };
    const reason = findRefusalAmong(model, connection, reachable.has(other.id));
    if (reason) reasons.set(other.id, reason);
  }
  return reasons;
}

function findRefusalAmong(model, connection, isCircle) {
  const [from, to] = [model.nodes.get(connection.from), model.nodes.get(connection.to)];
  const refused = RULES.slice(0, -1).find(([applies]) => applies(model, from, to, connection));
  if (refused) return refused[1]();
  return isCircle ? RULES.at(-1)[1]() : "";
}
