// Turns pointer events into gestures. Events are listened to and captured on the root, so that elements may be replaced
// during a gesture. Moves are handled once a frame.

import { Connect } from "./connect.js";
import { Drag } from "./drag.js";
import { LongPress } from "./long_press.js";
import { Marquee } from "./marquee.js";
import { Pan, Pinch } from "./pan.js";
import { Resize } from "./resize.js";
import { HEADER_HEIGHT } from "../geometry.js";

const THRESHOLD = 4; // pixels before a press becomes a drag
const TOUCH_REACH = 14; // pixels around a card in which a finger still hits it, since cards are small on a phone
const INTERACTIVE = "input, textarea, select, button, a, summary, label, [contenteditable], .wf-minimap, .wf-tools, .wf-crumbs, [data-nodrag]";

export class Pointers {
  #down = new Map(); // pointer id → its last point
  #frame = 0;
  #pressed = null; // {hit, point, event} before it becomes a gesture
  #isRepeated = false; // whether the pressed node was the only selected one already
  gesture = null;
  isSpaceHeld = false;

  constructor(canvas) {
    this.canvas = canvas;
    this.longPress = new LongPress(canvas, (node) => this.#onHold(node));
    const { root } = canvas;
    root.addEventListener("pointerdown", (e) => this.#onPress(e));
    root.addEventListener("pointermove", (e) => this.#onMove(e));
    for (const name of ["pointerup", "pointercancel", "lostpointercapture"]) root.addEventListener(name, (e) => this.#onRelease(e));
    root.addEventListener("wheel", (e) => this.#onWheel(e), { passive: false });
    // Two fingers pinch the graph; one finger scrolls natively, unless it moves what is selected or held.
    root.addEventListener("touchstart", (e) => e.touches.length > 1 && e.preventDefault(), { passive: false });
    root.addEventListener("touchmove", (e) => this.#ownsTouch() && e.cancelable && e.preventDefault(), { passive: false });
    root.addEventListener("dragstart", (e) => e.target.closest?.("wf-node") && e.preventDefault());
    addEventListener("keydown", (e) => this.#onKey(e));
    addEventListener("keyup", (e) => e.code === "Space" && this.#setSpaceHeld(false));
    addEventListener("blur", () => this.#setSpaceHeld(false));
  }

  /** Return the point of an event, in pixels of the root and in the graph. */
  point(e) {
    const { viewport, root } = this.canvas;
    const corner = root.getBoundingClientRect();
    const [px, py] = [e.clientX - corner.left, e.clientY - corner.top];
    const [x, y] = viewport.toGraph(px, py);
    return { px, py, x, y, clientX: e.clientX, clientY: e.clientY, isFree: e.altKey, shift: e.shiftKey, many: e.shiftKey || e.ctrlKey || e.metaKey };
  }

  #onPress(e) {
    if (e.target.closest(INTERACTIVE)) return;
    this.canvas.viewport.followScroll();
    const point = this.point(e);
    this.#down.set(e.pointerId, point);
    if (this.#down.size === 2) return this.#startPinch(e);
    if (this.gesture || this.#down.size > 1) return;
    if (e.pointerType === "touch") return this.#onTouch(e, point);
    const isPan = e.button === 1 || (e.button === 0 && this.isSpaceHeld);
    const hit = isPan || e.button > 1 ? null : this.#hit(e, point);
    if (e.button > 1) return;
    this.#pressed = { hit, point, isPan };
    this.canvas.root.setPointerCapture(e.pointerId);
    if (e.button === 1) e.preventDefault(); // no autoscroll
    if (hit?.type === "node" || hit?.type === "corner") this.#pickOnPress(hit.node.id, point);
    if (!e.target.closest(".wf-pane")) return;
    this.canvas.takeFocus(hit?.node);
    e.preventDefault(); // prevents text selection and native focus
  }

  /** A finger moves only what is selected already; anything else it selects by a tap, holds by a long press, or pans over. */
  #onTouch(e, point) {
    if (!e.isPrimary) return; // the first finger is scrolling
    const hit = this.#hit(e, point);
    const { canvas } = this;
    const isNode = hit?.type === "node";
    const isSelected = canvas.canEdit && canvas.selection.has((hit?.node ?? hit?.edge)?.id);
    this.#isRepeated = isNode && canvas.selection.size === 1 && canvas.selection.has(hit.node.id);
    this.#pressed = { hit, point, isTouch: true, isScroll: !isSelected };
    this.longPress.begin(canvas.canEdit && isNode ? hit.node : null);
    canvas.root.setPointerCapture(e.pointerId);
    if (hit) e.preventDefault(); // prevents text selection and native focus
  }

  /** The finger rests on the node: it moves the node from now on. */
  #onHold(node) {
    if (!this.#pressed) return;
    Object.assign(this.#pressed, { isScroll: false, isHeld: true });
    this.canvas.takeFocus(node);
  }

  /** A second finger takes back what the first one has begun. */
  #startPinch(e) {
    this.#begin(new Pinch(this.canvas, this.#down), e);
    this.longPress.cancel();
  }

  /** Return whether a finger does something here that the browser would scroll for. */
  #ownsTouch() {
    return Boolean(this.gesture || (this.#pressed && !this.#pressed.isScroll));
  }

  /** Return whether a finger holds a node; the menu then opens when it is lifted. */
  get isHeld() {
    return Boolean(this.#pressed?.isHeld || this.gesture);
  }

  /** Return whether the pointer moves this node, or pressed it and is about to. */
  isHolding(id) {
    return this.gesture?.moving?.has(id) ?? this.#pressed?.hit?.node?.id === id;
  }

  #hit(e, point) {
    const { hitTester, viewport } = this.canvas;
    const hit = hitTester.at(point.x, point.y, { ports: this.canvas.canEdit });
    const near = e.pointerType === "touch" && !hit && hitTester.nearestNode(point.x, point.y, TOUCH_REACH / viewport.k);
    if (near) return { type: "node", node: near };
    // with a finger, the inside of a container scrolls like the background
    const isInside = e.pointerType === "touch" && hit?.node?.isBox && hit.type === "node" && point.y > this.canvas.model.box(hit.node).y + HEADER_HEIGHT;
    return isInside ? null : hit;
  }

  #pickOnPress(id, { many }) {
    const { selection } = this.canvas;
    this.#isRepeated = false;
    if (many) selection.toggle(id);
    else if (!selection.has(id)) selection.pick([id]);
    else if (selection.size === 1) this.#isRepeated = true;
  }

  #begin(gesture, e) {
    this.gesture?.cancel();
    this.longPress.stop();
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
    const isMarquee = point.shift !== (canvas.tool === "select");
    return isMarquee && !hit ? new Marquee(canvas, point) : new Pan(canvas, point);
  }

  /** Dragging an input with one edge moves that edge; any other port starts a new one. */
  #fromPort({ node, port, out }, point) {
    const edges = out ? [] : [...this.canvas.model.edgesOf(node.id)].filter((edge) => edge.to === node.id);
    if (edges.length === 1) return Connect.replug(this.canvas, point, edges[0], "to");
    return new Connect(this.canvas, point, { node: node.id, fp: port, out });
  }

  #onMove(e) {
    const point = this.point(e);
    if (this.#down.has(e.pointerId)) this.#down.set(e.pointerId, point);
    if (!this.gesture && !this.#pressed) return e.pointerType === "mouse" && this.canvas.hover.over(point, e.target);
    if (this.#pressed && !this.#pressed.isScroll) {
      const from = this.#pressed.point;
      if (Math.hypot(point.px - from.px, point.py - from.py) < THRESHOLD) return;
      this.#begin(this.#make(this.#pressed));
    }
    this.last = point;
    this.#frame ||= requestAnimationFrame(() => this.step());
  }

  /** Apply the last pointer position to the gesture, also when the graph moved under it. */
  step() {
    this.#frame = 0;
    if (this.gesture && this.last) this.gesture.move(this.updatePoint(this.last));
  }

  updatePoint(point) {
    const [x, y] = this.canvas.viewport.toGraph(point.px, point.py);
    return { ...point, x, y };
  }

  #onRelease(e) {
    const wasDown = this.#down.delete(e.pointerId);
    if (e.type === "lostpointercapture" && !wasDown) return;
    const pressed = this.#pressed;
    this.#pressed = null;
    this.longPress.stop();
    if (this.gesture) {
      if (this.gesture.name === "pinch" && this.#down.size) return;
      return this.#finish(e.type === "pointercancel");
    }
    if (pressed && e.type === "pointerup") this.#onClick(pressed);
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

  #onClick({ hit, point, isTouch, isScroll, isHeld }) {
    const { canvas } = this;
    if (isHeld) return canvas.emit("hold", { x: point.clientX, y: point.clientY });
    if (isTouch && hit) canvas.takeFocus(hit.node);
    if (!hit) {
      if (!point.many) canvas.pick([]);
    } else if (hit.type === "edge") canvas.pick([hit.edge.id], point.many);
    else if (!point.many) {
      canvas.pick([hit.node.id]);
      // The selection didn't change, but the person may want to see the node again.
      if (this.#isRepeated) canvas.emit("repeated-click", { id: hit.node.id });
      if (hit.type === "port" && hit.out && canvas.canEdit && !isScroll) canvas.emit("port-click", { ...point, node: hit.node, port: hit.port });
    }
  }

  #onWheel(e) {
    if (e.target.closest(".wf-minimap, .wf-tools")) return;
    const isZoom = (e.ctrlKey || e.metaKey) !== this.canvas.wheelZooms;
    if (!isZoom) return; // the browser scrolls
    e.preventDefault();
    const delta = e.deltaY * (e.deltaMode ? 20 : 1);
    const { px, py } = this.point(e);
    // a pinch on a trackpad arrives as small wheel steps
    this.canvas.viewport.zoomAt(px, py, Math.exp(-delta * (Math.abs(delta) < 12 ? 0.01 : 0.002)));
  }

  #onKey(e) {
    if (e.key === "Escape" && (this.gesture || this.#pressed)) {
      this.#pressed = null;
      this.longPress.stop();
      if (this.gesture) this.#finish(true);
      e.preventDefault();
      e.stopImmediatePropagation();
    }
    const isTyping = e.target.closest?.("input, textarea, select, button, a, [contenteditable]");
    if (e.code === "Space" && !isTyping && this.canvas.root.matches(":hover, :focus-within")) {
      this.#setSpaceHeld(true);
      e.preventDefault();
    }
  }

  #setSpaceHeld(isHeld) {
    this.isSpaceHeld = isHeld;
    this.canvas.cover();
  }
}

