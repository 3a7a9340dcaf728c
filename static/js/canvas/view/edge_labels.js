// Places the labels on edges, such as a preview of the data, so that they cover no card, port or state badge. An edge
// without enough room has no label; a click on it still opens the data.

import { pointOnEdge, clamp } from "../geometry.js";

const HEIGHT = 24; // px of a label with padding
const [MAX_WIDTH, GOOD_WIDTH, MIN_WIDTH] = [200, 72, 40]; // px: the longest label, a sufficient one, and the shortest that can be read
const [LETTER_WIDTH, CAPITAL_WIDTH] = [6.5, 8.8]; // px on average, and the padding around them
const PADDING = 20;
const PORT_MARGIN = 6; // px at the sides of a card for its ports
const BADGE_HEIGHT = 28; // px below a card or above a container for its state
const JOIN_BADGE = { x: -30, y: 12, w: 30, h: 24 }; // the badge with the number of incoming edges, from the corner of the card
const COLUMN_WIDTH = 512; // px of the graph in one column of the lookup table

// Positions to try, best first: how far along the edge, and how far off it.
const SPOTS = [[0.5, 0], [0.4, 0], [0.6, 0], [0.3, 0], [0.7, 0], [0.5, -40], [0.5, 40], [0.2, 0], [0.8, 0], [0.35, -40], [0.65, -40]];

export class Labels {
  #columns = null; // scope → column → boxes, built again after a change

  constructor(canvas) {
    this.canvas = canvas;
  }

  show(edge, text, title = "") {
    if (!text) {
      edge.label?.remove();
      edge.label = null;
      return;
    }
    edge.label ??= this.#createLabel(edge);
    edge.label.textContent = text;
    edge.label.title = title;
    this.#place(edge);
  }

  /** Place all labels again after cards were moved, added or removed. */
  placeAll() {
    this.#columns = null;
    for (const edge of this.canvas.model.edges.values()) if (edge.label) this.#place(edge);
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
    const ends = this.canvas.model.ends(edge);
    if (!ends) return;
    const { label } = edge;
    const spot = findSpot(ends, Math.min(MAX_WIDTH, estimateWidth(label.textContent)), this.#boxesNear(edge.scope, ends));
    label.hidden = !spot;
    if (!spot) return;
    label.style.setProperty("--room", `${spot.w}px`);
    label.style.left = `${spot.x}px`;
    label.style.top = `${spot.y}px`;
  }

  /** Return the boxes near an edge. */
  #boxesNear(scope, [x1, , x2]) {
    this.#columns ??= buildColumns(this.canvas.model);
    const columns = this.#columns.get(scope) ?? new Map();
    const boxes = new Set();
    const last = getColumn(Math.max(x1, x2) + MAX_WIDTH);
    for (let at = getColumn(Math.min(x1, x2) - MAX_WIDTH); at <= last; at++) for (const box of columns.get(at) ?? []) boxes.add(box);
    return boxes;
  }
}

const getColumn = (x) => Math.floor(x / COLUMN_WIDTH);

function buildColumns(model) {
  const scopes = new Map();
  for (const node of model.nodes.values()) {
    if (node.isNote) continue; // notes lie behind everything
    if (!scopes.has(node.scope)) scopes.set(node.scope, new Map());
    const columns = scopes.get(node.scope);
    for (const box of getBoxes(node)) {
      for (let at = getColumn(box.x); at <= getColumn(box.x + box.w); at++) {
        if (!columns.has(at)) columns.set(at, []);
        columns.get(at).push(box);
      }
    }
  }
  return scopes;
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
function findSpot(ends, desired, boxes) {
  let best = null;
  for (const [fraction, offset] of SPOTS) {
    const [x, y] = pointOnEdge(...ends, fraction);
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
