// What lights up under a resting mouse, and the small tip beside the pointer.

import { t } from "../editor/words.js";

export class Hover {
  #frame = 0;
  #lit = null;
  cursor = ""; // what the glass shows

  constructor(canvas) {
    this.canvas = canvas;
    canvas.root.addEventListener("pointerleave", () => this.out());
  }

  /** Nothing is lit until the mouse moves again, not even what it was over a frame ago. */
  out() {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    this.#light(null);
  }

  over(point, target) {
    if (this.#frame) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      const { canvas } = this;
      if (canvas.viewport.isZooming || canvas.pointers.gesture) return;
      const isOver = target.closest?.(".wf-pane") && !target.closest("button, a");
      this.#light(isOver ? canvas.hits.at(point.x, point.y, { ports: canvas.canEdit }) : null);
    });
  }

  #light(hit) {
    const el = this.#elementOf(hit);
    this.cursor = hit && hit.type !== "node" ? hit.type + (hit.end ? "-end" : "") : "";
    this.canvas.cover();
    if (el === this.#lit) return;
    this.#lit?.classList.remove("hover");
    this.#lit = el;
    el?.classList.add("hover");
    this.#explain(hit);
  }

  #elementOf(hit) {
    if (hit?.type === "edge") return hit.edge.el;
    return hit?.type === "port" ? this.canvas.portElement(hit.node, hit.port, hit.out) : null;
  }

  /** A join says what it waits for. */
  #explain(hit) {
    const { canvas } = this;
    const waits = hit?.type === "port" && !hit.out ? [...canvas.model.edgesOf(hit.node.id)].filter((edge) => edge.to === hit.node.id) : [];
    const names = [...new Set(waits.map((edge) => canvas.nameOf(edge.from)))];
    canvas.root.title = names.length > 1 ? t("Waits for: {names}. Branches that aren't taken don't count.", { names: names.join(", ") }) : "";
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
