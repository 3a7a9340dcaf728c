// Moves the view: fit, reveal, centre, and restore the last view.

import { boundingBox, overlaps } from "../geometry.js";
import { ROOT } from "../model.js";
import { findClearMove, findInsets } from "./free_area.js";
import { storeSetting, loadSetting } from "./view_tools.js";
import { isNarrow } from "../../editor/panels.js";

const READABLE = 0.8; // the least scale at which a graph is first shown
const TABLET_SCALE = 0.5; // the same on a canvas of medium width, where a cut graph says less than a small one
const PHONE_SCALE = 0.45; // the same on a phone, where titles alone are shown, and large
const PHONE_START = 0.5; // the scale of the beginning of a graph that is too wide for a phone
const LEAST_KEPT = 0.6; // the least scale that a view is zoomed out to when the graph no longer fits
const MEDIUM_WIDTH = 800; // px
const START_INSET = 40; // px between the corner of the canvas and the beginning of a graph that is too large for it
const SIZE_TOLERANCE = 0.15; // the part of its size that a window may have changed by since its view was stored
const FLOATING = ".wf-tools, .wf-minimap, .wf-crumbs, .node-bar, .steps-corner > :not([hidden])";
const STATE_HEIGHT = 28;
const MARGIN = 24; // px from the edge of the view that count as badly visible
const TOLERANCE = 2; // px that a view may differ and still count as the fitted one

export class Navigation {
  constructor(canvas) {
    this.canvas = canvas;
    this.key = `canvas-view:${canvas.editor.root.dataset.workflow}`;
    this.isNarrow = isNarrow();
    this.size = [canvas.viewport.width, canvas.viewport.height];
    addEventListener("pagehide", () => this.store());
    canvas.viewport.addEventListener("resize", () => this.#onResize());
  }

  /** Unfold, display and scroll to a node or edge. */
  reveal(id) {
    const { canvas } = this;
    const { model, containers } = canvas;
    const node = model.nodes.get(id) ?? model.nodes.get(model.edges.get(id)?.from);
    if (!node) return;
    for (const box of model.ancestors(node.scope)) if (box.folded) containers.fold(box.id, false, false);
    const isInside = canvas.stage === ROOT || model.ancestors(node.scope).some((box) => box.id === canvas.stage);
    if (!isInside) containers.enter(ROOT);
    canvas.culling.show(node);
    this.#scrollTo(node);
  }

  /** Scroll only as far as needed when the node is near, so that the rest of the view stays. */
  #scrollTo(node) {
    const { model, viewport: v } = this.canvas;
    const card = model.box(node);
    const box = { ...card, h: card.h + STATE_HEIGHT }; // the state of a run is written below the card
    const visible = v.visibleBox();
    const margin = Math.min(MARGIN / v.k, visible.w / 4, visible.h / 4);
    const [dx, dy] = [scrollDistance(box.x, box.w, visible.x, visible.w, margin), scrollDistance(box.y, box.h, visible.y, visible.h, margin)];
    if (Math.abs(dx) > visible.w || Math.abs(dy) > visible.h) return this.centre(node.id);
    const [x, y] = [v.x - dx * v.k, v.y - dy * v.k];
    const [right, down] = findClearMove({ x: x + box.x * v.k, y: y + box.y * v.k, w: box.w * v.k, h: box.h * v.k }, [v.width, v.height], this.#getFloatingBoxes());
    if (dx || dy || right || down) v.set(x + right, y + down);
  }

  revealAll(ids) {
    const { model, viewport: v } = this.canvas;
    const nodes = ids.map((id) => model.nodes.get(id)).filter(Boolean);
    if (!nodes.length) return;
    const box = boundingBox(nodes.map((node) => model.box(node)));
    const visible = v.visibleBox();
    const isVisible = box.x >= visible.x && box.y >= visible.y && box.x + box.w <= visible.x + visible.w && box.y + box.h <= visible.y + visible.h;
    if (isVisible) return;
    if (box.w > visible.w || box.h > visible.h) this.fit(ids);
    else v.set(v.width / 2 - (box.x + box.w / 2) * v.k, v.height / 2 - (box.y + box.h / 2) * v.k);
  }

  /** Return whether all nodes of the page are in view. */
  showsAll() {
    return this.#isVisible(this.canvas.bounds());
  }

  #isVisible(box, [width, height] = [this.canvas.viewport.width, this.canvas.viewport.height]) {
    const { x, y, k } = this.canvas.viewport;
    return x + box.x * k >= -TOLERANCE && y + box.y * k >= -TOLERANCE && x + (box.x + box.w) * k <= width + TOLERANCE && y + (box.y + box.h) * k <= height + TOLERANCE;
  }

  /**
   * Keep a node in view together with its neighbours, or with `all` the whole graph. The view moves no further than needed,
   * and zooms out only for the whole graph, as long as it stays readable.
   */
  keepInView(id, { all = false } = {}) {
    const { canvas } = this;
    const node = canvas.model.nodes.get(id);
    if (all && this.#keepBox(canvas.bounds(), LEAST_KEPT)) return;
    if (node && node.scope === canvas.stage) this.#keepBox(this.#boxAround(node));
  }

  #boxAround(node) {
    const { model } = this.canvas;
    const neighbours = [...model.edgesOf(node.id)].flatMap(({ from, to }) => [model.nodes.get(from), model.nodes.get(to)]);
    return boundingBox([node, ...neighbours.filter(Boolean)].map((each) => model.box(each)));
  }

  /** Move the view until it contains a box, and return whether it can. */
  #keepBox(box, leastScale = 1) {
    const { viewport: v } = this.canvas;
    const visible = v.visibleBox();
    if (box.w <= visible.w && box.h <= visible.h) {
      const margin = Math.min(MARGIN / v.k, (visible.w - box.w) / 2, (visible.h - box.h) / 2);
      const [dx, dy] = [scrollDistance(box.x, box.w, visible.x, visible.w, margin), scrollDistance(box.y, box.h, visible.y, visible.h, margin)];
      if (dx || dy) v.set(v.x - dx * v.k, v.y - dy * v.k);
      return true;
    }
    if (Math.min(v.width / box.w, v.height / box.h) < leastScale) return false;
    this.fit();
    return true;
  }

  centre(id, k = this.canvas.viewport.k) {
    const { model, viewport: v } = this.canvas;
    const node = model.nodes.get(id);
    if (!node) return;
    const box = model.box(node);
    v.set(v.width / 2 - (box.x + box.w / 2) * k, v.height / 2 - (box.y + box.h / 2) * k, k);
  }

  /** Fit these nodes, or all nodes of the page, into the view. */
  fit(ids) {
    const { canvas } = this;
    const nodes = ids && [...ids].map((id) => canvas.model.nodes.get(id)).filter(Boolean);
    const bounds = canvas.bounds();
    const box = nodes?.length ? canvas.model.bounds(nodes[0].scope, nodes) : bounds;
    const nodesToShow = nodes?.length ? nodes : [...canvas.model.nodes.values()].filter((node) => node.scope === canvas.stage);
    const { viewport, model } = canvas;
    viewport.fit(box, bounds, findInsets(box, nodesToShow.map((node) => model.box(node)), [viewport.width, viewport.height], this.#getFloatingBoxes()));
    this.fitted = ids ? null : [viewport.x, viewport.y, viewport.k];
    canvas.minimap.invalidate();
    canvas.farView.sharpen();
    canvas.culling.update(true);
  }

  /** A view that showed the whole graph keeps doing so after a resize. */
  #onResize() {
    const { x, y, k, width } = this.canvas.viewport;
    const [x0, y0, scale] = this.fitted ?? [];
    const previous = this.size;
    this.size = [width, this.canvas.viewport.height];
    if (!width) return;
    if (this.isNarrow !== isNarrow()) this.showFirst();
    else if (k === scale && Math.abs(x - x0) < TOLERANCE && Math.abs(y - y0) < TOLERANCE) this.fit();
    else if (this.#isSmallerThan(previous) && !this.canvas.pointers.gesture) this.#keepSelection(previous);
  }

  /** A phone has no panels beside the canvas; there it is the keyboard that takes room, for a moment. */
  #isSmallerThan([width, height]) {
    return !this.isNarrow && (this.size[0] < width || this.size[1] < height);
  }

  /** A panel that opens covers neither the selected node nor its neighbours, nor a graph that was all in view. */
  #keepSelection(previous) {
    const { model, selection } = this.canvas;
    if (this.#isVisible(this.canvas.bounds(), previous)) return this.keepInView([...selection][0], { all: true });
    const [node] = [...selection].map((id) => model.nodes.get(id)).filter(Boolean);
    if (node && this.#isVisible(model.box(node), previous)) this.keepInView(node.id);
  }

  /** Return the boxes of the elements that float over the canvas, in its pixels. */
  #getFloatingBoxes() {
    const { root } = this.canvas;
    const corner = root.getBoundingClientRect();
    const boxes = [...root.parentElement.querySelectorAll(FLOATING)].map((el) => el.getBoundingClientRect());
    return boxes.filter(({ width }) => width > 0).map(({ left: x0, top: y0, width, height }) => ({ x: x0 - corner.left, y: y0 - corner.top, w: width, h: height }));
  }

  zoomBy(factor) {
    const { viewport: v } = this.canvas;
    v.zoomAt(v.width / 2, v.height / 2, factor, false);
  }

  /** Store the view, except on narrow screens, whose view would not fit a wide one. */
  store() {
    const { x, y, k, width } = this.canvas.viewport;
    if (!width || isNarrow()) return;
    storeSetting(this.key, JSON.stringify([x, y, k, innerWidth, innerHeight].map((n) => Math.round(n * 1000) / 1000)));
  }

  /**
   * Restore the last view of this person if it was stored in a window of about this size. Otherwise show the whole graph if
   * it can be read, and else its beginning.
   */
  showFirst() {
    const { viewport } = this.canvas;
    if (!viewport.width) return; // on a narrow screen another panel is shown first
    this.isNarrow = isNarrow();
    const view = isNarrow() ? null : this.#loadView(); // before any other view is stored in its place
    this.fit();
    const least = this.isNarrow ? PHONE_SCALE : viewport.width < MEDIUM_WIDTH ? TABLET_SCALE : READABLE;
    if (viewport.k < least && !this.canvas.farView.isFar) this.#begin(this.isNarrow ? PHONE_START : READABLE);
    if (!view) return;
    Object.assign(viewport, view);
    viewport.rest();
  }

  /** Return the stored view if it fits the window and shows a part of the graph. */
  #loadView() {
    const { viewport: v } = this.canvas;
    let numbers = null;
    try {
      numbers = JSON.parse(loadSetting(this.key));
    } catch {
      return null; // no stored view
    }
    if (!Array.isArray(numbers) || numbers.length < 5 || !numbers.every(Number.isFinite)) return null;
    const [x, y, k, width, height] = numbers;
    const isSimilar = (stored, current) => Math.abs(stored - current) <= SIZE_TOLERANCE * current;
    if (!isSimilar(width, innerWidth) || !isSimilar(height, innerHeight)) return null; // of the window: panels come and go
    const visible = { x: -x / k, y: -y / k, w: v.width / k, h: v.height / k };
    return overlaps(visible, this.canvas.bounds()) ? { x, y, k } : null;
  }

  /** Show the beginning of the graph: its start at the left, in the middle if the graph is higher than the window. */
  #begin(k) {
    const { canvas } = this;
    const { viewport: v, model } = canvas;
    const b = canvas.bounds();
    const nodes = [...model.nodes.values()].filter((node) => node.scope === canvas.stage && !node.isNote);
    const first = nodes.sort((one, other) => isStart(other) - isStart(one) || one.x - other.x)[0];
    const room = v.height - 2 * START_INSET;
    // What lies before the start, such as a note, gives way if the start would be out of sight behind it.
    const left = first && (first.x + first.w - b.x) * k > v.width - START_INSET ? first.x : b.x;
    const x = b.w * k <= v.width - 2 * START_INSET ? (v.width - b.w * k) / 2 - b.x * k : START_INSET - left * k;
    let y = (v.height - b.h * k) / 2 - b.y * k;
    if (b.h * k > room && first) {
      // As near to the middle of the first node as the graph's upper and lower ends allow.
      const middle = v.height / 2 - (first.y + first.h / 2) * k;
      y = Math.min(START_INSET - b.y * k, Math.max(v.height - START_INSET - (b.y + b.h) * k, middle));
    }
    Object.assign(v, { k, x, y });
    v.rest();
  }
}

/** Return whether a run, or a round of a container, begins at the node. */
const isStart = ({ kind }) => kind === "start" || kind.startsWith("trigger-") || kind.endsWith("-start");

/**
 * Return how far the view must move along one axis to contain a stretch; 0 when it already does. A stretch that is too long
 * is shown from its beginning.
 */
function scrollDistance(start, length, from, room, margin) {
  if (start >= from && start + Math.min(length, room) <= from + room) return 0;
  if (start < from + margin || length + 2 * margin > room) return start - margin - from;
  return start + length + margin - (from + room);
}
