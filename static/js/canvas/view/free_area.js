// Finds the area in which a graph can be shown so that nothing that floats over the canvas covers it. Pure; no DOM.

import { overlaps } from "../geometry.js";

const PAD = 36;
const SMALL_PAD = 0.04; // of the width of the canvas, where that is less
const MARGIN = 16; // px between floating elements and the graph
const MIN_SCALE_RATIO = 0.7; // the least acceptable part of the full scale; below it, the graph may lie under the overview

/** Return the largest scale, up to 1, at which the box fits between the insets. */
export function scaleToFit({ w, h }, [width, height], { left, top, right, bottom }, min = 0) {
  return Math.max(min, Math.min(Math.max(80, width - left - right) / w, Math.max(80, height - top - bottom) / h, 1));
}

/**
 * @param {Box} box the box to show, with `nodes` as its content
 * @param {[number, number]} size of the canvas on screen
 * @param {Box[]} floating elements over the canvas, in its pixels
 * @returns {{left: number, top: number, right: number, bottom: number}} the insets at each side
 */
export function findInsets(box, nodes, size, floating) {
  const pad = Math.min(PAD, SMALL_PAD * size[0]);
  const plain = { left: pad, top: pad, right: pad, bottom: pad };
  let insets = plain;
  for (const other of floating) {
    if (!coversNode(box, nodes, size, insets, other)) continue;
    const best = avoidElement(insets, size, other).sort((a, b) => scaleToFit(box, size, b) - scaleToFit(box, size, a))[0];
    if (scaleToFit(box, size, best) >= MIN_SCALE_RATIO * scaleToFit(box, size, plain)) insets = best;
  }
  return insets;
}

/** Return the insets that avoid a floating element: above it, or on the side away from its edge of the canvas. */
function avoidElement(insets, [width, height], { x, y, w }) {
  const above = { ...insets, bottom: Math.max(insets.bottom, height - y + MARGIN) };
  const isRight = x + w / 2 > width / 2;
  const sideways = isRight ? { ...insets, right: Math.max(insets.right, width - x + MARGIN) } : { ...insets, left: Math.max(insets.left, x + w + MARGIN) };
  return [above, sideways];
}

/**
 * Return the shortest move that brings a box fully into view and clear of floating elements; none when there is no such
 * place.
 * @returns {[number, number]} pixels
 */
export function findClearMove(box, [width, height], floating) {
  const isCovered = (target) => floating.some((other) => overlaps({ x: target.x - MARGIN / 2, y: target.y - MARGIN / 2, w: target.w + MARGIN, h: target.h + MARGIN }, other));
  if (!floating.some((other) => overlaps(box, other))) return [0, 0];
  const isVisible = (target) => target.x >= 0 && target.y >= 0 && target.x + target.w <= width && target.y + target.h <= height;
  const across = [0, ...floating.flatMap(({ x, w }) => [x - MARGIN - box.w - box.x, x + w + MARGIN - box.x])];
  const down = [0, ...floating.flatMap(({ y, h }) => [y - MARGIN - box.h - box.y, y + h + MARGIN - box.y])];
  const moves = across.flatMap((dx) => down.map((dy) => [dx, dy])).sort((a, b) => Math.hypot(...a) - Math.hypot(...b));
  const fits = ([dx, dy]) => {
    const target = { ...box, x: box.x + dx, y: box.y + dy };
    return isVisible(target) && !isCovered(target);
  };
  return moves.find(fits) ?? [0, 0];
}

function coversNode(box, nodes, size, insets, other) {
  const k = scaleToFit(box, size, insets);
  const [x, y] = centreIn(box, size, insets, k);
  return nodes.some((node) => overlaps({ x: x + node.x * k, y: y + node.y * k, w: node.w * k, h: node.h * k }, other));
}

/** Return the origin of the graph when the box is centred between the insets. */
export function centreIn(box, [width, height], { left, top, right, bottom }, k) {
  return [left + (width - left - right - box.w * k) / 2 - box.x * k, top + (height - top - bottom - box.h * k) / 2 - box.y * k];
}
