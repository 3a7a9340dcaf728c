// Adds nodes: chooses a position and a title, and sends the operations.

import { BOX_PADDING, CARD_WIDTH, HEADER_HEIGHT } from "../../canvas/geometry.js";
import { ROOT, getOutgoingEdges, createNodeId, getNodesInScope, isNote, getKindName, getNodeName, findOffer, getOutputs, getParent, getScope } from "../graph_queries.js";
import { isNarrow } from "../panels.js";
import { GAP, findFreePlace, findNearestPlace, getNewSize, makeRoomBetween } from "./room.js";
import { showInstead } from "./views_before.js";
import { t } from "../../common/translations.js";

const WIDE_MARGIN = 48; // distance from obstacles where the user pointed at nothing

const getDefaultOutput = (editor, kind) => findOffer(editor, kind)?.way ?? "source";

/** Convert a point of the screen to the coordinates of a scope. */
export function toScope(editor, scope, point) {
  const [x, y] = toGraph(editor, point);
  const [left, top] = editor.model.offset(scope);
  return { x: x - left, y: y - top };
}

/** Convert a point of the screen to root coordinates. */
export function toGraph(editor, { x, y }) {
  const { left, top } = editor.root.querySelector("[data-canvas]").getBoundingClientRect();
  return editor.canvas.viewport.toGraph(x - left, y - top);
}

/** Return the middle of the visible canvas. */
export function getVisibleMiddle(editor) {
  const box = editor.root.querySelector("[data-canvas]").getBoundingClientRect();
  return { x: box.left + box.width / 2, y: box.top + box.height / 2 };
}

function createTitle(editor, kind) {
  const name = getKindName(editor, kind);
  const names = new Set([...editor.model.nodes.keys()].map((id) => getNodeName(editor, id)));
  if (!names.has(name)) return name;
  let number = 2;
  while (names.has(`${name} ${number}`)) number++;
  return `${name} ${number}`;
}

/** Add a node after another one, at a point of the screen, or in the middle of the visible area. */
export async function addNode(editor, { kind, at = null, after = null, before = null, scope = ROOT }) {
  const size = getNewSize(editor, kind);
  if (!after && !before) after = findImpliedStart(editor, kind, scope) ?? (at || editor.selection.size ? null : findLooseEnd(editor, kind, scope));
  const wanted = choosePlace(editor, { at, after, before, scope, size });
  const margin = !after && !before && scope === ROOT ? WIDE_MARGIN : undefined;
  const place = at ? findNearestPlace(editor, scope, wanted, size) : findFreePlace(editor, scope, wanted, size, margin);
  const node = { id: createNodeId(editor, kind), kind, title: createTitle(editor, kind), ...place, parent: getParent(scope) };
  const ops = [{ op: "add", node }];
  if (after) ops.push({ op: "connect", edge: { source: after.id, handle: after.port ?? "source", target: node.id } });
  if (before) ops.push({ op: "connect", edge: { source: node.id, handle: getDefaultOutput(editor, kind), target: before.id } });
  const label = after && !after.isImplied ? t("Added {name} after {other}", { name: node.title, other: getNodeName(editor, after.id) }) : t("Added {name}", { name: node.title });
  return finish(editor, ops, label, node.id);
}

/** The first node in a container becomes the start of its rounds without an explicit edge. */
function findImpliedStart(editor, kind, scope) {
  const start = editor.canvas.containers.findIdleStart(scope);
  const takes = findOffer(editor, kind)?.takes ?? true;
  return start && takes ? { id: start.id, port: "source", isImplied: true } : null;
}

/** Return the only open end of the scope when nothing is selected, so that the new node continues there. */
function findLooseEnd(editor, kind, scope) {
  const openNodes = getNodesInScope(editor, scope).filter((node) => !isNote(node) && getOutputs(node).length && !getOutgoingEdges(editor, node.id).length);
  const takes = findOffer(editor, kind)?.takes ?? true;
  return openNodes.length === 1 && takes ? { id: openNodes[0].id, port: getOutputs(openNodes[0])[0] } : null;
}

function choosePlace(editor, request) {
  const place = proposePlace(editor, request);
  if (request.scope === ROOT) return place;
  return { x: Math.max(place.x, BOX_PADDING), y: Math.max(place.y, HEADER_HEIGHT + 8) };
}

function proposePlace(editor, { at, after, before, scope, size }) {
  const from = editor.model.nodes.get(after?.id);
  const to = editor.model.nodes.get(before?.id);
  if (!at && from) return { x: from.x + from.w + (from.w < CARD_WIDTH / 2 ? GAP / 2 : GAP), y: from.y };
  if (!at && to) return { x: to.x - size.w - GAP, y: to.y };
  const point = toScope(editor, scope, at ?? getVisibleMiddle(editor));
  if (after?.isImplied) return { x: Math.max(point.x - size.w / 2, from.x + from.w + GAP / 2), y: point.y - HEADER_HEIGHT / 2 };
  // An edge dropped at a point ends at the port of the new node, not in its middle.
  if (from) return { x: point.x, y: point.y - HEADER_HEIGHT / 2 };
  return { x: point.x - size.w / 2, y: point.y - HEADER_HEIGHT / 2 };
}

/** Insert a node into an edge; the nodes around it make way when there is too little room. */
export async function addBetween(editor, { kind, edge, at = null }) {
  const [from, to] = [editor.model.nodes.get(edge.from), editor.model.nodes.get(edge.to)];
  const scope = getScope(from);
  const size = getNewSize(editor, kind);
  const y = at && toScope(editor, scope, at).y - HEADER_HEIGHT / 2;
  const { place, moves } = makeRoomBetween(editor, { from, to, scope, size, y });
  const node = { id: createNodeId(editor, kind), kind, title: createTitle(editor, kind), ...place, parent: getParent(scope) };
  const ops = [
    { op: "disconnect", id: edge.id },
    { op: "add", node },
    { op: "connect", edge: { source: from.id, handle: edge.fp, target: node.id } },
    { op: "connect", edge: { source: node.id, handle: getDefaultOutput(editor, kind), target: to.id } },
    ...moves.map((move) => ({ op: "move", ...move })),
  ];
  const label = t("Inserted {name} between {from} and {to}", { name: node.title, from: getNodeName(editor, from.id), to: getNodeName(editor, to.id) });
  return finish(editor, ops, label, node.id);
}

async function finish(editor, ops, label, id) {
  const all = editor.canvas.showsAll();
  const change = await editor.edits.send(ops, { label });
  if (!change) return null;
  editor.say(label);
  if (isNarrow() && editor.root.dataset.view === "add") await showCanvas(editor);
  if (editor.model.nodes.has(id)) showInstead(editor, id, () => showAdded(editor, id, all));
  return id;
}

/**
 * Select and focus a new node, and keep it in view. A field in use keeps the focus: the next search may be under way in the
 * palette or the picker. On narrow screens the focus stays in the outline.
 */
function showAdded(editor, id, all) {
  if (document.querySelector("#picker:popover-open")) return;
  const isTyping = document.activeElement?.matches("input, textarea, [contenteditable]");
  if (isTyping) editor.canvas.pick([id]);
  else editor.canvas.focus(id);
  editor.canvas.keepInView(id, { all });
}

/** Show the canvas after a choice in the palette on a narrow screen, and wait until it has its size. */
function showCanvas(editor) {
  editor.panels.view("canvas");
  return new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
}
