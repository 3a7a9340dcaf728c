// Edges made, cut and split here at once, and as the operations that tell the server.

import { t } from "../editor/words.js";

const SVG = "http://www.w3.org/2000/svg";

export class Edges {
  constructor(canvas) {
    this.canvas = canvas;
  }

  element({ id, from, fp, to, tp }) {
    const el = document.createElementNS(SVG, "path");
    el.setAttribute("class", "wf-edge");
    el.id = `edge-${id}`;
    Object.assign(el.dataset, { id, from, fp, to, tp });
    return el;
  }

  /** One that follows the pointer and belongs to nobody yet. */
  loose(scope) {
    const el = document.createElementNS(SVG, "path");
    el.setAttribute("class", "wf-loose");
    return this.canvas.edgeLayer(scope).appendChild(el);
  }

  /** Shown at once; gives the operation. */
  add({ from, fp, to }) {
    const { model } = this.canvas;
    const tp = model.nodes.get(to).ins[0]?.name ?? "target";
    const id = this.#freshId(`${from}-${fp}-${to}-${tp}`);
    const el = this.element({ id, from, fp, to, tp });
    this.canvas.edgeLayer(model.nodes.get(from).scope).append(el);
    model.route(model.addEdge(el));
    this.canvas.changed();
    return { op: "connect", edge: { id, source: from, handle: fp, target: to, target_handle: tp } };
  }

  #freshId(wanted) {
    let id = wanted;
    for (let n = 2; this.canvas.model.edges.has(id); n++) id = `${wanted}-${n}`;
    return id;
  }

  /** Gone at once; gives the operations. */
  drop(ids) {
    const { model, selection } = this.canvas;
    const known = ids.filter((id) => model.edges.has(id));
    selection.drop(known);
    for (const id of known) model.dropEdge(id);
    this.canvas.changed();
    return known.map((id) => ({ op: "disconnect", id }));
  }

  disconnect(id) {
    const edge = this.canvas.model.edges.get(id);
    if (!edge) return Promise.resolve(null);
    const names = { from: this.canvas.nameOf(edge.from), to: this.canvas.nameOf(edge.to) };
    const ops = this.drop([id]);
    this.canvas.say(t("Disconnected {from} from {to}", names));
    return this.canvas.send(ops, t("Disconnect {from} from {to}", names));
  }

  /** The node stands between the edge's ends. */
  insert(edge, node) {
    const { from, fp, to } = edge;
    return [...this.drop([edge.id]), this.add({ from, fp, to: node.id }), this.add({ from: node.id, fp: node.outs[0].name, to })];
  }

  /** How many edges a node waits for, on its card. */
  countJoins() {
    const { model } = this.canvas;
    const nodes = [...model.recount].map((id) => model.nodes.get(id)).filter(Boolean);
    model.recount.clear();
    for (const node of nodes) {
      let count = 0;
      for (const edge of model.edgesOf(node.id)) if (edge.to === node.id) count += 1;
      const now = count > 1 ? String(count) : undefined;
      if (node.el.dataset.joins === now) continue;
      if (now) node.el.dataset.joins = now;
      else delete node.el.dataset.joins;
    }
  }
}
