// Dragged nodes lie with their edges on a layer of their own, so that moving them repaints neither other cards nor other
// edges.

import { ROOT } from "../model.js";

const MAX_LAYERS = 40; // with more cards than this, no layers are made and the cards are moved in place
const SVG = "http://www.w3.org/2000/svg";

export class DragLayer {
  #nodes = new Map(); // id → position at the start of the drag
  #edges = []; // [edge, its copy on the layer]

  constructor(canvas) {
    this.canvas = canvas;
    this.svg = document.createElementNS(SVG, "svg");
    this.svg.setAttribute("class", "wf-edges wf-lifted");
    this.svg.setAttribute("aria-hidden", "true");
  }

  begin(ids) {
    const { model, farView } = this.canvas;
    farView.enter();
    if (farView.isOn) return;
    const nodes = ids.map((id) => model.nodes.get(id));
    if (nodes.length > MAX_LAYERS || nodes.some((node) => node.scope !== nodes[0].scope)) return;
    for (const node of nodes) {
      this.#nodes.set(node.id, { x: node.x, y: node.y });
      node.el.classList.add("lifted");
    }
    const edges = new Set(ids.flatMap((id) => [...model.edgesOf(id)]));
    for (const edge of edges) {
      const copy = edge.el.cloneNode(false);
      copy.removeAttribute("id");
      edge.el.classList.add("lifted");
      edge.label?.classList.add("lifted");
      this.svg.append(copy);
      this.#edges.push([edge, copy]);
    }
    this.canvas.scopeElement(nodes[0]?.scope ?? ROOT)?.append(this.svg);
  }

  place(node) {
    if (this.canvas.farView.isOn) return; // followNodes() draws it
    const from = this.#nodes.get(node.id);
    if (from) node.el.style.transform = `translate(${node.x - from.x}px,${node.y - from.y}px)`;
    else this.canvas.model.place(node);
  }

  /** Draw the edges of the dragged nodes. */
  followNodes(ids) {
    const { model, farView } = this.canvas;
    if (farView.isOn) return farView.mark(ids);
    if (!this.#nodes.size) return model.reroute(ids);
    for (const [edge, copy] of this.#edges) {
      const d = model.findPath(edge);
      if (d) copy.setAttribute("d", d);
    }
  }

  /** Put an element that replaced a dragged one on the layer. */
  reattach(node) {
    if (!this.#nodes.has(node.id)) return;
    node.el.classList.add("lifted");
    const { x, y } = this.#nodes.get(node.id);
    node.el.style.left = `${x}px`;
    node.el.style.top = `${y}px`;
    this.place(node);
  }

  end(ids) {
    const { model, farView } = this.canvas;
    if (farView.isOn) return this.#endFar(ids);
    for (const id of this.#nodes.keys()) {
      const node = model.nodes.get(id);
      if (!node) continue;
      node.el.classList.remove("lifted");
      node.el.style.transform = "";
      model.place(node);
    }
    for (const [edge] of this.#edges) for (const el of [edge.el, edge.label]) el?.classList.remove("lifted");
    model.reroute(this.#nodes.keys());
    this.svg.replaceChildren();
    this.svg.remove();
    this.#nodes.clear();
    this.#edges = [];
  }

  #endFar(ids) {
    const { model, farView } = this.canvas;
    for (const id of ids) if (model.nodes.has(id)) model.place(model.nodes.get(id));
    model.reroute(ids);
    farView.mark();
    farView.invalidate();
  }
}
