// Adds nodes: finds a position and a title, and sends the operations.

import { BOX_PADDING, CARD_WIDTH, HEADER_HEIGHT, cardHeight, overlaps, snap } from "../../canvas/geometry.js";
import { ROOT, getOutgoingEdges, createNodeId, getNodesInScope, isNote, getKindName, getNodeName, findOffer, getOutputs, getParent, collectReachable, getScope } from "../graph_queries.js";
import { isNarrow } from "../panels.js";
import { t } from "../../common/translations.js";

const GAP = 64;
const STEP = 32; // distance of one attempt to find room
const MARGIN = 16; // distance from obstacles near a position the user pointed at
const WIDE_MARGIN = 48; // distance from obstacles where the user pointed at nothing; the state of a run is below a card
const MAX_NEIGHBOURS = 40; // the number of nearby nodes whose sides are tried

const getDefaultOutput = (editor, kind) => findOffer(editor, kind)?.way ?? "source";
const getSize = (editor, kind) => (findOffer(editor, kind)?.holds ? { w: 400, h: 200 } : { w: CARD_WIDTH, h: cardHeight(1) });

/** Return a free position at the given one or below it, at this distance from the other nodes. */
export function findFreePlace(editor, scope, position, size, excluded = new Set(), margin = 8) {
  const others = getNodesInScope(editor, scope).filter((node) => !isNote(node) && !excluded.has(node.id));
  const box = { x: snap(position.x), y: snap(position.y), w: size.w, h: size.h };
  const findObstacle = () => others.find((node) => overlaps({ x: node.x - margin, y: node.y - margin, w: node.w + 2 * margin, h: node.h + 2 * margin }, box));
  for (let obstacle = findObstacle(), tries = 0; obstacle && tries < 200; obstacle = findObstacle(), tries++) box.y = snap(Math.max(obstacle.y + obstacle.h + Math.max(STEP, margin), box.y + STEP));
  return { x: box.x, y: box.y };
}

/** Return the free position nearest to a point: beside, above or below the nodes there. */
function findNearestPlace(editor, scope, position, size) {
  const distance = (box) => Math.hypot(box.x - position.x, box.y - position.y);
  const others = getNodesInScope(editor, scope).filter((node) => !isNote(node));
  const near = [...others].sort((a, b) => distance(a) - distance(b)).slice(0, MAX_NEIGHBOURS);
  const min = scope === ROOT ? { x: -Infinity, y: -Infinity } : { x: BOX_PADDING, y: HEADER_HEIGHT + 8 };
  const xs = [position.x, ...near.flatMap((node) => [node.x - size.w - MARGIN, node.x + node.w + MARGIN])].map(snap);
  const ys = [position.y, ...near.flatMap((node) => [node.y - size.h - MARGIN, node.y + node.h + MARGIN])].map(snap);
  const positions = xs.flatMap((x) => ys.map((y) => ({ x, y }))).filter(({ x, y }) => x >= min.x && y >= min.y);
  const isFree = (candidate) => !others.some((node) => overlaps({ x: node.x - 8, y: node.y - 8, w: node.w + 16, h: node.h + 16 }, { ...candidate, ...size }));
  return positions.sort((a, b) => distance(a) - distance(b)).find(isFree) ?? findFreePlace(editor, scope, position, size);
}

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
  const size = getSize(editor, kind);
  if (!after && !before) after = findImpliedStart(editor, kind, scope) ?? (at || editor.selection.size ? null : findLooseEnd(editor, kind, scope));
  const wanted = choosePlace(editor, { at, after, before, scope, size });
  const margin = !after && !before && scope === ROOT ? WIDE_MARGIN : undefined;
  const place = at ? findNearestPlace(editor, scope, wanted, size) : findFreePlace(editor, scope, wanted, size, undefined, margin);
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

/** Insert a node into an edge; the nodes behind it move when there is too little room. */
export async function addBetween(editor, { kind, edge, at = null }) {
  const [from, to] = [editor.model.nodes.get(edge.from), editor.model.nodes.get(edge.to)];
  const scope = getScope(from);
  const size = getSize(editor, kind);
  const room = to.x - (from.x + from.w);
  const shortage = to.x > from.x ? size.w + 2 * GAP - room : 0;
  const moved = shortage > 0 ? [...collectReachable(editor, [to.id], "after")].map((id) => editor.model.nodes.get(id)).filter((n) => n && n.id !== from.id && n.x >= to.x) : [];
  const x = shortage > 0 || to.x <= from.x ? from.x + from.w + GAP : from.x + from.w + (room - size.w) / 2;
  const y = at ? toScope(editor, scope, at).y - HEADER_HEIGHT / 2 : (from.y + to.y) / 2;
  const excluded = new Set([...moved.map((node) => node.id)]);
  const minY = scope === ROOT ? -Infinity : HEADER_HEIGHT + 8;
  const place = findFreePlace(editor, scope, { x, y: Math.max(y, minY) }, size, excluded);
  const node = { id: createNodeId(editor, kind), kind, title: createTitle(editor, kind), ...place, parent: getParent(scope) };
  const ops = [
    { op: "disconnect", id: edge.id },
    { op: "add", node },
    { op: "connect", edge: { source: from.id, handle: edge.fp, target: node.id } },
    { op: "connect", edge: { source: node.id, handle: getDefaultOutput(editor, kind), target: to.id } },
    ...moved.map((obstacle) => ({ op: "move", id: obstacle.id, x: snap(obstacle.x + shortage), y: obstacle.y })),
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
  if (editor.model.nodes.has(id)) showAdded(editor, id, all);
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
