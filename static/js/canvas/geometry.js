// Computes sizes of cards, positions of ports and paths of edges, without the DOM. Its twin is
// workflows/engine/geometry.py; a parity test keeps the two equal.

export const GRID = 8;
export const CARD_WIDTH = 256;
export const HEADER_HEIGHT = 64;
export const ROW_HEIGHT = 24;
export const FOOTER_HEIGHT = 8;
export const PORT_Y = 32;
export const BOX_PADDING = 24;
export const MIN_SIZES = { box: [240, 120], note: [120, 64] };

const MIN_BEND = 40;
const MIN_BACKWARD_BEND = 60;
const BACKWARD_BEND = 0.6;

/** @typedef {{x: number, y: number, w: number, h: number}} Box */

/** @param {number} outputs */
export const cardHeight = (outputs) => HEADER_HEIGHT + (outputs > 1 ? outputs * ROW_HEIGHT + FOOTER_HEIGHT : 0);

/** @param {number} index @param {number} outputs */
export const portY = (index, outputs) => (outputs <= 1 ? PORT_Y : HEADER_HEIGHT + ROW_HEIGHT * index + ROW_HEIGHT / 2);

/** Return how far the control points of an edge lie from its ends. */
export const controlOffset = (x1, x2) => (x2 >= x1 ? Math.max(Math.min(MIN_BEND, x2 - x1), (x2 - x1) / 2) : Math.max(MIN_BACKWARD_BEND, (x1 - x2) * BACKWARD_BEND));

export function path(x1, y1, x2, y2) {
  const c = controlOffset(x1, x2);
  return `M${roundCoordinate(x1)},${roundCoordinate(y1)}C${roundCoordinate(x1 + c)},${roundCoordinate(y1)} ${roundCoordinate(x2 - c)},${roundCoordinate(y2)} ${roundCoordinate(x2)},${roundCoordinate(y2)}`;
}

/** Round half up to two digits, which gives the same result in JavaScript and Python. */
export const roundCoordinate = (value) => Math.floor(value * 100 + 0.5) / 100;

/** Return the point of the edge at t, from 0 to 1. */
export function pointOnEdge(x1, y1, x2, y2, t) {
  const c = controlOffset(x1, x2);
  const s = 1 - t;
  const [a, b, d, e] = [s * s * s, 3 * s * s * t, 3 * s * t * t, t * t * t];
  return [a * x1 + b * (x1 + c) + d * (x2 - c) + e * x2, a * y1 + b * y1 + d * y2 + e * y2];
}

/** Return the approximate distance of a point from an edge; it is exact enough for a pointer. */
export function distanceToEdge(px, py, x1, y1, x2, y2) {
  const steps = Math.min(48, 8 + Math.round((Math.abs(x2 - x1) + Math.abs(y2 - y1)) / 60));
  let shortest = Infinity;
  let [ax, ay] = [x1, y1];
  for (let i = 1; i <= steps; i++) {
    const [bx, by] = pointOnEdge(x1, y1, x2, y2, i / steps);
    shortest = Math.min(shortest, distanceToLine(px, py, ax, ay, bx, by));
    [ax, ay] = [bx, by];
  }
  return shortest;
}

export function distanceToLine(px, py, ax, ay, bx, by) {
  const [dx, dy] = [bx - ax, by - ay];
  const lengthSquared = dx * dx + dy * dy;
  const t = lengthSquared ? clamp(((px - ax) * dx + (py - ay) * dy) / lengthSquared, 0, 1) : 0;
  return Math.hypot(px - ax - t * dx, py - ay - t * dy);
}

/** Return the box around an edge, including its bends. */
export function edgeBox(x1, y1, x2, y2) {
  const c = controlOffset(x1, x2);
  const overhang = x2 < x1 ? c : 0;
  const [left, right] = [Math.min(x1, x2) - overhang, Math.max(x1, x2) + overhang];
  return { x: left, y: Math.min(y1, y2), w: right - left, h: Math.abs(y2 - y1) };
}

export const clamp = (value, low, high) => Math.min(high, Math.max(low, value));
export const snap = (value) => Math.round(value / GRID) * GRID;

/** @param {Box} a @param {Box} b */
export const overlaps = (a, b) => a.x < b.x + b.w && a.x + a.w > b.x && a.y < b.y + b.h && a.y + a.h > b.y;
export const containsPoint = (box, x, y) => x >= box.x && x <= box.x + box.w && y >= box.y && y <= box.y + box.h;
export const expandBox = (box, by) => ({ x: box.x - by, y: box.y - by, w: box.w + 2 * by, h: box.h + 2 * by });

/** @param {Iterable<Box>} boxes @returns {Box} */
export function boundingBox(boxes) {
  let [x1, y1, x2, y2] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const b of boxes) {
    x1 = Math.min(x1, b.x);
    y1 = Math.min(y1, b.y);
    x2 = Math.max(x2, b.x + b.w);
    y2 = Math.max(y2, b.y + b.h);
  }
  return x1 === Infinity ? { x: 0, y: 0, w: CARD_WIDTH, h: HEADER_HEIGHT } : { x: x1, y: y1, w: x2 - x1, h: y2 - y1 };
}
