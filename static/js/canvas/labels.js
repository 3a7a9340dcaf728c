// The words on edges, such as how the data begins that went along: beside the cards, their ports and the badges of their
// states, never over them. Where an edge is too short and too beset for that, it has no words; a press on it still tells.

import { along, clamp } from "./geometry.js";

const HIGH = 24; // px of a label, with a little air
const [WIDEST, ENOUGH, LEAST] = [200, 72, 40]; // px: more is cut off; so much will do; with less nothing can be read
const [LETTER, CAPITAL] = [6.5, 8.8]; // px on average, and what stands around them
const AROUND = 20;
const BESIDE = 6; // px left to a card, for its port
const BADGE = 28; // below a card, above a container: what its state is written in
const JOINS = { x: -30, y: 12, w: 30, h: 24 }; // how many edges it waits for, from the card's corner
const COLUMN = 512; // px of the graph that are looked through together

// Where to try, best first: how far along the edge, and how far off it.
const SPOTS = [[0.5, 0], [0.4, 0], [0.6, 0], [0.3, 0], [0.7, 0], [0.5, -40], [0.5, 40], [0.2, 0], [0.8, 0], [0.35, -40], [0.65, -40]];

export class Labels {
  #columns = null; // scope → column → boxes; read anew after a change

  constructor(canvas) {
    this.canvas = canvas;
  }

  show(edge, text, title = "") {
    if (!text) {
      edge.label?.remove();
      edge.label = null;
      return;
    }
    edge.label ??= this.#made(edge);
    edge.label.textContent = text;
    edge.label.title = title;
    this.#place(edge);
  }

  /** Cards were moved, or others are there. */
  placeAll() {
    this.#columns = null;
    for (const edge of this.canvas.model.edges.values()) if (edge.label) this.#place(edge);
  }

  /** Before the cards, so that one that is moved over it covers it. */
  #made(edge) {
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
    const spot = spotFor(ends, Math.min(WIDEST, lengthOf(label.textContent)), this.#near(edge.scope, ends));
    label.hidden = !spot;
    if (!spot) return;
    label.style.setProperty("--room", `${spot.w}px`);
    label.style.left = `${spot.x}px`;
    label.style.top = `${spot.y}px`;
  }

  /** What stands around an edge. */
  #near(scope, [x1, , x2]) {
    this.#columns ??= columnsOf(this.canvas.model);
    const columns = this.#columns.get(scope) ?? new Map();
    const found = new Set();
    const last = columnAt(Math.max(x1, x2) + WIDEST);
    for (let at = columnAt(Math.min(x1, x2) - WIDEST); at <= last; at++) for (const box of columns.get(at) ?? []) found.add(box);
    return found;
  }
}

const columnAt = (x) => Math.floor(x / COLUMN);

function columnsOf(model) {
  const scopes = new Map();
  for (const node of model.nodes.values()) {
    if (node.isNote) continue; // these lie behind everything
    if (!scopes.has(node.scope)) scopes.set(node.scope, new Map());
    const columns = scopes.get(node.scope);
    for (const box of boxesOf(node)) {
      for (let at = columnAt(box.x); at <= columnAt(box.x + box.w); at++) {
        if (!columns.has(at)) columns.set(at, []);
        columns.get(at).push(box);
      }
    }
  }
  return scopes;
}

/** A card with its ports and the place of its state, shown or not: labels shouldn't jump when a run begins. */
function boxesOf({ x, y, w, h, isBox, el }) {
  const card = { x: x - BESIDE, y: isBox ? y - BADGE : y, w: w + 2 * BESIDE, h: h + BADGE };
  return "joins" in el.dataset ? [card, { ...JOINS, x: x + JOINS.x, y: y + JOINS.y }] : [card];
}

/** Letters of the East are twice as wide. */
function lengthOf(text) {
  let length = AROUND;
  for (const letter of text) length += letter > "\u2e7f" ? 2 * LETTER : letter >= "A" && letter <= "Z" ? CAPITAL : LETTER;
  return length;
}

/** @returns {{x: number, y: number, w: number} | null} the middle and the width of a label that covers none of the boxes */
function spotFor(ends, wanted, boxes) {
  let best = null;
  for (const [part, aside] of SPOTS) {
    const [x, y] = along(...ends, part);
    const [from, to] = freeAt(x, y + aside, boxes);
    const w = Math.min(wanted, to - from);
    if (w >= Math.min(wanted, LEAST) && w > (best?.w ?? 0)) best = { x: clamp(x, from + w / 2, to - w / 2), y: y + aside, w };
    if (best?.w >= Math.min(wanted, ENOUGH)) break;
  }
  return best;
}

/** From where to where nothing stands in the way, left and right of a point; nowhere, where it is itself covered. */
function freeAt(x, y, boxes) {
  let [from, to] = [-Infinity, Infinity];
  for (const box of boxes) {
    if (box.y >= y + HIGH / 2 || box.y + box.h <= y - HIGH / 2) continue;
    if (box.x + box.w <= x) from = Math.max(from, box.x + box.w);
    else if (box.x >= x) to = Math.min(to, box.x);
    else return [x, x];
  }
  return [from, to];
}
