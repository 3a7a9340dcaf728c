// How big a card is, where its ports are, which way an edge runs. Pure; no DOM.
// The twin of workflows/engine/geometry.py: a parity test keeps the two equal.

export const GRID = 8;
export const CARD_WIDTH = 240;
export const HEAD = 48;
export const ROW = 24;
export const FOOT = 8;
export const PORT_Y = 24;
export const BOX_PAD = 24;
export const SMALLEST = { box: [240, 120], note: [120, 64] };

const LEAST_BEND = 40;
const LEAST_BEND_BACK = 60;
const BACK = 0.6;

/** @typedef {{x: number, y: number, w: number, h: number}} Box */

/** @param {number} rows @param {number} ways */
export function cardHeight(rows, ways) {
  const lines = rows + (ways > 1 ? ways : 0);
  return HEAD + (lines ? lines * ROW + FOOT : 0);
}

/** @param {number} index @param {number} ways @param {number} rows */
export const portY = (index, ways, rows) => (ways <= 1 ? PORT_Y : HEAD + ROW * (rows + index) + ROW / 2);

/** How far an edge's control points stand out. */
export const bend = (x1, x2) => (x2 >= x1 ? Math.max(LEAST_BEND, (x2 - x1) / 2) : Math.max(LEAST_BEND_BACK, (x1 - x2) * BACK));

export function path(x1, y1, x2, y2) {
  const c = bend(x1, x2);
  return `M${number(x1)},${number(y1)}C${number(x1 + c)},${number(y1)} ${number(x2 - c)},${number(y2)} ${number(x2)},${number(y2)}`;
}

/** Two digits, rounded half up: the one way that is the same in both languages. */
export const number = (value) => Math.floor(value * 100 + 0.5) / 100;

/** A point of the edge, t from 0 to 1. */
export function along(x1, y1, x2, y2, t) {
  const c = bend(x1, x2);
  const s = 1 - t;
  const [a, b, d, e] = [s * s * s, 3 * s * s * t, 3 * s * t * t, t * t * t];
  return [a * x1 + b * (x1 + c) + d * (x2 - c) + e * x2, a * y1 + b * y1 + d * y2 + e * y2];
}

/** How far a point is from an edge; coarse, good enough for a pointer. */
export function distanceToEdge(px, py, x1, y1, x2, y2) {
  const steps = Math.min(48, 8 + Math.round((Math.abs(x2 - x1) + Math.abs(y2 - y1)) / 60));
  let least = Infinity;
  let [ax, ay] = [x1, y1];
  for (let i = 1; i <= steps; i++) {
    const [bx, by] = along(x1, y1, x2, y2, i / steps);
    least = Math.min(least, distanceToLine(px, py, ax, ay, bx, by));
    [ax, ay] = [bx, by];
  }
  return least;
}

function distanceToLine(px, py, ax, ay, bx, by) {
  const [dx, dy] = [bx - ax, by - ay];
  const long = dx * dx + dy * dy;
  const t = long ? clamp(((px - ax) * dx + (py - ay) * dy) / long, 0, 1) : 0;
  return Math.hypot(px - ax - t * dx, py - ay - t * dy);
}

/** What an edge can reach, bends included. */
export function edgeBox(x1, y1, x2, y2) {
  const c = bend(x1, x2);
  const back = x2 < x1 ? c : 0;
  const [left, right] = [Math.min(x1, x2) - back, Math.max(x1, x2) + back];
  return { x: left, y: Math.min(y1, y2), w: right - left, h: Math.abs(y2 - y1) };
}

export const clamp = (value, low, high) => Math.min(high, Math.max(low, value));
export const snap = (value) => Math.round(value / GRID) * GRID;

/** @param {Box} a @param {Box} b */
export const hits = (a, b) => a.x < b.x + b.w && a.x + a.w > b.x && a.y < b.y + b.h && a.y + a.h > b.y;
export const holds = (box, x, y) => x >= box.x && x <= box.x + box.w && y >= box.y && y <= box.y + box.h;
export const grown = (box, by) => ({ x: box.x - by, y: box.y - by, w: box.w + 2 * by, h: box.h + 2 * by });

/** @param {Iterable<Box>} boxes @returns {Box} */
export function around(boxes) {
  let [x1, y1, x2, y2] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const b of boxes) {
    x1 = Math.min(x1, b.x);
    y1 = Math.min(y1, b.y);
    x2 = Math.max(x2, b.x + b.w);
    y2 = Math.max(y2, b.y + b.h);
  }
  return x1 === Infinity ? { x: 0, y: 0, w: CARD_WIDTH, h: HEAD } : { x: x1, y: y1, w: x2 - x1, h: y2 - y1 };
}
