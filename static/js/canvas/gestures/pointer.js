// Pointers to gestures. Listened to and captured on the root, so an element may be replaced in the middle of a
// gesture without the gesture noticing. Moves are handled once a frame.

import { Connect } from "./connect.js";
import { Drag } from "./drag.js";
import { Marquee } from "./marquee.js";
import { Pan } from "./pan.js";
import { Pinch } from "./pinch.js";
import { Resize } from "./resize.js";
import { HEAD } from "./geometry.js";

const THRESHOLD = 4; // pixels before a press is a drag
const OWN = "input, textarea, select, button, a, summary, label, [contenteditable], .wf-minimap, .wf-tools, .wf-crumbs, [data-nodrag]";

export class Pointers {
  #down = new Map(); // pointer → its last point
  #frame = 0;
  #pressed = null; // {hit, point, event}: not yet a gesture
  gesture = null;
  isSpaceHeld = false;

  constructor(canvas) {
    this.canvas = canvas;
    const { root } = canvas;
    root.addEventListener("pointerdown", (e) => this.#press(e));
    root.addEventListener("pointermove", (e) => this.#move(e));
    for (const name of ["pointerup", "pointercancel", "lostpointercapture"]) root.addEventListener(name, (e) => this.#release(e));
    root.addEventListener("wheel", (e) => this.#wheel(e), { passive: false });
    // two fingers are ours, to pinch; one on the background is the browser's, to scroll
    root.addEventListener("touchstart", (e) => e.touches.length > 1 && e.preventDefault(), { passive: false });
    root.addEventListener("dragstart", (e) => e.target.closest?.("wf-node") && e.preventDefault());
    addEventListener("keydown", (e) => this.#key(e));
    addEventListener("keyup", (e) => e.code === "Space" && this.#space(false));
    addEventListener("blur", () => this.#space(false));
  }

  /** A point on screen, in pixels of the root and in the graph. */
  point(e) {
    const { viewport, root } = this.canvas;
    const corner = root.getBoundingClientRect();
    const [px, py] = [e.clientX - corner.left, e.clientY - corner.top];
    const [x, y] = viewport.toGraph(px, py);
    return { px, py, x, y, clientX: e.clientX, clientY: e.clientY, isFree: e.altKey, shift: e.shiftKey, many: e.shiftKey || e.ctrlKey || e.metaKey };
  }

  #press(e) {
    if (e.target.closest(OWN)) return;
    const point = this.point(e);
    this.#down.set(e.pointerId, point);
    if (this.#down.size === 2) return this.#begin(new Pinch(this.canvas, this.#down), e);
    if (this.gesture || this.#down.size > 1) return;
    const isPan = e.button === 1 || (e.button === 0 && this.isSpaceHeld);
    const hit = isPan || e.button > 1 ? null : this.#hit(e, point);
    if (e.pointerType === "touch" && !hit) {
      this.#pressed = { hit: null, point, isTouch: true };
      return;
    }
    if (e.button > 1) return;
    this.#pressed = { hit, point, isPan };
    this.canvas.root.setPointerCapture(e.pointerId);
    if (e.button === 1) e.preventDefault(); // no autoscroll
    if (hit?.type === "node" || hit?.type === "corner") this.#pickOnPress(hit.node.id, point);
    if (!e.target.closest(".wf-pane")) return;
    this.canvas.takeFocus(hit?.node);
    e.preventDefault(); // neither text selection nor focus of its own
  }

  /** Whether the pointer holds this node: it is being moved, or pressed and about to be. */
  isHolding(id) {
    return this.gesture?.moving?.has(id) ?? this.#pressed?.hit?.node?.id === id;
  }

  #hit(e, point) {
    const hit = this.canvas.hits.at(point.x, point.y, { ports: this.canvas.canEdit });
    // with a finger the inside of a container is background: it scrolls
    const isInside = e.pointerType === "touch" && hit?.node?.isBox && hit.type === "node" && point.y > this.canvas.model.box(hit.node).y + HEAD;
    return isInside ? null : hit;
  }

  #pickOnPress(id, { many }) {
    const { selection } = this.canvas;
    if (many) selection.toggle(id);
    else if (!selection.has(id)) selection.pick([id]);
  }

  #begin(gesture, e) {
    this.gesture?.cancel();
    this.gesture = gesture;
    this.#pressed = null;
    if (e) this.canvas.root.setPointerCapture(e.pointerId);
    this.canvas.hover.out();
    this.canvas.cover();
  }

  #make({ hit, point, isPan }) {
    const { canvas } = this;
    if (isPan) return new Pan(canvas, point);
    const kinds = {
      port: () => this.#fromPort(hit, point),
      node: () => new Drag(canvas, point, hit.node.id),
      corner: () => new Resize(canvas, point, hit.node.id),
      edge: () => (hit.end ? Connect.replug(canvas, point, hit.edge, hit.end) : null),
    };
    if (hit && canvas.canEdit) return kinds[hit.type]?.() ?? new Pan(canvas, point);
    const boxing = point.shift !== (canvas.tool === "select");
    return boxing && !hit ? new Marquee(canvas, point) : new Pan(canvas, point);
  }

  /** A way in that one edge leads to gives that edge away; any other port begins a new one. */
  #fromPort({ node, port, out }, point) {
    const edges = out ? [] : [...this.canvas.model.edgesOf(node.id)].filter((edge) => edge.to === node.id);
    if (edges.length === 1) return Connect.replug(this.canvas, point, edges[0], "to");
    return new Connect(this.canvas, point, { node: node.id, fp: port, out });
  }

  #move(e) {
    const point = this.point(e);
    if (this.#down.has(e.pointerId)) this.#down.set(e.pointerId, point);
    if (!this.gesture && !this.#pressed) return e.pointerType === "mouse" && this.canvas.hover.over(point, e.target);
    if (this.#pressed && !this.#pressed.isTouch) {
      const from = this.#pressed.point;
      if (Math.hypot(point.px - from.px, point.py - from.py) < THRESHOLD) return;
      this.#begin(this.#make(this.#pressed));
    }
    this.last = point;
    this.#frame ||= requestAnimationFrame(() => this.step());
  }

  /** The gesture follows the pointer; also when the graph moved under it. */
  step() {
    this.#frame = 0;
    if (this.gesture && this.last) this.gesture.move(this.refreshed(this.last));
  }

  refreshed(point) {
    const [x, y] = this.canvas.viewport.toGraph(point.px, point.py);
    return { ...point, x, y };
  }

  #release(e) {
    const wasDown = this.#down.delete(e.pointerId);
    if (e.type === "lostpointercapture" && !wasDown) return;
    const pressed = this.#pressed;
    this.#pressed = null;
    if (this.gesture) {
      if (this.gesture.name === "pinch" && this.#down.size) return;
      return this.#finish(e.type === "pointercancel");
    }
    if (pressed && e.type === "pointerup") this.#click(pressed);
  }

  #finish(isCancelled) {
    const { gesture } = this;
    if (this.#frame) {
      cancelAnimationFrame(this.#frame);
      this.step();
    }
    this.#clear();
    if (isCancelled) gesture.cancel();
    else gesture.end();
  }

  #clear() {
    this.gesture = null;
    this.last = null;
    this.canvas.cover();
  }

  #click({ hit, point }) {
    const { canvas } = this;
    if (!hit) {
      if (!point.many) canvas.pick([]);
    } else if (hit.type === "edge") canvas.pick([hit.edge.id], point.many);
    else if (!point.many) canvas.pick([hit.node.id]);
  }

  #wheel(e) {
    if (e.target.closest(".wf-minimap, .wf-tools")) return;
    const zooms = (e.ctrlKey || e.metaKey) !== this.canvas.wheelZooms;
    if (!zooms) return; // the browser scrolls
    e.preventDefault();
    const delta = e.deltaY * (e.deltaMode ? 20 : 1);
    const { px, py } = this.point(e);
    // a pinch on a trackpad comes as a wheel of small steps
    this.canvas.viewport.zoomAt(px, py, Math.exp(-delta * (Math.abs(delta) < 12 ? 0.01 : 0.002)));
  }

  #key(e) {
    if (e.key === "Escape" && (this.gesture || this.#pressed)) {
      this.#pressed = null;
      if (this.gesture) this.#finish(true);
      e.preventDefault();
      e.stopImmediatePropagation();
    }
    const isTyping = e.target.closest?.("input, textarea, select, button, a, [contenteditable]");
    if (e.code === "Space" && !isTyping && this.canvas.root.matches(":hover, :focus-within")) {
      this.#space(true);
      e.preventDefault();
    }
  }

  #space(isHeld) {
    this.isSpaceHeld = isHeld;
    this.canvas.cover();
  }
}

