// Panning is native scrolling: the browser moves finished tiles without layout or painting, and trackpads, touch momentum,
// focus and find-in-page work as usual. The view lies in a sizer with a margin of one screen on every side. During a zoom
// only transforms change; sizer and scroll position follow when it ends.

import { clamp } from "../geometry.js";
import { centreIn, scaleToFit } from "./free_area.js";

const MIN_ZOOM = 0.04;
const MAX_ZOOM = 2.5;
const REST_AFTER = 140;
const DEFAULT_INSETS = { left: 48, top: 48, right: 48, bottom: 48 };

/** Events: "move" (anything changed on screen), "zoom" (a step of a zoom), "rest" (the zoom ended), "resize". */
export class Viewport extends EventTarget {
  x = 0; // position of the graph's origin on screen, in pixels from the corner of the root
  y = 0;
  k = 1;
  #bounds = { x: 0, y: 0, w: 1, h: 1 };
  #origin = [0, 0]; // position of the graph's origin in the sizer
  #size = [0, 0]; // of the root
  #frame = 0;
  #timer = 0;
  #hasZoomed = false;
  #isHidden = false;

  constructor(root) {
    super();
    this.root = root;
    this.pane = root.querySelector(".wf-pane");
    this.sizer = root.querySelector(".wf-sizer");
    this.view = root.querySelector(".wf-view");
    this.measure();
    this.pane.addEventListener("scroll", () => this.followScroll(), { passive: true });
    new ResizeObserver(() => this.#onResize()).observe(root);
  }

  /** Return whether a zoom is under way; sizer and scroll position are then out of date. */
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

  /** Show the graph's origin at x, y. With `isGesture` a change of scale is one step of a zoom. */
  set(x, y, k = this.k, { isGesture = false } = {}) {
    k = clamp(k, MIN_ZOOM, MAX_ZOOM);
    const isRescaled = k !== this.k;
    [this.x, this.y, this.k] = [x, y, k];
    if (isRescaled && !isGesture) return this.rest();
    this.#hasZoomed ||= isRescaled;
    this.#frame ||= requestAnimationFrame(() => this.#step());
  }

  #step() {
    this.#frame = 0;
    if (this.#hasZoomed) {
      this.#hasZoomed = false;
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

  /** Return the current position of the graph's origin in the sizer. */
  get origin() {
    return this.isZooming ? [this.x + this.pane.scrollLeft, this.y + this.pane.scrollTop] : this.#origin;
  }

  /** Move the view with the zoom. Skipped while the far view is shown. */
  follow() {
    const [left, top] = this.origin;
    this.view.style.transform = `translate(${left}px,${top}px) scale(${this.k})`;
  }

  /** Bring sizer and scroll position in line with x, y and k; nothing moves on screen. */
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

  /** Set the bounds after the graph grew or shrank; the visible part stays in place. */
  grow(bounds) {
    const previous = this.#bounds;
    if (["x", "y", "w", "h"].every((side) => previous[side] === bounds[side])) return;
    if (this.isZooming) this.#bounds = bounds;
    else this.rest(bounds);
  }

  #scroll() {
    const [left, top] = [this.#origin[0] - this.x, this.#origin[1] - this.y];
    this.pane.scrollTo({ left, top, behavior: "instant" });
    // The pane may stop at its end: take its position, or the next pan would start with a jump.
    this.x = this.#origin[0] - this.pane.scrollLeft;
    this.y = this.#origin[1] - this.pane.scrollTop;
  }

  /** Take over the position of the pane. The event of a scroll comes a frame later; a press in between must not miss. */
  followScroll() {
    if (this.isZooming || this.#frame || this.#isHidden) return;
    const [x, y] = [this.#origin[0] - this.pane.scrollLeft, this.#origin[1] - this.pane.scrollTop];
    if (x === this.x && y === this.y) return; // caused by #scroll
    [this.x, this.y] = [x, y];
    this.#emit("move");
  }

  #onResize() {
    const [w, h] = this.#size;
    // A phone shows one view at a time. The hidden pane has neither a size nor a position: what was shown stays as it is.
    const wasHidden = this.#isHidden;
    this.#isHidden = !this.root.clientWidth;
    if (this.#isHidden) return;
    this.measure();
    if (w === this.width && h === this.height) return wasHidden ? this.rest() : undefined;
    this.#emit("resize");
    this.rest();
  }

  zoomAt(px, py, factor, isGesture = true) {
    const k = clamp(this.k * factor, MIN_ZOOM, MAX_ZOOM);
    const ratio = k / this.k;
    this.set(px - (px - this.x) * ratio, py - (py - this.y) * ratio, k, { isGesture });
  }

  /** Zoom to a scale about the middle. */
  zoomTo(k) {
    this.zoomAt(this.width / 2, this.height / 2, k / this.k, false);
  }

  toGraph(px, py) {
    return [(px - this.x) / this.k, (py - this.y) / this.k];
  }

  /** Return the visible box in graph coordinates, `screens` times as wide and high. */
  visibleBox(screens = 1) {
    const extra = (screens - 1) / 2;
    const [x, y] = this.toGraph(-this.width * extra, -this.height * extra);
    return { x, y, w: (this.width * screens) / this.k, h: (this.height * screens) / this.k };
  }

  /** Show the box in the middle of the area between the insets, as large as fits and at most at scale 1. */
  fit(box, bounds = this.#bounds, insets = DEFAULT_INSETS) {
    this.k = clamp(scaleToFit(box, this.#size, insets), MIN_ZOOM, 1);
    [this.x, this.y] = centreIn(box, this.#size, insets, this.k);
    this.rest(bounds);
  }

  #emit(name, detail) {
    this.dispatchEvent(new CustomEvent(name, { detail }));
  }
}
