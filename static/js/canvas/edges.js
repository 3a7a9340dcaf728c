// Creates, cuts and splits edges in the page at once, and returns the operations for the server.

import { t } from "../common/translations.js";

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

  /** Add an edge without data that follows the pointer. */
  loose(scope) {
    const el = document.createElementNS(SVG, "path");
    el.setAttribute("class", "wf-loose");
    return this.canvas.edgeLayer(scope).appendChild(el);
  }

  /** Show a new edge at once and return the operation. */
  add({ from, fp, to }) {
    const { model } = this.canvas;
    const tp = model.nodes.get(to).ins[0]?.name ?? "target";
    const id = this.#createId(`${from}-${fp}-${to}-${tp}`);
    const el = this.element({ id, from, fp, to, tp });
    this.canvas.edgeLayer(model.nodes.get(from).scope).append(el);
    model.route(model.addEdge(el));
    this.canvas.scheduleUpdate();
    return { op: "connect", edge: { id, source: from, handle: fp, target: to, target_handle: tp } };
  }

  #createId(base) {
    let id = base;
    for (let n = 2; this.canvas.model.edges.has(id); n++) id = `${base}-${n}`;
    return id;
  }

  /** Remove edges at once and return the operations. */
  drop(ids) {
    const { model, selection } = this.canvas;
    const present = ids.filter((id) => model.edges.has(id));
    selection.drop(present);
    for (const id of present) model.dropEdge(id);
    this.canvas.scheduleUpdate();
    return present.map((id) => ({ op: "disconnect", id }));
  }

  disconnect(id) {
    const edge = this.canvas.model.edges.get(id);
    if (!edge) return Promise.resolve(null);
    const names = { from: this.canvas.nameOf(edge.from), to: this.canvas.nameOf(edge.to) };
    const ops = this.drop([id]);
    this.canvas.say(t("Disconnected {from} from {to}", names));
    return this.canvas.send(ops, t("Disconnect {from} from {to}", names));
  }

  /** Put the node between the ends of the edge. */
  insert(edge, node) {
    const { from, fp, to } = edge;
    return [...this.drop([edge.id]), this.add({ from, fp, to: node.id }), this.add({ from: node.id, fp: node.outs[0].name, to })];
  }

  /** Update the number of incoming edges that a card with several of them shows. */
  countJoins() {
    const { model } = this.canvas;
    const nodes = [...model.recount].map((id) => model.nodes.get(id)).filter(Boolean);
    model.recount.clear();
    for (const node of nodes) {
      let count = 0;
      for (const edge of model.edgesOf(node.id)) if (edge.to === node.id) count += 1;
      const joins = count > 1 ? String(count) : undefined;
      if (node.el.dataset.joins === joins) continue;
      if (joins) node.el.dataset.joins = joins;
      else delete node.el.dataset.joins;
    }
  }
}
