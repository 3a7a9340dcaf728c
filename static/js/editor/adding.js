// New nodes: where they go, what they are called, and the operations that bring them in.

import { BOX_PAD, CARD_WIDTH, HEAD, cardHeight, hits, snap } from "../canvas/geometry.js";
import { ROOT, edgesFrom, freshId, inScope, isNote, kindName, nameOf, offerOf, outsOf, parentOf, reach, scopeOf } from "./graph.js";
import { t } from "./words.js";

const GAP = 96;
const LIFT = 32; // how far one moves aside to find room
const ASIDE = 16; // from what stands in the way of a place that was pointed at
const NEIGHBOURS = 40; // of these at most the sides are tried

const wayOf = (editor, kind) => offerOf(editor, kind)?.way ?? "source";
const sizeOf = (editor, kind) => (offerOf(editor, kind)?.holds ? { w: 400, h: 200 } : { w: CARD_WIDTH, h: cardHeight(1, 1) });

/** Where nothing stands yet: at the place, or below it. */
export function freePlace(editor, scope, place, size, but = new Set()) {
  const others = inScope(editor, scope).filter((node) => !isNote(node) && !but.has(node.id));
  const box = { x: snap(place.x), y: snap(place.y), w: size.w, h: size.h };
  const taken = () => others.find((node) => hits({ x: node.x - 8, y: node.y - 8, w: node.w + 16, h: node.h + 16 }, box));
  for (let other = taken(), tries = 0; other && tries < 200; other = taken(), tries++) box.y = snap(Math.max(other.y + other.h + LIFT, box.y + LIFT));
  return { x: box.x, y: box.y };
}

/** The free place nearest to a point: beside, above or below what stands there, whichever is the shortest way. */
function nearestPlace(editor, scope, place, size) {
  const far = (box) => Math.hypot(box.x - place.x, box.y - place.y);
  const others = inScope(editor, scope).filter((node) => !isNote(node));
  const near = [...others].sort((a, b) => far(a) - far(b)).slice(0, NEIGHBOURS);
  const least = scope === ROOT ? { x: -Infinity, y: -Infinity } : { x: BOX_PAD, y: HEAD + 8 };
  const xs = [place.x, ...near.flatMap((node) => [node.x - size.w - ASIDE, node.x + node.w + ASIDE])].map(snap);
  const ys = [place.y, ...near.flatMap((node) => [node.y - size.h - ASIDE, node.y + node.h + ASIDE])].map(snap);
  const places = xs.flatMap((x) => ys.map((y) => ({ x, y }))).filter(({ x, y }) => x >= least.x && y >= least.y);
  const isFree = (at) => !others.some((node) => hits({ x: node.x - 8, y: node.y - 8, w: node.w + 16, h: node.h + 16 }, { ...at, ...size }));
  return places.sort((a, b) => far(a) - far(b)).find(isFree) ?? freePlace(editor, scope, place, size);
}

/** A point of the screen in a scope's own coordinates. */
export function toScope(editor, scope, point) {
  const [x, y] = toGraph(editor, point);
  const [left, top] = editor.model.offset(scope);
  return { x: x - left, y: y - top };
}

/** A point of the screen in the coordinates of the top. */
export function toGraph(editor, { x, y }) {
  const { left, top } = editor.root.querySelector("[data-canvas]").getBoundingClientRect();
  return editor.canvas.viewport.toGraph(x - left, y - top);
}

/** The middle of what one sees. */
export function middle(editor) {
  const box = editor.root.querySelector("[data-canvas]").getBoundingClientRect();
  return { x: box.left + box.width / 2, y: box.top + box.height / 2 };
}

function titleFor(editor, kind) {
  const name = kindName(editor, kind);
  const names = new Set([...editor.model.nodes.keys()].map((id) => nameOf(editor, id)));
  if (!names.has(name)) return name;
  let number = 2;
  while (names.has(`${name} ${number}`)) number++;
  return `${name} ${number}`;
}

/** One node, beside the one it follows, at a point of the screen, or in the middle of what is seen. */
export async function addNode(editor, { kind, at = null, after = null, before = null, scope = ROOT }) {
  const size = sizeOf(editor, kind);
  if (!after && !before) after = beginningOf(editor, kind, scope) ?? (at || editor.selection.size ? null : looseEnd(editor, kind, scope));
  const place = (at ? nearestPlace : freePlace)(editor, scope, placeFor(editor, { at, after, before, scope, size }), size);
  const node = { id: freshId(editor, kind), kind, title: titleFor(editor, kind), ...place, parent: parentOf(scope) };
  const ops = [{ op: "add", node }];
  if (after) ops.push({ op: "connect", edge: { source: after.id, handle: after.port ?? "source", target: node.id } });
  if (before) ops.push({ op: "connect", edge: { source: node.id, handle: wayOf(editor, kind), target: before.id } });
  const words = after && !after.isImplied ? t("Added {name} after {other}", { name: node.title, other: nameOf(editor, after.id) }) : t("Added {name}", { name: node.title });
  return finish(editor, ops, words, node.id);
}

/** What comes first into a container begins its rounds: nobody should have to know that it takes an edge. */
function beginningOf(editor, kind, scope) {
  const start = editor.canvas.containers.idleStart(scope);
  const takes = offerOf(editor, kind)?.takes ?? true;
  return start && takes ? { id: start.id, port: "source", isImplied: true } : null;
}

/** Nothing chosen, and one node alone that something may follow and nothing does: there it goes on. */
function looseEnd(editor, kind, scope) {
  const loose = inScope(editor, scope).filter((node) => !isNote(node) && outsOf(node).length && !edgesFrom(editor, node.id).length);
  const takes = offerOf(editor, kind)?.takes ?? true;
  return loose.length === 1 && takes ? { id: loose[0].id, port: outsOf(loose[0])[0] } : null;
}

function placeFor(editor, asked) {
  const place = wished(editor, asked);
  if (asked.scope === ROOT) return place;
  return { x: Math.max(place.x, BOX_PAD), y: Math.max(place.y, HEAD + 8) };
}

function wished(editor, { at, after, before, scope, size }) {
  const from = editor.model.nodes.get(after?.id);
  const to = editor.model.nodes.get(before?.id);
  if (!at && from) return { x: from.x + from.w + (from.w < CARD_WIDTH / 2 ? GAP / 2 : GAP), y: from.y };
  if (!at && to) return { x: to.x - size.w - GAP, y: to.y };
  const point = toScope(editor, scope, at ?? middle(editor));
  if (after?.isImplied) return { x: Math.max(point.x - size.w / 2, from.x + from.w + GAP / 2), y: point.y - HEAD / 2 };
  // an edge let go at a point should end at the new node's port, not in its middle
  if (from) return { x: point.x, y: point.y - HEAD / 2 };
  return { x: point.x - size.w / 2, y: point.y - HEAD / 2 };
}

/** Into an edge: what stands behind it makes room when there is none. */
export async function addBetween(editor, { kind, edge, at = null }) {
  const [from, to] = [editor.model.nodes.get(edge.from), editor.model.nodes.get(edge.to)];
  const scope = scopeOf(from);
  const size = sizeOf(editor, kind);
  const room = to.x - (from.x + from.w);
  const missing = to.x > from.x ? size.w + 2 * GAP - room : 0;
  const moved = missing > 0 ? [...reach(editor, [to.id], "after")].map((id) => editor.model.nodes.get(id)).filter((n) => n && n.id !== from.id && n.x >= to.x) : [];
  const x = missing > 0 || to.x <= from.x ? from.x + from.w + GAP : from.x + from.w + (room - size.w) / 2;
  const y = at ? toScope(editor, scope, at).y - HEAD / 2 : (from.y + to.y) / 2;
  const but = new Set([...moved.map((node) => node.id)]);
  const inside = scope === ROOT ? -Infinity : HEAD + 8;
  const place = freePlace(editor, scope, { x, y: Math.max(y, inside) }, size, but);
  const node = { id: freshId(editor, kind), kind, title: titleFor(editor, kind), ...place, parent: parentOf(scope) };
  const ops = [
    { op: "disconnect", id: edge.id },
    { op: "add", node },
    { op: "connect", edge: { source: from.id, handle: edge.fp, target: node.id } },
    { op: "connect", edge: { source: node.id, handle: wayOf(editor, kind), target: to.id } },
    ...moved.map((other) => ({ op: "move", id: other.id, x: snap(other.x + missing), y: other.y })),
  ];
  const words = t("Inserted {name} between {from} and {to}", { name: node.title, from: nameOf(editor, from.id), to: nameOf(editor, to.id) });
  return finish(editor, ops, words, node.id);
}

async function finish(editor, ops, words, id) {
  const change = await editor.edits.send(ops, { label: words });
  if (!change) return null;
  editor.say(words);
  // on a phone the canvas isn't shown: the focus stays in the outline, which has the new node too
  if (editor.model.nodes.has(id)) editor.canvas.focus(id);
  return id;
}
