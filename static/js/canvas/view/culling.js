// In large graphs, nodes more than a screen outside the view are not displayed. They stay in the document, so that swaps
// find them; focus() and reveal() display them first.

import { overlaps } from "../geometry.js";
import { ROOT } from "../model.js";

const MIN_NODES = 300; // from this number of nodes on

export class Culling {
  #last = null;

  constructor(canvas) {
    this.canvas = canvas;
    canvas.viewport.addEventListener("move", () => this.update());
  }

  update(isForced = false) {
    const { model, viewport: v } = this.canvas;
    if (v.isZooming || model.nodes.size < MIN_NODES || this.canvas.farView?.isOn) return;
    const last = this.#last;
    const isNear = last && last.k === v.k && Math.abs(last.x - v.x) < v.width / 2 && Math.abs(last.y - v.y) < v.height / 2;
    if (isNear && !isForced) return;
    this.#last = { x: v.x, y: v.y, k: v.k };
    const box = v.visibleBox(3);
    for (const node of model.nodes.values()) if (node.scope === ROOT) set(node, !overlaps(box, node));
    for (const edge of model.edges.values()) if (edge.scope === ROOT) this.#edge(edge, box);
  }

  #edge(edge, box) {
    const { model } = this.canvas;
    const [from, to] = [model.nodes.get(edge.from), model.nodes.get(edge.to)];
    if (!from || !to) return;
    set(edge, from.off && to.off && !overlaps(box, model.edgeBox(edge)));
  }

  show(node) {
    for (const item of [node, ...this.canvas.model.ancestors(node.scope)]) set(item, false);
  }
}

function set(item, off) {
  if (item.off === off) return;
  item.off = off;
  item.el.classList.toggle("off", off);
}
