// Chooses how much of the cards is shown. Far away only the titles are left, large enough to be read, and the mark of a
// breakpoint keeps a size that can be seen. Both change when a zoom has ended, since they restyle every card.

const LEVELS = [
  [0.6, ""], // everything
  [0.42, "titles"],
  [0.32, "large-titles"],
  [0, "largest-titles"],
];
const MARK_SIZE = 14; // of a breakpoint, in graph units
const LEAST_MARK_SIZE = 10; // px on the screen

/** Return what is shown at a scale, as ``data-detail`` of the drawing; nothing means all of the cards. */
export const findDetail = (scale) => LEVELS.find(([least]) => scale >= least)[1];

export class Detail {
  #level = "";
  #scale = 0;

  constructor(canvas) {
    this.canvas = canvas;
    canvas.viewport.addEventListener("rest", () => this.#update());
  }

  #update() {
    const { viewport, view } = this.canvas;
    if (viewport.k === this.#scale) return;
    this.#scale = viewport.k;
    for (const el of view.querySelectorAll("wf-node[data-breakpoint]")) this.sizeMark(el);
    const level = findDetail(this.#scale);
    if (level === this.#level) return;
    this.#level = level;
    if (level) view.dataset.detail = level;
    else delete view.dataset.detail;
  }

  /** Size the mark of a breakpoint for the present scale. */
  sizeMark(el) {
    el.style.setProperty("--mark-size", `${Math.max(MARK_SIZE, LEAST_MARK_SIZE / this.canvas.viewport.k)}px`);
  }
}
