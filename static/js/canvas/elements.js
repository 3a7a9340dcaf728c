// Nodes and edges as elements of the page: they say when they come and go, whoever changed the page and however.

let current = null; // the one canvas of the page

customElements.define(
  "wf-node",
  class extends HTMLElement {
    connectedCallback() {
      current?.joined(this);
    }

    disconnectedCallback() {
      current?.left(this);
    }
  },
);

export class Elements {
  constructor(canvas) {
    this.canvas = canvas;
    const { model, view } = canvas;
    for (const el of view.querySelectorAll("wf-node")) model.addNode(el);
    for (const el of view.querySelectorAll(".wf-edge")) model.addEdge(el);
    // edges are SVG and can't be custom elements
    new MutationObserver((changes) => this.#mutated(changes)).observe(view, { childList: true, subtree: true });
  }

  /** From now on: before, the parts that are told don't exist. */
  listen() {
    current = this;
  }

  #mutated(changes) {
    const { model } = this.canvas;
    for (const { addedNodes, removedNodes } of changes) {
      for (const el of removedNodes) {
        const edge = el.matches?.(".wf-edge") && model.edges.get(el.dataset.id);
        if (edge && edge.el === el && !el.isConnected) model.dropEdge(edge.id);
      }
      for (const el of addedNodes) {
        const isNew = el.matches?.(".wf-edge[data-id]") && el.isConnected && model.edges.get(el.dataset.id)?.el !== el;
        if (isNew) model.route(model.addEdge(el));
      }
    }
  }

  joined(el) {
    const { canvas } = this;
    const { model } = canvas;
    const known = model.nodes.get(el.dataset.id);
    if (known?.el === el && el.closest(".wf-scope")?.dataset.scope === known.scope) return;
    if (!el.closest(".wf-view")) return;
    const node = model.addNode(el);
    model.place(node);
    model.size(node);
    canvas.lift.again(node);
    canvas.selection.mark(node.id);
    el.classList.toggle("off", node.off);
    canvas.painter.again(node);
    model.reroute([node.id]);
    if (!known) canvas.changed();
  }

  left(el) {
    queueMicrotask(() => {
      const { canvas } = this;
      const node = canvas.model.nodes.get(el.dataset.id);
      if (el.isConnected || node?.el !== el) return;
      canvas.model.dropNode(node.id);
      canvas.selection.drop([node.id]);
      canvas.changed();
    });
  }
}
