// The graph as the browser holds it: positions, sizes, ports, and the edges of each node. It is read from the HTML of the
// server and is not a second copy of the document.

import { MAX_ROUTED_EDGES, MAX_ROUTED_NODES, findDetour, routeBox, routePath } from "./edge_routes.js";
import { HEADER_HEIGHT, PORT_Y, CARD_WIDTH, boundingBox, portY } from "./geometry.js";

export const ROOT = "root";

/**
 * @typedef {{name: string, y: number}} Port
 * @typedef {{id: string, kind: string, x: number, y: number, w: number, h: number, scope: string, el: HTMLElement,
 *   ins: Port[], outs: Port[], isBox: boolean, isNote: boolean, isEntry: boolean, folded: boolean, full: {w: number, h: number}, off: boolean}} Node
 * @typedef {{id: string, from: string, fp: string, to: string, tp: string, scope: string, el: SVGPathElement, off: boolean,
 *   detour: [number, number, number] | null}} Edge
 */

const PLAIN_INS = [{ name: "target", y: PORT_Y }];
const PLAIN_OUTS = [{ name: "source", y: PORT_Y }];
const NONE = new Set();
const MAX_SIBLING_OFFSET = 200; // the largest horizontal distance of siblings above and below

export class Model {
  /** @type {Map<string, Node>} */
  nodes = new Map();
  /** @type {Map<string, Edge>} */
  edges = new Map();
  /** Ids of nodes whose incoming edges changed since they were last counted. */
  recount = new Set();
  #touching = new Map();

  /** Add an element to the model; one with a known id replaces the element there. */
  addNode(el) {
    const { id, x, y } = el.dataset;
    const existing = this.nodes.get(id);
    const node = existing ?? { id, x: +x, y: +y, folded: false, off: false };
    node.el = el;
    node.scope = el.closest(".wf-scope")?.dataset.scope ?? ROOT;
    this.readShape(node);
    this.nodes.set(id, node);
    this.recount.add(id);
    return node;
  }

  /** Read size and ports after the server rendered them. */
  readShape(node) {
    const { kind, w, h, outs } = node.el.dataset;
    node.kind = kind;
    node.family = undefined; // view/colors.js reads it from the card when it is needed
    node.isBox = "box" in node.el.dataset;
    node.isNote = kind === "note";
    node.isEntry = kind.endsWith("-start"); // the dot where the rounds of a container begin has no name and no settings
    node.full = { w: +w, h: +h };
    node.w = node.folded ? CARD_WIDTH : +w;
    node.h = node.folded ? HEADER_HEIGHT : +h;
    node.ins = "noIn" in node.el.dataset ? [] : PLAIN_INS;
    node.outs = outs ? this.#ports(JSON.parse(outs), node.isBox) : PLAIN_OUTS;
  }

  #ports(names, isBox) {
    return names.map((name, i) => ({ name, y: isBox ? PORT_Y : portY(i, names.length) }));
  }

  addEdge(el) {
    const { id, from, fp, to, tp } = el.dataset;
    const old = this.edges.get(id);
    if (old) this.#unlink(old);
    old?.label?.remove(); // painted again when there is something to show
    const scope = el.closest(".wf-scope")?.dataset.scope ?? ROOT;
    const edge = { id, from, fp, to, tp, scope, el, off: false, detour: null };
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

  /** Return the origin of a scope in root coordinates. */
  offset(scope) {
    let [x, y] = [0, 0];
    for (let node = this.nodes.get(scope); node; node = this.nodes.get(node.scope)) {
      x += node.x;
      y += node.y;
    }
    return [x, y];
  }

  /** Return the box of a node in root coordinates. */
  box(node) {
    const [x, y] = node.scope === ROOT ? [0, 0] : this.offset(node.scope);
    return { x: x + node.x, y: y + node.y, w: node.w, h: node.h };
  }

  /** Return the containers around a scope, innermost first and without the root. */
  ancestors(scope) {
    const containers = [];
    for (let node = this.nodes.get(scope); node; node = this.nodes.get(node.scope)) containers.push(node);
    return containers;
  }

  isHidden(node) {
    return this.ancestors(node.scope).some((box) => box.folded);
  }

  /** Return the position of a port in the scope of its node. */
  port(node, name, out) {
    const ports = out ? node.outs : node.ins;
    const port = ports.find((p) => p.name === name) ?? ports[0];
    return [node.x + (out ? node.w : 0), node.y + (node.folded || !port ? PORT_Y : port.y)];
  }

  /** Return both ends of an edge in its scope, or null when one is missing. */
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
    const d = this.findPath(edge);
    if (d && d !== edge.el.getAttribute("d")) edge.el.setAttribute("d", d);
  }

  /** Lead an edge around the cards and return its path; an empty one when an end is missing. */
  findPath(edge) {
    const ends = this.ends(edge);
    if (!ends) return "";
    edge.detour = this.#isRouted() ? findDetour(ends, this.#obstacles(edge.scope), [edge.from, edge.to]) : null;
    return routePath(ends, edge.detour);
  }

  #isRouted() {
    return this.nodes.size < MAX_ROUTED_NODES && this.edges.size < MAX_ROUTED_EDGES;
  }

  #obstacles(scope) {
    return [...this.nodes.values()].filter((node) => node.scope === scope && !node.isNote);
  }

  /** Lead all edges around the cards where they lie now. */
  routeAll() {
    if (this.#isRouted()) for (const edge of this.edges.values()) this.route(edge);
  }

  /** Return the box around an edge, or null when an end is missing. */
  edgeBox(edge) {
    const ends = this.ends(edge);
    return ends && routeBox(ends, edge.detour);
  }

  reroute(ids) {
    const routed = new Set();
    for (const id of ids) {
      for (const edge of this.edgesOf(id)) {
        if (!routed.has(edge)) this.route(edge);
        routed.add(edge);
      }
    }
  }

  bounds(scope = ROOT, nodes = this.nodes.values()) {
    const boxes = [];
    for (const node of nodes) if (node.scope === scope) boxes.push(this.box(node));
    return boundingBox(boxes);
  }
}

/**
 * Return the neighbours of a node: along its edges to the right and left, among its siblings up and down.
 * @param {"right"|"left"|"up"|"down"} direction @returns {string[]} ids, the nearest first
 */
export function findNeighbours(model, id, direction) {
  const node = model.nodes.get(id);
  if (!node) return [];
  return { right: () => findAlongEdges(model, node, "from", "to"), left: () => findAlongEdges(model, node, "to", "from"), up: () => findSiblings(model, node, -1), down: () => findSiblings(model, node, 1) }[direction]();
}

function findAlongEdges(model, node, near, opposite) {
  const ids = [...model.edgesOf(node.id)].filter((edge) => edge[near] === node.id).map((edge) => edge[opposite]);
  const distance = (id) => Math.abs(model.nodes.get(id).y - node.y);
  return [...new Set(ids)].filter((id) => model.nodes.has(id)).sort((a, b) => distance(a) - distance(b));
}

function findSiblings(model, node, sign) {
  const others = model.inside(node.scope).filter((other) => other !== node && (other.y - node.y) * sign > 0 && Math.abs(other.x - node.x) < MAX_SIBLING_OFFSET);
  return others.sort((a, b) => (a.y - b.y) * sign || a.x - b.x).map((other) => other.id);
}
