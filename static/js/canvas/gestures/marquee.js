// Selects nodes by drawing a frame around them.

import { overlaps } from "../geometry.js";

export class Marquee {
  name = "marquee";
  needsShield = false;

  constructor(canvas, point) {
    this.canvas = canvas;
    this.from = point;
    this.previous = point.many ? [...canvas.selection] : [];
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
    const ids = [];
    for (const node of model.nodes.values()) {
      if (node.scope === this.scope && overlaps(frame, model.box(node)) && !(node.isNote && surrounds(model.box(node), frame))) ids.push(node.id);
    }
    this.canvas.pick([...this.previous, ...ids]);
  }

  end() {
    this.el.remove();
  }

  cancel() {
    this.el.remove();
    this.canvas.pick(this.previous);
  }
}

/** A frame that starts inside a group does not select the group. */
const surrounds = (box, frame) => frame.x > box.x && frame.y > box.y && frame.x + frame.w < box.x + box.w && frame.y + frame.h < box.y + box.h;
