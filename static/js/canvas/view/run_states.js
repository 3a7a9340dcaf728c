// Shows a run on the graph: states of nodes, taken edges and previews of data. The state lies on elements that the server
// does not swap, and is painted again if it does.

import { showState } from "./node_state.js";

export class Painter {
  #nodes = new Map();
  #edges = new Map();

  constructor(canvas) {
    this.canvas = canvas;
    this.icons = canvas.root.dataset.icons;
  }

  /** Paint {state, time, size, text, pinned, breakpoint}; missing keys stay, null removes a value. */
  node(id, paint) {
    const node = this.canvas.model.nodes.get(id);
    if (!node) return;
    const merged = { ...this.#nodes.get(id), ...paint };
    this.#nodes.set(id, merged);
    this.#show(node, merged);
  }

  #show(node, paint) {
    const { el } = node;
    this.canvas.farView.invalidate();
    if (paint.pinned !== undefined) el.toggleAttribute("data-pinned", Boolean(paint.pinned));
    if (paint.breakpoint !== undefined) el.toggleAttribute("data-breakpoint", Boolean(paint.breakpoint));
    if (paint.breakpoint) this.canvas.detail.sizeMark(el);
    showState(el, paint, this.icons);
  }

  /** Paint {taken: true | false | null, text, title}; the text becomes the label of the edge. */
  edge(id, paint) {
    const edge = this.canvas.model.edges.get(id);
    if (!edge) return;
    const merged = { ...this.#edges.get(id), ...paint };
    this.#edges.set(id, merged);
    const { taken, text } = merged;
    if (taken === true || taken === false) edge.el.dataset.taken = taken ? "yes" : "no";
    else delete edge.el.dataset.taken;
    this.canvas.labels.set(edge, text, merged.title);
  }

  /** Paint a node again after a swap. */
  repaintNode(node) {
    if (this.#nodes.has(node.id)) this.#show(node, this.#nodes.get(node.id));
  }

  repaintEdge(id) {
    if (this.#edges.has(id)) this.edge(id, {});
  }

  clear() {
    for (const [id, paint] of this.#nodes) {
      this.#nodes.set(id, { pinned: paint.pinned, breakpoint: paint.breakpoint });
      const node = this.canvas.model.nodes.get(id);
      if (node) this.#show(node, this.#nodes.get(id));
    }
    for (const id of this.#edges.keys()) this.edge(id, { taken: null, text: "" });
    this.#edges.clear();
  }
}
