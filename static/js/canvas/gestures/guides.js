// Lines that appear while dragging when an edge or middle of a card lines up with another one.

import { GRID } from "./geometry.js";

const REACH = 6; // pixels
const NEAREST = 60; // so many neighbours are enough, however large the graph

/** Sides a box can line up by: left, middle, right; top, middle, bottom. */
const xs = (b) => [b.x, b.x + b.w / 2, b.x + b.w];
const ys = (b) => [b.y, b.y + b.h / 2, b.y + b.h];

export class Guides {
  constructor(canvas) {
    this.canvas = canvas;
    this.lines = ["x", "y"].map((axis) => {
      const line = document.createElement("div");
      line.className = `wf-guide wf-guide-${axis}`;
      line.hidden = true;
      canvas.root.append(line);
      return line;
    });
  }

  /** The boxes to line up with: those in view and in the same scope, the nearest ones. */
  begin(scope, moving, box) {
    const { model, viewport } = this.canvas;
    const seen = viewport.seen();
    const others = [];
    for (const node of model.nodes.values()) {
      if (node.scope !== scope || node.off || moving.has(node.id)) continue;
      const b = model.box(node);
      if (b.x < seen.x + seen.w && b.x + b.w > seen.x && b.y < seen.y + seen.h && b.y + b.h > seen.y) others.push(b);
    }
    const far = (b) => Math.hypot(b.x - box.x, b.y - box.y);
    this.others = others.sort((a, b) => far(a) - far(b)).slice(0, NEAREST);
  }

  /** The box moved so that it lines up, or onto the grid; free with `isFree`. Shows the lines. */
  snap(box, isFree) {
    if (isFree) {
      this.end();
      return { x: box.x, y: box.y };
    }
    const reach = Math.min(REACH / this.canvas.viewport.k, 2 * GRID);
    const [dx, atX] = nearest(xs(box), this.others, xs, reach);
    const [dy, atY] = nearest(ys(box), this.others, ys, reach);
    this.#show(atX, atY);
    return {
      x: atX === null ? Math.round(box.x / GRID) * GRID : box.x + dx,
      y: atY === null ? Math.round(box.y / GRID) * GRID : box.y + dy,
    };
  }

  #show(atX, atY) {
    const { viewport: v } = this.canvas;
    const [lineX, lineY] = this.lines;
    lineX.hidden = atX === null;
    lineY.hidden = atY === null;
    if (atX !== null) lineX.style.transform = `translateX(${Math.round(v.x + atX * v.k)}px)`;
    if (atY !== null) lineY.style.transform = `translateY(${Math.round(v.y + atY * v.k)}px)`;
  }

  end() {
    for (const line of this.lines) line.hidden = true;
  }
}

/** [how far to move, the line to show] for the closest pair of sides; [0, null] when none is close. */
function nearest(sides, others, sidesOf, reach) {
  let [best, move, at] = [reach, 0, null];
  for (const other of others) {
    const theirs = sidesOf(other);
    sides.forEach((side, i) => {
      theirs.forEach((line, j) => {
        if ((i === 1) !== (j === 1)) return; // a middle lines up with a middle only
        const far = Math.abs(line - side);
        if (far < best || (far === best && at === null)) [best, move, at] = [far, line - side, line];
      });
    });
  }
  return [move, at];
}
