// Nodes and edges as elements of the page. They report when they are added and removed, whoever changed the page.

let current = null; // the only canvas of the page

customElements.define(
  "wf-node",
  class extends HTMLElement {
    connectedCallback() {
      current?.nodeConnected(this);
    }

    disconnectedCallback() {
      current?.nodeDisconnected(this);
    }
  },
);

export class Elements {
  constructor(canvas) {
    this.canvas = canvas;
    const { model, view } = canvas;
    for (const el of view.querySelectorAll("wf-node")) model.addNode(el);
    for (const el of view.querySelectorAll(".wf-edge")) model.addEdge(el);
    // Edges are SVG elements and cannot be custom elements.
    new MutationObserver((changes) => this.#onMutation(changes)).observe(view, { childList: true, subtree: true });
  }

  /** Start to listen once all parts of the canvas exist. */
  listen() {
    current = this;
  }

  #onMutation(changes) {
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

  nodeConnected(el) {
    const { canvas } = this;
    const { model } = canvas;
    const existing = model.nodes.get(el.dataset.id);
    if (existing?.el === el && el.closest(".wf-scope")?.dataset.scope === existing.scope) return;
    if (!el.closest(".wf-view")) return;
    const node = model.addNode(el);
    model.place(node);
    model.size(node);
    canvas.dragLayer.reattach(node);
    canvas.selection.mark(node.id);
    el.classList.toggle("off", node.off);
    canvas.runStates.repaintNode(node);
    model.reroute([node.id]);
    if (!existing) canvas.scheduleUpdate();
  }

  nodeDisconnected(el) {
    queueMicrotask(() => {
      const { canvas } = this;
      const node = canvas.model.nodes.get(el.dataset.id);
      if (el.isConnected || node?.el !== el) return;
      canvas.model.dropNode(node.id);
      canvas.selection.drop([node.id]);
      canvas.scheduleUpdate();
    });
  }
}
