// What the browser keeps of the graph: places, sizes, ports, and which edge touches which node.
// Read from the HTML the server sent; never a second copy of the document.

import { HEAD, PORT_Y, CARD_WIDTH, around, path, portY } from "./geometry.js";

export const ROOT = "root";

/**
 * @typedef {{name: string, y: number}} Port
 * @typedef {{id: string, kind: string, x: number, y: number, w: number, h: number, scope: string, el: HTMLElement,
 *   ins: Port[], outs: Port[], isBox: boolean, isNote: boolean, isEntry: boolean, folded: boolean, full: {w: number, h: number}, off: boolean}} Node
 * @typedef {{id: string, from: string, fp: string, to: string, tp: string, scope: string, el: SVGPathElement, off: boolean}} Edge
 */

const PLAIN_INS = [{ name: "target", y: PORT_Y }];
const PLAIN_OUTS = [{ name: "source", y: PORT_Y }];
const NONE = new Set();

export class Model {
  /** @type {Map<string, Node>} */
  nodes = new Map();
  /** @type {Map<string, Edge>} */
  edges = new Map();
  /** Ids of nodes that edges were led to or taken from since they were last counted. */
  recount = new Set();
  #touching = new Map();

  /** Take an element in; one with a known id takes the place the browser holds for it. */
  addNode(el) {
    const { id, x, y } = el.dataset;
    const known = this.nodes.get(id);
    const node = known ?? { id, x: +x, y: +y, folded: false, off: false };
    node.el = el;
    node.scope = el.closest(".wf-scope")?.dataset.scope ?? ROOT;
    this.readShape(node);
    this.nodes.set(id, node);
    this.recount.add(id);
    return node;
  }

  /** Size and ports, after the server said them anew. */
  readShape(node) {
    const { kind, w, h, outs, rows } = node.el.dataset;
    node.kind = kind;
    node.family = undefined; // palette.js reads it off the card when it is wanted
    node.isBox = "box" in node.el.dataset;
    node.isNote = kind === "note";
    node.isEntry = kind.endsWith("-start"); // the dot a container's rounds begin at: no name of its own, nothing to be set
    node.full = { w: +w, h: +h };
    node.w = node.folded ? CARD_WIDTH : +w;
    node.h = node.folded ? HEAD : +h;
    node.ins = "noIn" in node.el.dataset ? [] : PLAIN_INS;
    node.outs = outs ? this.#ports(JSON.parse(outs), rows === undefined ? 1 : +rows, node.isBox) : PLAIN_OUTS;
  }

  #ports(names, rows, isBox) {
    return names.map((name, i) => ({ name, y: isBox ? PORT_Y : portY(i, names.length, rows) }));
  }

  addEdge(el) {
    const { id, from, fp, to, tp } = el.dataset;
    const old = this.edges.get(id);
    if (old) this.#unlink(old);
    old?.label?.remove(); // painted again, if there is anything to say
    const scope = el.closest(".wf-scope")?.dataset.scope ?? ROOT;
    const edge = { id, from, fp, to, tp, scope, el, off: false };
    this.edges.set(id, edge);
    this.recount.add(to);
    for (const end of [from, to]) {
      if (!this.#touching.has(end)) this.#touching.set(end, new Set());
      this.#touching.get(end).add(edge);
    }
    return edge;
  }

  dropNode(id) {
    const node = this.nodes.get(id);
    if (!node) return;
    for (const inner of this.inside(id)) this.dropNode(inner.id);
    for (const edge of [...this.edgesOf(id)]) this.dropEdge(edge.id);
    this.nodes.delete(id);
    node.el.remove();
  }

  dropEdge(id) {
    const edge = this.edges.get(id);
    if (!edge) return;
    this.#unlink(edge);
    this.edges.delete(id);
    edge.el.remove();
    edge.label?.remove();
  }

  #unlink(edge) {
    this.recount.add(edge.to);
    this.#touching.get(edge.from)?.delete(edge);
    this.#touching.get(edge.to)?.delete(edge);
  }

  /** @returns {Set<Edge>} */
  edgesOf(id) {
    return this.#touching.get(id) ?? NONE;
  }

  inside(scope) {
    return [...this.nodes.values()].filter((node) => node.scope === scope);
  }

  /** Where a scope begins, in the coordinates of the top one. */
  offset(scope) {
    let [x, y] = [0, 0];
    for (let node = this.nodes.get(scope); node; node = this.nodes.get(node.scope)) {
      x += node.x;
      y += node.y;
    }
    return [x, y];
  }

  /** A node's box in the coordinates of the top scope. */
  box(node) {
    const [x, y] = node.scope === ROOT ? [0, 0] : this.offset(node.scope);
    return { x: x + node.x, y: y + node.y, w: node.w, h: node.h };
  }

  /** The containers around a scope, itself first; the top isn't one. */
  around(scope) {
    const found = [];
    for (let node = this.nodes.get(scope); node; node = this.nodes.get(node.scope)) found.push(node);
    return found;
  }

  isHidden(node) {
    return this.around(node.scope).some((box) => box.folded);
  }

  /** A port's place in its node's scope. */
  port(node, name, out) {
    const ports = out ? node.outs : node.ins;
    const port = ports.find((p) => p.name === name) ?? ports[0];
    return [node.x + (out ? node.w : 0), node.y + (node.folded || !port ? PORT_Y : port.y)];
  }

  /** Both ends of an edge, in its scope; null when one is missing. */
  ends(edge) {
    const from = this.nodes.get(edge.from);
    const to = this.nodes.get(edge.to);
    if (!from || !to || from.scope !== to.scope) return null;
    return [...this.port(from, edge.fp, true), ...this.port(to, edge.tp, false)];
  }

  place(node) {
    node.el.style.left = `${node.x}px`;
    node.el.style.top = `${node.y}px`;
  }

  size(node) {
    node.el.style.width = `${node.w}px`;
    node.el.style.height = `${node.h}px`;
  }

  route(edge) {
    const ends = this.ends(edge);
    if (ends) edge.el.setAttribute("d", path(...ends));
  }

  reroute(ids) {
    const done = new Set();
    for (const id of ids) {
      for (const edge of this.edgesOf(id)) {
        if (!done.has(edge)) this.route(edge);
        done.add(edge);
      }
    }
  }

  bounds(scope = ROOT, nodes = this.nodes.values()) {
    const found = [];
    for (const node of nodes) if (node.scope === scope) found.push(this.box(node));
    return around(found);
  }
}
