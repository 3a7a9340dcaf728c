// Panning is native scrolling: the browser moves finished tiles, nothing is laid out or painted again; trackpads,
// touch momentum, focus and find-in-page come for free. The view lies in a sizer with a margin of one screen on
// every side. While a zoom goes on only transforms change; sizer and scroll position follow when it rests.

import { clamp } from "./geometry.js";
import { placeIn, scaleIn } from "./room.js";

const LEAST = 0.04;
const MOST = 2.5;
const REST_AFTER = 140;
const EVEN = { left: 48, top: 48, right: 48, bottom: 48 };

/** Events: "move" (anything changed on screen), "zoom" (a step of a zoom going on), "rest" (it is over), "resize". */
export class Viewport extends EventTarget {
  x = 0; // where the graph's origin is on screen, in pixels from the root's corner
  y = 0;
  k = 1;
  #bounds = { x: 0, y: 0, w: 1, h: 1 };
  #origin = [0, 0]; // where the graph's origin is in the sizer
  #size = [0, 0]; // of the root
  #frame = 0;
  #timer = 0;
  #zoomed = false;

  constructor(root) {
    super();
    this.root = root;
    this.pane = root.querySelector(".wf-pane");
    this.sizer = root.querySelector(".wf-sizer");
    this.view = root.querySelector(".wf-view");
    this.measure();
    this.pane.addEventListener("scroll", () => this.#scrolled(), { passive: true });
    new ResizeObserver(() => this.#resized()).observe(root);
  }

  /** Whether a zoom is under way: sizer and scroll position don't hold yet. */
  get isZooming() {
    return this.#timer !== 0;
  }

  get width() {
    return this.#size[0];
  }

  get height() {
    return this.#size[1];
  }

  measure() {
    this.#size = [this.root.clientWidth, this.root.clientHeight];
  }

  /** Show the graph's origin at x, y; a change of scale that is one of many says so. */
  set(x, y, k = this.k, { isGesture = false } = {}) {
    k = clamp(k, LEAST, MOST);
    const rescaled = k !== this.k;
    [this.x, this.y, this.k] = [x, y, k];
    if (rescaled && !isGesture) return this.rest();
    this.#zoomed ||= rescaled;
    this.#frame ||= requestAnimationFrame(() => this.#step());
  }

  #step() {
    this.#frame = 0;
    if (this.#zoomed) {
      this.#zoomed = false;
      const begins = !this.#timer;
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.rest(), REST_AFTER);
      this.#emit("zoom", { begins });
    } else if (this.isZooming) {
      this.rest();
    } else {
      this.#scroll();
    }
    this.#emit("move");
  }

  /** Where the graph's origin is in the sizer right now. */
  get origin() {
    return this.isZooming ? [this.x + this.pane.scrollLeft, this.y + this.pane.scrollTop] : this.#origin;
  }

  /** The view follows the zoom; skipped while something else is shown in its place. */
  follow() {
    const [left, top] = this.origin;
    this.view.style.transform = `translate(${left}px,${top}px) scale(${this.k})`;
  }

  /** Sizer and scroll position agree with x, y and k again; nothing moves on screen. */
  rest(bounds = this.#bounds) {
    clearTimeout(this.#timer);
    this.#timer = 0;
    this.#bounds = bounds;
    const [w, h] = this.#size;
    const { k } = this;
    this.#origin = [Math.round(w - bounds.x * k), Math.round(h - bounds.y * k)];
    this.sizer.style.width = `${bounds.w * k + 2 * w}px`;
    this.sizer.style.height = `${bounds.h * k + 2 * h}px`;
    this.view.style.transform = `translate(${this.#origin[0]}px,${this.#origin[1]}px) scale(${k})`;
    this.#scroll();
    this.#emit("rest");
    this.#emit("move");
  }

  /** The graph grew or shrank; what is seen stays where it is. */
  grow(bounds) {
    const old = this.#bounds;
    if (["x", "y", "w", "h"].every((side) => old[side] === bounds[side])) return;
    if (this.isZooming) this.#bounds = bounds;
    else this.rest(bounds);
  }

  #scroll() {
    const [left, top] = [this.#origin[0] - this.x, this.#origin[1] - this.y];
    this.pane.scrollTo({ left, top, behavior: "instant" });
    // where the pane ends, it ends: believe it, or the next pan starts with a jump
    this.x = this.#origin[0] - this.pane.scrollLeft;
    this.y = this.#origin[1] - this.pane.scrollTop;
  }

  #scrolled() {
    if (this.isZooming || this.#frame) return;
    const [x, y] = [this.#origin[0] - this.pane.scrollLeft, this.#origin[1] - this.pane.scrollTop];
    if (x === this.x && y === this.y) return; // our own doing
    [this.x, this.y] = [x, y];
    this.#emit("move");
  }

  #resized() {
    const [w, h] = this.#size;
    this.measure();
    if (w === this.width && h === this.height) return;
    this.#emit("resize");
    this.rest();
  }

  zoomAt(px, py, factor, isGesture = true) {
    const k = clamp(this.k * factor, LEAST, MOST);
    const grown = k / this.k;
    this.set(px - (px - this.x) * grown, py - (py - this.y) * grown, k, { isGesture });
  }

  /** A scale, about the middle. */
  zoomTo(k) {
    this.zoomAt(this.width / 2, this.height / 2, k / this.k, false);
  }

  toGraph(px, py) {
    return [(px - this.x) / this.k, (py - this.y) / this.k];
  }

  /** What is seen, in graph coordinates, `screens` times as wide and high. */
  seen(screens = 1) {
    const more = (screens - 1) / 2;
    const [x, y] = this.toGraph(-this.width * more, -this.height * more);
    return { x, y, w: (this.width * screens) / this.k, h: (this.height * screens) / this.k };
  }

  /** The box in the middle of what the insets leave, as large as fits and no larger than life. */
  fit(box, bounds = this.#bounds, insets = EVEN) {
    this.k = clamp(scaleIn(box, this.#size, insets), LEAST, 1);
    [this.x, this.y] = placeIn(box, this.#size, insets, this.k);
    this.rest(bounds);
  }

  #emit(name, detail) {
    this.dispatchEvent(new CustomEvent(name, { detail }));
  }
}
