// Highlights what is under the mouse, and shows the small tip beside the pointer.

import { t } from "../../common/translations.js";

export class Hover {
  #frame = 0;
  #latest = null; // [point, target] of the last move, which may be the last of several in one frame
  #highlighted = null;
  cursor = ""; // the cursor of the shield

  constructor(canvas) {
    this.canvas = canvas;
    canvas.root.addEventListener("pointerleave", () => this.out());
  }

  /** Highlight nothing until the mouse moves again; a pending update is cancelled. */
  out() {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    this.#highlight(null);
  }

  over(point, target) {
    this.#latest = [point, target];
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      const { canvas } = this;
      const [point, target] = this.#latest;
      if (canvas.viewport.isZooming || canvas.pointers.gesture) return;
      if (target.closest?.(".plus, .wf-label") || canvas.labels.isAt(point)) return this.#keep(); // they belong to the edge
      const isOver = target.closest?.(".wf-pane") && !target.closest("button, a");
      this.#highlight(isOver ? canvas.hitTester.at(point.x, point.y, { ports: canvas.canEdit }) : null);
    });
  }

  /** Keep the highlight, without the shield, so that the button over the edge can be pressed. */
  #keep() {
    this.cursor = "";
    this.canvas.cover();
  }

  #highlight(hit) {
    const el = this.#elementOf(hit);
    this.canvas.labels.hover(hit?.type === "edge" ? hit.edge : null);
    this.cursor = hit && hit.type !== "node" ? hit.type + (hit.end ? "-end" : "") : "";
    this.canvas.cover();
    if (el === this.#highlighted) return;
    this.#highlighted?.classList.remove("hover");
    this.#highlighted = el;
    el?.classList.add("hover");
    this.#explain(hit);
  }

  #elementOf(hit) {
    if (hit?.type === "edge") return hit.edge.el;
    return hit?.type === "port" ? this.canvas.portElement(hit.node, hit.port, hit.out) : null;
  }

  /** Show what a node with several incoming edges waits for. */
  #explain(hit) {
    const { canvas } = this;
    const incoming = hit?.type === "port" && !hit.out ? [...canvas.model.edgesOf(hit.node.id)].filter((edge) => edge.to === hit.node.id) : [];
    const names = [...new Set(incoming.map((edge) => canvas.nameOf(edge.from)))];
    canvas.root.title = names.length > 1 ? t("Waits for {names}. Skipped branches don't count.", { names: names.join(", ") }) : "";
  }
}

export class Tip {
  constructor(root) {
    this.el = document.createElement("div");
    this.el.className = "wf-tip";
    this.el.hidden = true;
    root.append(this.el);
  }

  show(text, { px, py }) {
    this.el.hidden = !text;
    if (!text) return;
    if (this.el.textContent !== text) this.el.textContent = text;
    this.el.style.transform = `translate(${px + 14}px,${py + 18}px)`;
  }

  hide() {
    this.el.hidden = true;
  }
}
