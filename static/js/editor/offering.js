// Whether a kind can be added somewhere, and the reason when it can't: the palette dims it, the picker leaves it out.

import { ROOT, inScope, isNote } from "./graph.js";
import { t } from "./words.js";

const begins = (node) => !isNote(node) && !node.isEntry && node.ins.length === 0;

/** @returns {string} why a kind can't be added to a scope; empty when it can */
export function refused(editor, offer, scope) {
  if (!offer.takes) return refusedBeginning(editor, offer, scope);
  const container = editor.model.nodes.get(scope)?.kind ?? "";
  if (!offer.inside.length || offer.inside.includes(container)) return "";
  return t("Stands only inside: {names}", { names: offer.inside.map((kind) => nameOfKind(editor, kind)).join(", ") });
}

/** The same for wherever it might stand: in the top, and in each container there is. */
export function refusedEverywhere(editor, offer) {
  const boxes = offer.inside.length ? [...editor.model.nodes.values()].filter((node) => node.isBox).map(({ id }) => id) : [];
  const reasons = [ROOT, ...boxes].map((scope) => refused(editor, offer, scope));
  return reasons.includes("") ? "" : reasons[0];
}

/** One start, or triggers, and at the top; as the server has it. */
function refusedBeginning(editor, offer, scope) {
  if (scope !== ROOT) return t("A workflow doesn't begin inside a container");
  const others = inScope(editor, ROOT).filter(begins);
  const hasStart = others.some(({ kind }) => kind === "start");
  if (offer.id === "start" && hasStart) return t("There is a start already");
  return others.length && (offer.id === "start" || hasStart) ? t("A workflow begins at a start or at triggers, not at both") : "";
}

/** A kind as the palette calls it; where it isn't offered, its own word. */
export const nameOfKind = (editor, kind) => editor.kinds?.find(({ id }) => id === kind)?.name ?? kind;
