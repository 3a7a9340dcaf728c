// The whole graph, small: a bitmap that is drawn anew only when something moved, and a frame over it that is the view.

import { around } from "./geometry.js";

export class Minimap {
  #frame = 0;
  #stale = true;

  constructor(canvas, el) {
    this.canvas = canvas;
    this.el = el;
    this.pen = el.getContext("2d");
    this.base = document.createElement("canvas");
    el.addEventListener("pointerdown", (e) => this.#press(e));
    el.addEventListener("pointermove", (e) => e.buttons & 1 && this.#look(e));
    canvas.viewport.addEventListener("move", () => this.draw());
    canvas.palette.addEventListener("change", () => this.stale());
  }

  stale() {
    this.#stale = true;
    this.draw();
  }

  draw() {
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      if (this.el.offsetParent === null) return;
      if (this.#stale) this.#redraw();
      this.#show();
    });
  }

  #redraw() {
    this.#stale = false;
    const ratio = devicePixelRatio;
    const [w, h] = [this.el.clientWidth, this.el.clientHeight];
    for (const sheet of [this.el, this.base]) [sheet.width, sheet.height] = [w * ratio, h * ratio];
    const { model, stage } = this.canvas;
    const nodes = [...model.nodes.values()].filter((node) => node.scope === stage).map((node) => [node, model.box(node)]);
    const b = around(nodes.map(([, box]) => box));
    const k = Math.min((w - 16) / b.w, (h - 16) / b.h, 0.14);
    this.at = { k, x: (w - b.w * k) / 2 - b.x * k, y: (h - b.h * k) / 2 - b.y * k };
    const { palette } = this.canvas;
    const pen = this.base.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    for (const [node, box] of nodes) {
      pen.globalAlpha = node.isBox || node.isNote ? 0.25 : 0.75;
      pen.fillStyle = palette.of(node);
      pen.fillRect(this.at.x + box.x * k, this.at.y + box.y * k, Math.max(1.5, box.w * k), Math.max(1.5, box.h * k));
    }
  }

  #show() {
    const { pen, at, canvas } = this;
    const ratio = devicePixelRatio;
    const { viewport: v } = canvas;
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.clearRect(0, 0, this.el.width, this.el.height);
    pen.drawImage(this.base, 0, 0);
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    const seen = v.seen();
    const frame = [at.x + seen.x * at.k, at.y + seen.y * at.k, seen.w * at.k, seen.h * at.k];
    const { colours } = canvas.palette;
    pen.globalAlpha = 0.55;
    pen.fillStyle = colours.page;
    pen.beginPath();
    pen.rect(0, 0, this.el.clientWidth, this.el.clientHeight);
    pen.rect(...frame);
    pen.fill("evenodd");
    pen.globalAlpha = 1;
    pen.strokeStyle = colours.accent;
    pen.lineWidth = 1.5;
    pen.strokeRect(...frame);
  }

  #press(e) {
    this.el.setPointerCapture(e.pointerId);
    this.#look(e);
    e.preventDefault();
  }

  #look(e) {
    const { viewport: v } = this.canvas;
    const [x, y] = [(e.offsetX - this.at.x) / this.at.k, (e.offsetY - this.at.y) / this.at.k];
    v.set(v.width / 2 - x * v.k, v.height / 2 - y * v.k);
  }
}
