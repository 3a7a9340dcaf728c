// Where a graph can be shown so that what floats over the canvas covers none of it. Pure; no DOM.

import { hits } from "./geometry.js";

const PAD = 48;
const ASIDE = 16; // px between what floats and what is shown
const WORTH = 0.7; // of the scale it would have otherwise: smaller than that, one rather looks under the overview

/** The largest scale at which the box fits between the insets, no larger than life. */
export function scaleIn({ w, h }, [width, height], { left, top, right, bottom }, least = 0) {
  return Math.max(least, Math.min(Math.max(80, width - left - right) / w, Math.max(80, height - top - bottom) / h, 1));
}

/**
 * @param {Box} box what is to be seen, and `nodes` what is in it
 * @param {[number, number]} size of the canvas on screen
 * @param {Box[]} floating on the canvas, in its pixels
 * @returns {{left: number, top: number, right: number, bottom: number}} room to leave at each side
 */
export function roomFor(box, nodes, size, floating) {
  const plain = { left: PAD, top: PAD, right: PAD, bottom: PAD };
  let insets = plain;
  for (const other of floating) {
    if (!isCovered(box, nodes, size, insets, other)) continue;
    const better = asides(insets, size, other).sort((a, b) => scaleIn(box, size, b) - scaleIn(box, size, a))[0];
    if (scaleIn(box, size, better) >= WORTH * scaleIn(box, size, plain)) insets = better;
  }
  return insets;
}

/** Past it upwards, or to the side away from the edge it stands at. */
function asides(insets, [width, height], { x, y, w }) {
  const above = { ...insets, bottom: Math.max(insets.bottom, height - y + ASIDE) };
  const isRight = x + w / 2 > width / 2;
  const beside = isRight ? { ...insets, right: Math.max(insets.right, width - x + ASIDE) } : { ...insets, left: Math.max(insets.left, x + w + ASIDE) };
  return [above, beside];
}

/**
 * The shortest way to where nothing floats over a box and it is wholly in view; none where there is no such place.
 * @returns {[number, number]} pixels
 */
export function clear(box, [width, height], floating) {
  const covered = (at) => floating.some((other) => hits({ x: at.x - ASIDE / 2, y: at.y - ASIDE / 2, w: at.w + ASIDE, h: at.h + ASIDE }, other));
  if (!floating.some((other) => hits(box, other))) return [0, 0];
  const isSeen = (at) => at.x >= 0 && at.y >= 0 && at.x + at.w <= width && at.y + at.h <= height;
  const across = [0, ...floating.flatMap(({ x, w }) => [x - ASIDE - box.w - box.x, x + w + ASIDE - box.x])];
  const down = [0, ...floating.flatMap(({ y, h }) => [y - ASIDE - box.h - box.y, y + h + ASIDE - box.y])];
  const ways = across.flatMap((dx) => down.map((dy) => [dx, dy])).sort((a, b) => Math.hypot(...a) - Math.hypot(...b));
  const fits = ([dx, dy]) => {
    const at = { ...box, x: box.x + dx, y: box.y + dy };
    return isSeen(at) && !covered(at);
  };
  return ways.find(fits) ?? [0, 0];
}

function isCovered(box, nodes, size, insets, other) {
  const k = scaleIn(box, size, insets);
  const [x, y] = placeIn(box, size, insets, k);
  return nodes.some((node) => hits({ x: x + node.x * k, y: y + node.y * k, w: node.w * k, h: node.h * k }, other));
}

/** Where the graph's origin is then: the box in the middle of what is left. */
export function placeIn(box, [width, height], { left, top, right, bottom }, k) {
  return [left + (width - left - right - box.w * k) / 2 - box.x * k, top + (height - top - bottom - box.h * k) / 2 - box.y * k];
}
