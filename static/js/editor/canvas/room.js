// Finds room for a node on the canvas: a free place near a position, or one between two nodes, from which others make way.

import { BOX_PADDING, CARD_WIDTH, HEADER_HEIGHT, cardHeight, overlaps, snap } from "../../canvas/geometry.js";
import { ROOT, collectReachable, findOffer, getIncomingEdges, getNodesInScope, getOutgoingEdges, isNote } from "../graph_queries.js";

export const GAP = 64; // between a node and the next one
const STEP = 32; // distance of one attempt to find room
const NEAR = 8; // nodes nearer than this to each other's side are in the way
const MARGIN = 16; // distance from obstacles near a position the user pointed at
const STATE_ROOM = 40; // above and below a node, where the mark of a run lies; as far apart as tidied nodes
const ROW_REACH = 48; // what is dropped this near to a row of nodes is put into it
const MAX_NEIGHBOURS = 40; // the number of nearby nodes whose sides are tried
const MAX_TRIES = 200;

/** Return the size of a new node of a kind. */
export function getNewSize(editor, kind) {
  const offer = findOffer(editor, kind);
  return offer?.holds ? { w: 400, h: 200 } : { w: CARD_WIDTH, h: cardHeight(offer?.outputs ?? 1) };
}

const getTop = (scope) => (scope === ROOT ? -Infinity : HEADER_HEIGHT + 8);
const listBoxes = (editor, scope) =>
  getNodesInScope(editor, scope)
    .filter((node) => !isNote(node))
    .map(({ id, x, y, w, h }) => ({ id, x, y, w, h }));
const collides = (box, other, margin = NEAR) => {
  const beside = Math.max(margin, STATE_ROOM);
  return overlaps({ x: other.x - margin, y: other.y - beside, w: other.w + 2 * margin, h: other.h + 2 * beside }, box);
};

/** Return a free position at the given one or below it, at this distance from the other nodes and from the marks below them. */
export function findFreePlace(editor, scope, position, size, margin = NEAR) {
  return moveBelow(listBoxes(editor, scope), { x: snap(position.x), y: snap(position.y), ...size }, margin);
}

function moveBelow(others, box, margin = NEAR) {
  const moved = { ...box };
  const findObstacle = () => others.find((other) => collides(moved, other, margin));
  for (let obstacle = findObstacle(), tries = 0; obstacle && tries < MAX_TRIES; obstacle = findObstacle(), tries++) {
    moved.y = snap(Math.max(obstacle.y + obstacle.h + Math.max(STATE_ROOM, margin), moved.y + STEP));
  }
  return { x: moved.x, y: moved.y };
}

/** Return the free position nearest to a point: beside, above or below the nodes there. */
export function findNearestPlace(editor, scope, position, size) {
  const distance = (box) => Math.hypot(box.x - position.x, box.y - position.y);
  const others = listBoxes(editor, scope);
  const near = [...others].sort((a, b) => distance(a) - distance(b)).slice(0, MAX_NEIGHBOURS);
  const min = { x: scope === ROOT ? -Infinity : BOX_PADDING, y: getTop(scope) };
  const xs = [position.x, ...near.flatMap((node) => [node.x - size.w - MARGIN, node.x + node.w + MARGIN])].map(snap);
  const ys = [position.y, ...near.flatMap((node) => [node.y - size.h - STATE_ROOM, node.y + node.h + STATE_ROOM])].map(snap);
  const positions = xs.flatMap((x) => ys.map((y) => ({ x, y }))).filter(({ x, y }) => x >= min.x && y >= min.y);
  const isFree = (candidate) => !others.some((other) => collides({ ...candidate, ...size }, other));
  return positions.sort((a, b) => distance(a) - distance(b)).find(isFree) ?? findFreePlace(editor, scope, position, size);
}

/**
 * Return the place of a node of this size between two others, and the nodes that make way with their new positions. What is
 * behind moves to the right together with what it would then cover, and what lies below moves down. With `y`, somebody has
 * pointed there.
 */
export function makeRoomBetween(editor, { from, to, scope, size, y = null }) {
  const boxes = listBoxes(editor, scope);
  const room = to.x - (from.x + from.w);
  const shortage = to.x > from.x ? Math.max(0, size.w + 2 * GAP - room) : 0;
  const x = shortage > 0 || to.x <= from.x ? from.x + from.w + GAP : from.x + from.w + (room - size.w) / 2;
  const box = { x: snap(x), y: snap(Math.max(chooseRow(editor, from, to, y), getTop(scope))), ...size };
  const behind = collectReachable(editor, [to.id], "after");
  const isBehind = ({ id, x: left }) => behind.has(id) && id !== from.id && left >= to.x;
  const moved = moveAside(boxes, shortage > 0 ? boxes.filter(isBehind) : [], from.id, Math.ceil(shortage / 8) * 8);
  const shift = moveDown(moved, box, from);
  const others = moved.map((other) => (shift && other.y >= shift.from && other.id !== from.id ? { ...other, y: other.y + shift.by } : other));
  const previous = new Map(boxes.map((old) => [old.id, old]));
  return {
    place: moveBelow(others, box),
    moves: others.filter(({ id, x: left, y: top }) => left !== previous.get(id).x || top !== previous.get(id).y).map(({ id, x: left, y: top }) => ({ id, x: left, y: top })),
  };
}

/** Return the row of the node in whose branch the new one is, or the middle of both; near it, what was pointed at counts as it. */
function chooseRow(editor, from, to, y) {
  const isBranch = getOutgoingEdges(editor, from.id).length > 1;
  const isJoin = getIncomingEdges(editor, to.id).length > 1;
  const row = isBranch ? to.y : isJoin ? from.y : (from.y + to.y) / 2;
  return y !== null && Math.abs(y - row) > ROW_REACH ? y : row;
}

/** Return the boxes, with some of them moved to the right, and every other one that they would then cover. */
function moveAside(boxes, first, fixed, by) {
  const moving = new Set(first.map(({ id }) => id));
  const place = (box) => (moving.has(box.id) ? { ...box, x: box.x + by } : box);
  for (let count = -1; count !== moving.size; ) {
    count = moving.size;
    const placed = boxes.filter(({ id }) => moving.has(id)).map(place);
    for (const box of boxes) if (!moving.has(box.id) && box.id !== fixed && placed.some((other) => collides(other, box))) moving.add(box.id);
  }
  return boxes.map(place);
}

/** Return how far what lies below a new box moves down, and from where on; null if nothing does, or if `from` lies there, too. */
function moveDown(boxes, box, from) {
  const below = boxes.filter((other) => other.id !== from.id && other.y > box.y && collides(box, other));
  if (!below.length) return null;
  const top = Math.min(...below.map(({ y }) => y));
  return from.y >= top ? null : { from: top, by: Math.ceil((box.y + box.h + STATE_ROOM - top) / 8) * 8 };
}
