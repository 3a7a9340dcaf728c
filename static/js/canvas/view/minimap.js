// The minimap shows the whole graph in a bitmap, which is drawn again only after a change, with a frame around the visible
// part.

import { boundingBox } from "../geometry.js";

const PAD = 16;
const MAX_SCALE = 0.14;
const FRAME_INTERVAL = 64; // milliseconds between two updates of the frame while the graph is panned

export class Minimap {
  #frame = 0;
  #timer = 0;
  #stale = true;

  constructor(canvas, el) {
    this.canvas = canvas;
    this.el = el;
    this.bitmap = el.querySelector("canvas");
    this.frame = el.querySelector("i");
    el.addEventListener("pointerdown", (e) => this.#press(e));
    el.addEventListener("pointermove", (e) => e.buttons & 1 && this.#navigate(e));
    canvas.viewport.addEventListener("move", () => this.#onMove());
    canvas.palette.addEventListener("change", () => this.invalidate());
    // A small canvas hides it, and nothing is drawn then.
    new ResizeObserver(() => this.#stale && this.invalidate()).observe(el);
  }

  invalidate() {
    this.#stale = true;
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      if (this.#stale) this.#redraw();
      if (this.at) this.#show();
    });
  }

  #redraw() {
    const [w, h] = [this.el.clientWidth, this.el.clientHeight];
    if (!w) return; // hidden
    this.#stale = false;
    const ratio = devicePixelRatio;
    [this.bitmap.width, this.bitmap.height] = [w * ratio, h * ratio];
    const { model, stage, palette } = this.canvas;
    const nodes = [...model.nodes.values()].filter((node) => node.scope === stage).map((node) => [node, model.box(node)]);
    const b = boundingBox(nodes.map(([, box]) => box));
    const k = Math.min((w - PAD) / b.w, (h - PAD) / b.h, MAX_SCALE);
    this.at = { k, x: (w - b.w * k) / 2 - b.x * k, y: (h - b.h * k) / 2 - b.y * k };
    const context = this.bitmap.getContext("2d");
    context.setTransform(ratio * k, 0, 0, ratio * k, ratio * this.at.x, ratio * this.at.y);
    for (const [node, box] of nodes) {
      context.globalAlpha = node.isBox || node.isNote ? 0.25 : 0.75;
      context.fillStyle = palette.colourOf(node);
      context.fillRect(box.x, box.y, Math.max(1.5 / k, box.w), Math.max(1.5 / k, box.h));
    }
  }

  /** Moving the frame makes the browser compose all layers again, which costs more than the pan itself, so it is throttled. */
  #onMove() {
    if (this.el.matches(":active")) return this.#follow();
    this.#timer ||= setTimeout(() => this.#follow(), FRAME_INTERVAL);
  }

  #follow() {
    clearTimeout(this.#timer);
    this.#timer = 0;
    if (this.at && !this.#stale) this.#show();
  }

  #show() {
    const { k, x, y } = this.at;
    const visible = this.canvas.viewport.visibleBox();
    const { style } = this.frame;
    style.transform = `translate(${x + visible.x * k}px,${y + visible.y * k}px)`;
    const [w, h] = [`${visible.w * k}px`, `${visible.h * k}px`];
    if (style.width !== w) style.width = w;
    if (style.height !== h) style.height = h;
  }

  #press(e) {
    this.el.setPointerCapture(e.pointerId);
    this.#navigate(e);
    e.preventDefault();
  }

  #navigate(e) {
    const { viewport: v } = this.canvas;
    const corner = this.el.getBoundingClientRect();
    const [x, y] = [(e.clientX - corner.left - this.at.x) / this.at.k, (e.clientY - corner.top - this.at.y) / this.at.k];
    v.set(v.width / 2 - x * v.k, v.height / 2 - y * v.k);
  }
}
