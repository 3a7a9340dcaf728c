// Shows lines while dragging when an edge or the middle of a card lines up with another card.

import { GRID } from "../geometry.js";

const SNAP_DISTANCE = 6; // pixels
const MAX_NEIGHBOURS = 60; // the number of nearby cards to compare with

/** Return the coordinates a box can line up by: left, middle, right; top, middle, bottom. */
const getColumns = (b) => [b.x, b.x + b.w / 2, b.x + b.w];
const getRows = (b) => [b.y, b.y + b.h / 2, b.y + b.h];

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

  /** Collect the boxes to line up with: those in view and in the same scope, the nearest ones. */
  begin(scope, moving, box) {
    const { model, viewport } = this.canvas;
    const visible = viewport.visibleBox();
    const others = [];
    for (const node of model.nodes.values()) {
      if (node.scope !== scope || node.off || moving.has(node.id)) continue;
      const b = model.box(node);
      if (b.x < visible.x + visible.w && b.x + b.w > visible.x && b.y < visible.y + visible.h && b.y + b.h > visible.y) others.push(b);
    }
    const distance = (b) => Math.hypot(b.x - box.x, b.y - box.y);
    this.others = others.sort((a, b) => distance(a) - distance(b)).slice(0, MAX_NEIGHBOURS);
  }

  /**
   * Return the position of the box after it snapped to a guide or the grid, or unchanged with `isFree`, and show the
   * guides.
   */
  snap(box, isFree) {
    if (isFree) {
      this.end();
      return { x: box.x, y: box.y };
    }
    const reach = Math.min(SNAP_DISTANCE / this.canvas.viewport.k, 2 * GRID);
    const [dx, atX] = findNearest(getColumns(box), this.others, getColumns, reach);
    const [dy, atY] = findNearest(getRows(box), this.others, getRows, reach);
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

/** Return [the distance to move, the line to show] for the closest pair of sides; [0, null] when none is close. */
function findNearest(sides, others, getSides, reach) {
  let [best, move, position] = [reach, 0, null];
  for (const other of others) {
    const otherSides = getSides(other);
    sides.forEach((side, i) => {
      otherSides.forEach((line, j) => {
        if ((i === 1) !== (j === 1)) return; // a middle lines up only with a middle
        const distance = Math.abs(line - side);
        if (distance < best || (distance === best && position === null)) [best, move, position] = [distance, line - side, line];
      });
    });
  }
  return [move, position];
}
