// Decides whether a kind can be added to a scope, and gives the reason when it cannot: the palette dims such a kind, the
// picker leaves it out.

import { ROOT, getNodesInScope, isNote, findOffer } from "../graph_queries.js";
import { t } from "../../common/translations.js";

const isStart = (node) => !isNote(node) && !node.isEntry && node.ins.length === 0;

/** @returns {string} why a kind cannot be added to a scope, empty when it can */
export function findOfferRefusal(editor, offer, scope) {
  if (!offer.takes) return findStartRefusal(editor, offer, scope);
  const container = editor.model.nodes.get(scope)?.kind ?? "";
  if (!offer.inside.length || offer.inside.includes(container)) return "";
  return t("Only inside: {names}", { names: offer.inside.map((kind) => getOfferName(editor, kind)).join(", ") });
}

/** Return the reason why a kind fits nowhere: neither in the root nor in any container. */
export function findRefusalEverywhere(editor, offer) {
  const boxes = offer.inside.length ? [...editor.model.nodes.values()].filter((node) => node.isBox).map(({ id }) => id) : [];
  const reasons = [ROOT, ...boxes].map((scope) => findOfferRefusal(editor, offer, scope));
  return reasons.includes("") ? "" : reasons[0];
}

/** Allow one start or several triggers, in the root only, as the server does. */
function findStartRefusal(editor, offer, scope) {
  if (scope !== ROOT) return t("A workflow can't start inside a container");
  const others = getNodesInScope(editor, ROOT).filter(isStart);
  const hasStart = others.some(({ kind }) => kind === "start");
  if (offer.id === "start" && hasStart) return t("There is already a Start node");
  return others.length && (offer.id === "start" || hasStart) ? t("A workflow starts with a Start node or with triggers, not both") : "";
}

/** Return the name of a kind in the palette, or its id when it is not offered. */
export const getOfferName = (editor, kind) => findOffer(editor, kind)?.name ?? kind;

/** Return the colour family of a kind's cards. */
export const getFamily = (editor, kind) => findOffer(editor, kind)?.family ?? "";
