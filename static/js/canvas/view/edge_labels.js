// Shows a preview of the data beside an edge while the edge is hovered or selected. The label covers no card, port or state
// badge; an edge without enough room has none, and its menu still opens the data.

import { pointOnRoute } from "../edge_routes.js";
import { clamp, containsPoint, expandBox } from "../geometry.js";

const HEIGHT = 24; // px of a label with padding
const [MAX_WIDTH, GOOD_WIDTH, MIN_WIDTH] = [240, 140, 40]; // px: the longest label, a sufficient one, and the shortest that can be read
const [LETTER_WIDTH, CAPITAL_WIDTH] = [6.5, 8.8]; // px on average, and the padding around them
const PADDING = 20;
const PORT_MARGIN = 6; // px at the sides of a card for its ports
const BADGE_HEIGHT = 28; // px below a card or above a container for its state
const JOIN_BADGE = { x: -30, y: 20, w: 30, h: 24 }; // the badge with the number of incoming edges, from the corner of the card
const LINGER = 300; // ms after the pointer left the edge, so that it can reach the label

// Positions to try, best first: how far along the edge, and how far off it.
const SPOTS = [[0.5, 0], [0.4, 0], [0.6, 0], [0.3, 0], [0.7, 0], [0.5, -40], [0.5, 40], [0.2, 0], [0.8, 0], [0.35, -40], [0.65, -40], [0.35, 40], [0.65, 40], [0.5, -52], [0.5, 84], [0.5, -72], [0.5, 104], [0.5, -96]];

export class Labels {
  #texts = new Map(); // id of an edge → [text, title]
  #hovered = null; // id
  #timer = 0;

  constructor(canvas) {
    this.canvas = canvas;
  }

  /** Set what the label of an edge says, or nothing. */
  set(edge, text, title = "") {
    if (text) this.#texts.set(edge.id, [text, title]);
    else this.#texts.delete(edge.id);
    this.#update(edge);
  }

  /** Show the label of the edge under the pointer; null when it left the edge. */
  hover(edge) {
    clearTimeout(this.#timer);
    if (edge) this.#setHovered(edge.id);
    else if (this.#hovered) this.#timer = setTimeout(() => this.#leave(), LINGER);
  }

  /** Return whether the label of the hovered edge is at a point of the canvas. */
  isAt({ px, py }) {
    const label = this.canvas.model.edges.get(this.#hovered)?.label;
    if (!label || label.hidden) return false;
    const [box, corner] = [label.getBoundingClientRect(), this.canvas.root.getBoundingClientRect()];
    return containsPoint({ x: box.left - corner.left, y: box.top - corner.top, w: box.width, h: box.height }, px, py);
  }

  /** The pointer or the focus on the label keeps it, and so does the data that it opened. */
  #leave() {
    const label = this.canvas.model.edges.get(this.#hovered)?.label;
    if (label?.matches(":hover, :focus, [aria-expanded=true]")) this.#timer = setTimeout(() => this.#leave(), LINGER);
    else this.#setHovered(null);
  }

  #setHovered(id) {
    if (id === this.#hovered) return;
    const { edges } = this.canvas.model;
    const previous = edges.get(this.#hovered);
    this.#hovered = id;
    for (const edge of [previous, edges.get(id)]) if (edge) this.#update(edge);
  }

  /** Update the labels after the selection changed, or cards were moved, added or removed. */
  update() {
    for (const id of this.#texts.keys()) {
      const edge = this.canvas.model.edges.get(id);
      if (edge) this.#update(edge);
    }
  }

  #update(edge) {
    const [text, title] = this.#texts.get(edge.id) ?? [];
    if (!text || !(edge.id === this.#hovered || this.canvas.selection.has(edge.id))) {
      edge.label?.remove();
      edge.label = null;
      return;
    }
    edge.label ??= this.#createLabel(edge);
    edge.label.textContent = text;
    edge.label.title = title;
    this.#place(edge);
  }

  /** Insert the label before the cards, so that a card moved over it covers it. */
  #createLabel(edge) {
    const label = document.createElement("button");
    Object.assign(label, { type: "button", className: "wf-label", tabIndex: -1 });
    label.dataset.edge = edge.id;
    this.canvas.edgeLayer(edge.scope)?.after(label);
    return label;
  }

  #place(edge) {
    const { model } = this.canvas;
    const ends = model.ends(edge);
    if (!ends) return;
    const { label } = edge;
    const spot = findSpot((t) => pointOnRoute(ends, edge.detour, t), Math.min(MAX_WIDTH, estimateWidth(label.textContent)), this.#listBoxes(edge));
    label.hidden = !spot;
    if (!spot) return;
    label.style.setProperty("--room", `${spot.w}px`);
    label.style.left = `${spot.x}px`;
    label.style.top = `${spot.y}px`;
  }

  /** Return what a label must not cover: the cards near the edge with their ports and states. */
  #listBoxes(edge) {
    const { model } = this.canvas;
    const area = expandBox(model.edgeBox(edge), MAX_WIDTH);
    const isNear = ({ x, y, w, h }) => containsPoint(expandBox(area, Math.max(w, h)), x + w / 2, y + h / 2);
    return [...model.nodes.values()].filter((node) => node.scope === edge.scope && !node.isNote && isNear(node)).flatMap(getBoxes);
  }
}

/**
 * Return the boxes of a card with its ports and its state. The state counts even while hidden, so that labels do not jump
 * when a run begins.
 */
function getBoxes({ x, y, w, h, isBox, el }) {
  const card = { x: x - PORT_MARGIN, y: isBox ? y - BADGE_HEIGHT : y, w: w + 2 * PORT_MARGIN, h: h + BADGE_HEIGHT };
  return "joins" in el.dataset ? [card, { ...JOIN_BADGE, x: x + JOIN_BADGE.x, y: y + JOIN_BADGE.y }] : [card];
}

/** Estimate the width of a text; East Asian characters count twice. */
function estimateWidth(text) {
  let width = PADDING;
  for (const letter of text) width += letter > "\u2e7f" ? 2 * LETTER_WIDTH : letter >= "A" && letter <= "Z" ? CAPITAL_WIDTH : LETTER_WIDTH;
  return width;
}

/** @returns {{x: number, y: number, w: number} | null} the middle and the width of a label that covers none of the boxes */
function findSpot(pointAt, desired, boxes) {
  let best = null;
  for (const [fraction, offset] of SPOTS) {
    const [x, y] = pointAt(fraction);
    const [from, to] = findFreeInterval(x, y + offset, boxes);
    const w = Math.min(desired, to - from);
    if (w >= Math.min(desired, MIN_WIDTH) && w > (best?.w ?? 0)) best = { x: clamp(x, from + w / 2, to - w / 2), y: y + offset, w };
    if (best?.w >= Math.min(desired, GOOD_WIDTH)) break;
  }
  return best;
}

/** Return the free interval left and right of a point; an empty one when the point itself is covered. */
function findFreeInterval(x, y, boxes) {
  let [from, to] = [-Infinity, Infinity];
  for (const box of boxes) {
    if (box.y >= y + HEIGHT / 2 || box.y + box.h <= y - HEIGHT / 2) continue;
    if (box.x + box.w <= x) from = Math.max(from, box.x + box.w);
    else if (box.x >= x) to = Math.min(to, box.x);
    else return [x, x];
  }
  return [from, to];
}
