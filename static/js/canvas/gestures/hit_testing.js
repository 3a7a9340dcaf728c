// Finds what is under the pointer in the model: this needs no hit testing against thousands of elements and no layout, and
// targets have a generous size at each zoom.

import { distanceToRoute, routeBox } from "../edge_routes.js";
import { expandBox, containsPoint } from "../geometry.js";

const PORT_REACH = 14; // pixels, for a target of 28
const MAX_PORT_REACH = 20; // in graph units, so that a card is not all port when zoomed out
const EDGE_REACH = 8;
const END_REACH = 26; // px from an edge's end within which it can be taken off its port
const CORNER = 16;

/** @typedef {{type: "port"|"node"|"edge"|"corner", node?: object, edge?: object, port?: string, out?: boolean, end?: string}} Hit */

export class HitTester {
  constructor(model, viewport, stage) {
    this.model = model;
    this.viewport = viewport;
    this.stage = stage; // () → the scope that is shown as the page
  }

  /** @returns {Hit | null} at a point of the graph */
  at(x, y, { ports = true } = {}) {
    const port = ports && this.port(x, y);
    if (port) return port;
    const node = this.node(x, y);
    if (node && !node.isBox && !isBackground(node)) return this.#onNode(node, x, y);
    const edge = this.edge(x, y);
    if (edge) return edge;
    return node ? this.#onNode(node, x, y) : null;
  }

  /** Return the topmost node; the content of a container lies above it. */
  node(x, y, accept = () => true) {
    let topmost = null;
    let depth = -1;
    for (const node of this.#visibleNodes()) {
      if (!accept(node)) continue;
      const box = this.model.box(node);
      if (!containsPoint(box, x, y)) continue;
      const level = isBackground(node) ? -0.5 : this.model.ancestors(node.scope).length;
      if (level >= depth) [topmost, depth] = [node, level];
    }
    return topmost;
  }

  /** Return the nearest card within a distance in graph units, or null. */
  nearestNode(x, y, reach) {
    let nearest = null;
    let shortest = reach;
    for (const node of this.#visibleNodes()) {
      if (node.isBox || isBackground(node)) continue;
      const box = this.model.box(node);
      const distance = Math.hypot(Math.max(box.x - x, 0, x - box.x - box.w), Math.max(box.y - y, 0, y - box.y - box.h));
      if (distance <= shortest) [nearest, shortest] = [node, distance];
    }
    return nearest;
  }

  /** Return the innermost container at a point, or null. */
  box(x, y, accept = () => true) {
    return this.node(x, y, (node) => node.isBox && !node.folded && accept(node));
  }

  port(x, y, { out, accept = () => true } = {}) {
    const reach = Math.min(PORT_REACH / this.viewport.k, MAX_PORT_REACH);
    let best = null;
    let shortest = reach;
    for (const node of this.#visibleNodes()) {
      if (!accept(node)) continue;
      const box = this.model.box(node);
      if (!containsPoint(expandBox(box, reach), x, y)) continue;
      for (const isOut of [true, false]) {
        if (out !== undefined && out !== isOut) continue;
        for (const port of isOut ? node.outs : node.ins) {
          const distance = Math.hypot(x - box.x - (isOut ? box.w : 0), y - box.y - port.y);
          if (distance <= shortest) [best, shortest] = [{ type: "port", node, port: port.name, out: isOut }, distance];
        }
      }
    }
    return best;
  }

  /** Return the edge within a distance in graph units, for dropped nodes. */
  nearestEdge(x, y, reach) {
    return this.edge(x, y, reach)?.edge ?? null;
  }

  edge(x, y, reach = EDGE_REACH / this.viewport.k) {
    let best = null;
    let shortest = reach;
    for (const edge of this.model.edges.values()) {
      if (edge.off || !this.isShown(edge.scope)) continue;
      const ends = this.model.ends(edge);
      if (!ends) continue;
      const [ox, oy] = this.model.offset(edge.scope);
      if (!containsPoint(expandBox(routeBox(ends, edge.detour), reach), x - ox, y - oy)) continue;
      const distance = distanceToRoute(x - ox, y - oy, ends, edge.detour);
      if (distance <= shortest) [best, shortest] = [{ type: "edge", edge, end: this.#end(ends, x - ox, y - oy) }, distance];
    }
    return best;
  }

  /** Near which end the point is, if near one. */
  #end([x1, y1, x2, y2], x, y) {
    const reach = END_REACH / Math.max(this.viewport.k, 0.5);
    if (Math.hypot(x2 - x, y2 - y) < reach) return "to";
    return Math.hypot(x1 - x, y1 - y) < reach ? "from" : undefined;
  }

  #onNode(node, x, y) {
    if (!node.isBox && !node.isNote) return { type: "node", node };
    const box = this.model.box(node);
    const reach = CORNER / Math.max(this.viewport.k, 0.5);
    const isCorner = !node.folded && x > box.x + box.w - reach && y > box.y + box.h - reach;
    return { type: isCorner ? "corner" : "node", node };
  }

  *#visibleNodes() {
    for (const node of this.model.nodes.values()) if (!node.off && this.isShown(node.scope)) yield node;
  }

  /** Whether a scope is on the page: not folded away, not outside what is looked into. */
  isShown(scope) {
    const stage = this.stage();
    if (scope === stage) return true;
    let isInside = stage === "root";
    for (const box of this.model.ancestors(scope)) {
      if (box.folded) return false;
      isInside ||= box.id === stage;
    }
    return isInside;
  }
}

/** Notes lie behind everything: a group's frame is taken by its rim and head only where nothing else is. */
const isBackground = (node) => node.isNote;
