// Knows where a graph without stored positions is drawn, so that they can be stored before its first edit.

import { ROOT } from "./model.js";

export class Unplaced {
  #ops = [];

  constructor(canvas) {
    this.canvas = canvas;
    if ("unplaced" in canvas.root.dataset) this.note();
  }

  /** Note where the nodes are drawn: they are laid out for display only. */
  note() {
    this.#ops = [...this.canvas.model.nodes.values()].filter(({ isNote }) => !isNote).flatMap(toOps);
  }

  /** Return the operations that store these places, once. */
  take() {
    const ops = this.#ops.filter(({ id }) => this.canvas.model.nodes.has(id));
    this.#ops = [];
    return ops;
  }

  /** Return whether all nodes lie at one place, as after undoing that their places were stored. */
  isStacked() {
    const nodes = [...this.canvas.model.nodes.values()].filter(({ scope, isNote }) => scope === ROOT && !isNote);
    return nodes.length > 1 && nodes.every(({ x, y }) => x === nodes[0].x && y === nodes[0].y);
  }
}

function toOps({ id, x, y, isBox, full }) {
  const move = { op: "move", id, x, y };
  return isBox ? [{ op: "resize", id, width: full.w, height: full.h }, move] : [move];
}
