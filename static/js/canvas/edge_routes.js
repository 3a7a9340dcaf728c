// Leads edges around the cards between their ends, without the DOM. Its twin is workflows/engine/drawing/edge_routes.py; a parity
// test keeps the two equal.

import { controlOffset, distanceToEdge, distanceToLine, edgeBox, path, pointOnEdge, roundCoordinate } from "./geometry.js";

export const MAX_ROUTED_NODES = 260; // in larger graphs, all edges are curves
export const MAX_ROUTED_EDGES = 400;
export const LEAD = 24; // the horizontal distance between a port and the first turn
export const LANE = 16; // the distance of a detour from the cards that it passes
export const CLEARANCE = 6; // the least distance of a detour from any card
export const REACH = 400; // how far above and below its ends an edge may be led
export const CORNER = 12; // the radius of a turn
export const SAMPLES = 16; // the straight parts that a curve is tested with

/**
 * @typedef {[number, number, number, number]} Ends
 * @typedef {{id: string, x: number, y: number, w: number, h: number}} Obstacle
 * @typedef {[number, number, number]} Detour the x of the first turn, the y of the lane, the x of the last turn
 */

/** @param {Ends} ends @param {Detour | null} detour */
export function routePath(ends, detour) {
  if (!detour) return path(...ends);
  const points = listPoints(ends, detour);
  let d = `M${format(points[0])}`;
  for (let i = 1; i < points.length - 1; i++) {
    const [before, turn, after] = [points[i - 1], points[i], points[i + 1]];
    const radius = Math.min(CORNER, measure(before, turn) / 2, measure(turn, after) / 2);
    d += `L${format(approach(turn, before, radius))}Q${format(turn)} ${format(approach(turn, after, radius))}`;
  }
  return `${d}L${format(points.at(-1))}`;
}

/** Return the point of a route at t, from 0 to 1. */
export function pointOnRoute(ends, detour, t) {
  if (!detour) return pointOnEdge(...ends, t);
  const points = listPoints(ends, detour);
  let left = t * points.reduce((sum, point, i) => sum + (i ? measure(points[i - 1], point) : 0), 0);
  for (let i = 1; i < points.length; i++) {
    const length = measure(points[i - 1], points[i]);
    if (left <= length) return approach(points[i - 1], points[i], left);
    left -= length;
  }
  return points.at(-1);
}

/** Return the distance of a point from a route. */
export function distanceToRoute(px, py, ends, detour) {
  if (!detour) return distanceToEdge(px, py, ...ends);
  const points = listPoints(ends, detour);
  return Math.min(...points.slice(1).map((point, i) => distanceToLine(px, py, ...points[i], ...point)));
}

/** Return the box around a route, including its bends. */
export function routeBox(ends, detour) {
  if (!detour) return edgeBox(...ends);
  const points = listPoints(ends, detour);
  const [xs, ys] = [points.map(([x]) => x), points.map(([, y]) => y)];
  const [left, top] = [Math.min(...xs), Math.min(...ys)];
  return { x: left, y: top, w: Math.max(...xs) - left, h: Math.max(...ys) - top };
}

/**
 * Return the shortest detour, or null if the curve is free or every detour is blocked.
 * @param {Ends} ends @param {Obstacle[]} obstacles @param {string[]} endIds cards that the edge may come close to
 * @returns {Detour | null}
 */
export function findDetour(ends, obstacles, endIds = []) {
  const [x1, y1, x2, y2] = ends;
  const isForward = x2 >= x1;
  const overhang = isForward ? 0 : controlOffset(x1, x2);
  const [left, right] = [Math.min(x1, x2) - overhang, Math.max(x1, x2) + overhang];
  const [top, bottom] = [Math.min(y1, y2), Math.max(y1, y2)];
  const blocking = [];
  for (const o of obstacles) {
    if (o.x >= right || o.x + o.w <= left || o.y >= bottom + 1 || o.y + o.h <= top - 1) continue;
    if (!(isForward && endIds.includes(o.id)) && crosses(ends, o)) blocking.push(o);
  }
  if (!blocking.length) return null;
  const margin = Math.max(overhang, LEAD);
  const near = obstacles.filter((o) => o.x < right + margin && o.x + o.w > left - margin && o.y < bottom + REACH && o.y + o.h > top - REACH);
  return chooseDetour(ends, near, blocking, endIds);
}

function crosses([x1, y1, x2, y2], obstacle) {
  const bend = controlOffset(x1, x2);
  let before = [x1, y1];
  for (let step = 1; step <= SAMPLES; step++) {
    const t = step / SAMPLES;
    const s = 1 - t;
    const [a, b, c, d] = [s * s * s, 3 * s * s * t, 3 * s * t * t, t * t * t];
    const after = [a * x1 + b * (x1 + bend) + c * (x2 - bend) + d * x2, a * y1 + b * y1 + c * y2 + d * y2];
    if (cuts(before, after, obstacle)) return true;
    before = after;
  }
  return false;
}

/** Return whether a straight line has a part inside a box. */
function cuts(start, end, { x, y, w, h }) {
  let [low, high] = [0, 1];
  for (const [from, to, near, far] of [[start[0], end[0], x, x + w], [start[1], end[1], y, y + h]]) {
    if (from === to) {
      if (from <= near || from >= far) return false;
      continue;
    }
    const [first, last] = [(near - from) / (to - from), (far - from) / (to - from)];
    low = Math.max(low, Math.min(first, last));
    high = Math.min(high, Math.max(first, last));
  }
  return low < high;
}

function chooseDetour(ends, near, blocking, endIds) {
  const [x1, y1, x2, y2] = ends;
  const lead = x2 >= x1 ? Math.min(LEAD, (x2 - x1) / 2) : LEAD;
  const lanes = new Set([y1, y2, ...near.flatMap((o) => [o.y - LANE, o.y + o.h + LANE])]);
  const outs = new Set([x1 + lead, ...blocking.map((o) => o.x - LANE).filter((x) => x > x1 + lead)]);
  const ins = new Set([x2 - lead, ...blocking.map((o) => o.x + o.w + LANE).filter((x) => x < x2 - lead)]);
  const detours = [...lanes].flatMap((y) => [...outs].flatMap((out) => [...ins].map((into) => [out, y, into])));
  const cost = ([out, y, into]) => Math.abs(y - y1) + Math.abs(y - y2) + Math.abs(into - out);
  detours.sort((a, b) => cost(a) - cost(b) || a[0] - b[0] || a[1] - b[1] || a[2] - b[2]);
  return detours.find((detour) => isFree(ends, detour, near, endIds)) ?? null;
}

function isFree([x1, y1, x2, y2], [out, y, into], near, endIds) {
  const lines = [[x1, y1, out, y1, false], [out, y1, out, y, true], [out, y, into, y, true], [into, y, into, y2, true], [into, y2, x2, y2, false]];
  return !lines.some((line) => near.some((o) => (line[4] || !endIds.includes(o.id)) && touches(line, o)));
}

/** Return whether a horizontal or vertical line comes too close to a card. */
const touches = ([x1, y1, x2, y2], { x, y, w, h }) =>
  Math.max(x1, x2) > x - CLEARANCE && Math.min(x1, x2) < x + w + CLEARANCE && Math.max(y1, y2) > y - CLEARANCE && Math.min(y1, y2) < y + h + CLEARANCE;

/** Return the corners of a detour, without those that lie on one another. */
function listPoints([x1, y1, x2, y2], [out, y, into]) {
  const points = [[x1, y1], [out, y1], [out, y], [into, y], [into, y2], [x2, y2]];
  return points.filter(([px, py], i) => !i || px !== points[i - 1][0] || py !== points[i - 1][1]);
}

const measure = ([ax, ay], [bx, by]) => Math.hypot(bx - ax, by - ay);

/** Return the point at a distance from a turn towards another point. */
function approach(turn, other, radius) {
  const length = measure(turn, other);
  return length ? [turn[0] + ((other[0] - turn[0]) / length) * radius, turn[1] + ((other[1] - turn[1]) / length) * radius] : turn;
}

const format = ([x, y]) => `${roundCoordinate(x)},${roundCoordinate(y)}`;
