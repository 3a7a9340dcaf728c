// Where one looks: fit, reveal, centre, and coming back to where one was.

import { hits } from "./geometry.js";
import { ROOT } from "./model.js";
import { clear, roomFor } from "./room.js";
import { remember, remembered } from "./tools.js";
import { isNarrow } from "../editor/panels.js";

const READABLE = 0.45; // the least scale a small graph is first shown at
const FLOATING = ".wf-tools, .wf-minimap, .wf-crumbs, .steps-corner > :not([hidden])";
const NEAR = 24; // px from the edge of the view; nearer than that is not well seen
const SAME = 2; // px a view may be off and still be the one that was fitted
const MANY = 60; // nodes; of more than these one wants to see the whole first

export class Look {
  constructor(canvas) {
    this.canvas = canvas;
    this.key = `canvas-view:${canvas.editor.root.dataset.workflow}`;
    this.isNarrow = isNarrow();
    addEventListener("pagehide", () => this.keep());
    canvas.viewport.addEventListener("resize", () => this.#resized());
  }

  /** So that it can be seen: unfolded, displayed, scrolled to. */
  reveal(id) {
    const { canvas } = this;
    const { model, containers } = canvas;
    const node = model.nodes.get(id) ?? model.nodes.get(model.edges.get(id)?.from);
    if (!node) return;
    for (const box of model.around(node.scope)) if (box.folded) containers.fold(box.id, false, false);
    const isInside = canvas.stage === ROOT || model.around(node.scope).some((box) => box.id === canvas.stage);
    if (!isInside) containers.enter(ROOT);
    canvas.culling.show(node);
    this.#nudge(node);
  }

  /** No further than it takes, when it is near: what one had in view stays there. */
  #nudge(node) {
    const { model, viewport: v } = this.canvas;
    const box = model.box(node);
    const seen = v.seen();
    const margin = Math.min(NEAR / v.k, seen.w / 4, seen.h / 4);
    const [dx, dy] = [missing(box.x, box.w, seen.x, seen.w, margin), missing(box.y, box.h, seen.y, seen.h, margin)];
    if (Math.abs(dx) > seen.w || Math.abs(dy) > seen.h) return this.centre(node.id);
    const [x, y] = [v.x - dx * v.k, v.y - dy * v.k];
    const [aside, down] = clear({ x: x + box.x * v.k, y: y + box.y * v.k, w: box.w * v.k, h: box.h * v.k }, [v.width, v.height], this.#floating());
    if (dx || dy || aside || down) v.set(x + aside, y + down);
  }

  centre(id, k = this.canvas.viewport.k) {
    const { model, viewport: v } = this.canvas;
    const node = model.nodes.get(id);
    if (!node) return;
    const box = model.box(node);
    v.set(v.width / 2 - (box.x + box.w / 2) * k, v.height / 2 - (box.y + box.h / 2) * k, k);
  }

  /** These nodes, or all of the page. */
  fit(ids) {
    const { canvas } = this;
    const nodes = ids && [...ids].map((id) => canvas.model.nodes.get(id)).filter(Boolean);
    const bounds = canvas.bounds();
    const box = nodes?.length ? canvas.model.bounds(nodes[0].scope, nodes) : bounds;
    const shown = nodes?.length ? nodes : [...canvas.model.nodes.values()].filter((node) => node.scope === canvas.stage);
    const { viewport, model } = canvas;
    viewport.fit(box, bounds, roomFor(box, shown.map((node) => model.box(node)), [viewport.width, viewport.height], this.#floating()));
    this.fitted = ids ? null : [viewport.x, viewport.y, viewport.k];
    canvas.mini.stale();
    canvas.far.sharpen();
    canvas.culling.update(true);
  }

  /** A view that showed the whole goes on showing it; any other stays what one looked at. */
  #resized() {
    const { x, y, k, width } = this.canvas.viewport;
    const [left, top, scale] = this.fitted ?? [];
    if (!width) return;
    if (this.isNarrow !== isNarrow()) this.first();
    else if (k === scale && Math.abs(x - left) < SAME && Math.abs(y - top) < SAME) this.fit();
  }

  /** What stands over the canvas, in its pixels. */
  #floating() {
    const { root } = this.canvas;
    const corner = root.getBoundingClientRect();
    const boxes = [...root.parentElement.querySelectorAll(FLOATING)].map((el) => el.getBoundingClientRect());
    return boxes.filter(({ width }) => width > 0).map(({ left, top, width, height }) => ({ x: left - corner.left, y: top - corner.top, w: width, h: height }));
  }

  zoomBy(factor) {
    const { viewport: v } = this.canvas;
    v.zoomAt(v.width / 2, v.height / 2, factor, false);
  }

  /** Not of a narrow screen: what fits there is no view for a wide one. */
  keep() {
    const { x, y, k, width } = this.canvas.viewport;
    if (!width || isNarrow()) return;
    remember(this.key, JSON.stringify([x, y, k].map((n) => Math.round(n * 1000) / 1000)));
  }

  /** Where this person left it, else the whole; of what would be too small to read, the beginning. */
  first() {
    const { viewport, model } = this.canvas;
    if (!viewport.width) return; // on a narrow screen another view is shown first
    this.isNarrow = isNarrow();
    let place = null;
    try {
      place = JSON.parse(remembered(this.key));
    } catch {
      // as if never seen
    }
    this.fit();
    if (isNarrow()) return;
    if (viewport.k < READABLE && model.nodes.size < MANY) this.#begin();
    if (!Array.isArray(place) || !place.every(Number.isFinite)) return;
    const [x, y, k] = place;
    const seen = { x: -x / k, y: -y / k, w: viewport.width / k, h: viewport.height / k };
    if (!hits(seen, this.canvas.bounds())) return;
    Object.assign(viewport, { x, y, k });
    viewport.rest();
  }

  #begin() {
    const { viewport } = this.canvas;
    const b = this.canvas.bounds();
    Object.assign(viewport, { k: READABLE, x: 32 - b.x * READABLE, y: (viewport.height - b.h * READABLE) / 2 - b.y * READABLE });
    viewport.rest();
  }
}

/** How far a view must go along one axis for a stretch to be in it; 0 when it is. What is longer is shown from its beginning. */
function missing(at, length, from, room, margin) {
  if (at >= from && at + Math.min(length, room) <= from + room) return 0;
  if (at < from + margin || length + 2 * margin > room) return at - margin - from;
  return at + length + margin - (from + room);
}
