// In large graphs what lies more than a screen outside the view is not displayed. It stays in the document, so swaps
// still find it; focus() and reveal() show it again first.

import { edgeBox, hits } from "./geometry.js";
import { ROOT } from "./model.js";

const FROM = 300; // nodes

export class Culling {
  #last = null;

  constructor(canvas) {
    this.canvas = canvas;
    canvas.viewport.addEventListener("move", () => this.update());
  }

  update(isForced = false) {
    const { model, viewport: v } = this.canvas;
    if (v.isZooming || model.nodes.size < FROM || this.canvas.far?.isOn) return;
    const last = this.#last;
    const isNear = last && last.k === v.k && Math.abs(last.x - v.x) < v.width / 2 && Math.abs(last.y - v.y) < v.height / 2;
    if (isNear && !isForced) return;
    this.#last = { x: v.x, y: v.y, k: v.k };
    const box = v.seen(3);
    for (const node of model.nodes.values()) if (node.scope === ROOT) set(node, !hits(box, node));
    for (const edge of model.edges.values()) if (edge.scope === ROOT) this.#edge(edge, box);
  }

  #edge(edge, box) {
    const { model } = this.canvas;
    const [from, to] = [model.nodes.get(edge.from), model.nodes.get(edge.to)];
    if (!from || !to) return;
    set(edge, from.off && to.off && !hits(box, edgeBox(...model.ends(edge))));
  }

  show(node) {
    for (const each of [node, ...this.canvas.model.around(node.scope)]) set(each, false);
  }
}

function set(item, off) {
  if (item.off === off) return;
  item.off = off;
  item.el.classList.toggle("off", off);
}
