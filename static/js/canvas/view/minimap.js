// The whole graph, small: a bitmap that is drawn anew only when something moved, and a frame over it that is the view.

import { around } from "./geometry.js";

const PAD = 16;
const LARGEST = 0.14;
const EVERY = 64; // milliseconds between two places of the frame while the graph is panned

export class Minimap {
  #frame = 0;
  #timer = 0;
  #stale = true;

  constructor(canvas, el) {
    this.canvas = canvas;
    this.el = el;
    this.sheet = el.querySelector("canvas");
    this.frame = el.querySelector("i");
    el.addEventListener("pointerdown", (e) => this.#press(e));
    el.addEventListener("pointermove", (e) => e.buttons & 1 && this.#look(e));
    canvas.viewport.addEventListener("move", () => this.#moved());
    canvas.palette.addEventListener("change", () => this.stale());
  }

  stale() {
    this.#stale = true;
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      if (this.#stale) this.#redraw();
      if (this.at) this.#show();
    });
  }

  #redraw() {
    const [w, h] = [this.el.clientWidth, this.el.clientHeight];
    if (!w) return; // not shown
    this.#stale = false;
    const ratio = devicePixelRatio;
    [this.sheet.width, this.sheet.height] = [w * ratio, h * ratio];
    const { model, stage, palette } = this.canvas;
    const nodes = [...model.nodes.values()].filter((node) => node.scope === stage).map((node) => [node, model.box(node)]);
    const b = around(nodes.map(([, box]) => box));
    const k = Math.min((w - PAD) / b.w, (h - PAD) / b.h, LARGEST);
    this.at = { k, x: (w - b.w * k) / 2 - b.x * k, y: (h - b.h * k) / 2 - b.y * k };
    const pen = this.sheet.getContext("2d");
    pen.setTransform(ratio * k, 0, 0, ratio * k, ratio * this.at.x, ratio * this.at.y);
    for (const [node, box] of nodes) {
      pen.globalAlpha = node.isBox || node.isNote ? 0.25 : 0.75;
      pen.fillStyle = palette.of(node);
      pen.fillRect(box.x, box.y, Math.max(1.5 / k, box.w), Math.max(1.5 / k, box.h));
    }
  }

  /** Moving the frame has the browser put all layers together again, which costs more than the pan itself. */
  #moved() {
    if (this.el.matches(":active")) return this.#follow();
    this.#timer ||= setTimeout(() => this.#follow(), EVERY);
  }

  #follow() {
    clearTimeout(this.#timer);
    this.#timer = 0;
    if (this.at && !this.#stale) this.#show();
  }

  #show() {
    const { k, x, y } = this.at;
    const seen = this.canvas.viewport.seen();
    const { style } = this.frame;
    style.transform = `translate(${x + seen.x * k}px,${y + seen.y * k}px)`;
    const [w, h] = [`${seen.w * k}px`, `${seen.h * k}px`];
    if (style.width !== w) style.width = w;
    if (style.height !== h) style.height = h;
  }

  #press(e) {
    this.el.setPointerCapture(e.pointerId);
    this.#look(e);
    e.preventDefault();
  }

  #look(e) {
    const { viewport: v } = this.canvas;
    const corner = this.el.getBoundingClientRect();
    const [x, y] = [(e.clientX - corner.left - this.at.x) / this.at.k, (e.clientY - corner.top - this.at.y) / this.at.k];
    v.set(v.width / 2 - x * v.k, v.height / 2 - y * v.k);
  }
}
