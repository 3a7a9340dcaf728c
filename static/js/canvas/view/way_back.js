// Offers the way back to the graph when no node of it is in view.

import { overlaps } from "../geometry.js";

const DELAY = 200; // ms after the last move, since asking for each node costs time

export class WayBack {
  #timer = 0;

  constructor(canvas) {
    this.canvas = canvas;
    this.button = canvas.root.querySelector(".wf-back");
    if (!this.button) return;
    this.button.addEventListener("click", () => this.#return());
    canvas.viewport.addEventListener("move", () => this.#askLater());
  }

  #askLater() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => (this.button.hidden = !this.#isAway()), DELAY);
  }

  #isAway() {
    const { model, viewport, hitTester } = this.canvas;
    if (!viewport.width) return false; // a phone shows another view
    const nodes = [...model.nodes.values()].filter((node) => hitTester.isShown(node.scope));
    const visible = viewport.visibleBox();
    return nodes.length > 0 && !nodes.some((node) => overlaps(model.box(node), visible));
  }

  #return() {
    this.button.hidden = true;
    this.canvas.fit();
    this.canvas.takeFocus();
  }
}
