// A frame drawn around what is to be chosen.

import { hits } from "./geometry.js";

export class Marquee {
  name = "marquee";
  wantsGlass = false;

  constructor(canvas, point) {
    this.canvas = canvas;
    this.from = point;
    this.before = point.many ? [...canvas.selection] : [];
    this.scope = canvas.scope;
    this.el = document.createElement("div");
    this.el.className = "wf-marquee";
    canvas.root.append(this.el);
  }

  move(point) {
    const [x, y] = [Math.min(point.px, this.from.px), Math.min(point.py, this.from.py)];
    const [w, h] = [Math.abs(point.px - this.from.px), Math.abs(point.py - this.from.py)];
    Object.assign(this.el.style, { left: `${x}px`, top: `${y}px`, width: `${w}px`, height: `${h}px` });
    const { model, viewport } = this.canvas;
    const [gx, gy] = viewport.toGraph(x, y);
    const frame = { x: gx, y: gy, w: w / viewport.k, h: h / viewport.k };
    const found = [];
    for (const node of model.nodes.values()) {
      if (node.scope === this.scope && hits(frame, model.box(node)) && !(node.isNote && surrounds(model.box(node), frame))) found.push(node.id);
    }
    this.canvas.pick([...this.before, ...found]);
  }

  end() {
    this.el.remove();
  }

  cancel() {
    this.el.remove();
    this.canvas.pick(this.before);
  }
}

/** A frame begun on a group doesn't choose the group. */
const surrounds = (box, frame) => frame.x > box.x && frame.y > box.y && frame.x + frame.w < box.x + box.w && frame.y + frame.h < box.y + box.h;
