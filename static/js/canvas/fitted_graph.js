// Fits a drawing into its frame, with the same cards as on the canvas: always on the page of a comparison, and on a phone on
// the page of a run, where a frame that scrolls would catch the finger that scrolls the page. A tap there shows it larger.

import { findDetail } from "./view/detail.js";

const MARGIN = 24;
const NARROW_MARGIN = 8;
const STATE_HEIGHT = 44; // of the state of a run below the last card, as large as it is written from far away
const MAX_SCALE = 1;
const MAX_HEIGHT = 0.72; // of the window
const NARROW = matchMedia("(max-width: 900px)");

class FittedGraph {
  #isEnlarged = false;

  constructor(frame) {
    this.frame = frame;
    this.box = frame.closest(".graph-box");
    this.sizer = frame.querySelector(".graph-sizer");
    this.view = frame.querySelector(".graph-view");
    this.isForPhones = frame.dataset.fits === "phone";
    new ResizeObserver(() => this.#update()).observe(frame);
    addEventListener("resize", () => this.#update());
    NARROW.addEventListener("change", () => this.#enlarge(false));
    frame.addEventListener("click", () => this.#isFitted && this.isForPhones && this.#enlarge(true));
    this.box.querySelector("[data-graph-enlarge]")?.addEventListener("click", () => this.#enlarge(!this.#isEnlarged));
    addEventListener("keydown", (event) => event.key === "Escape" && this.#isEnlarged && this.#enlarge(false));
    this.#update();
  }

  get #isFitted() {
    return !this.#isEnlarged && (!this.isForPhones || NARROW.matches);
  }

  #enlarge(isEnlarged) {
    this.#isEnlarged = isEnlarged;
    this.box.toggleAttribute("data-enlarged", isEnlarged);
    this.box.querySelector("[data-graph-enlarge]")?.setAttribute("aria-pressed", String(isEnlarged));
    this.#update();
  }

  #update() {
    const isFitted = this.#isFitted;
    this.frame.toggleAttribute("data-fitted", isFitted);
    if (isFitted) return this.#fit();
    // Its own size stands in the style sheet of the page.
    for (const el of [this.view, this.sizer]) el.removeAttribute("style");
    delete this.view.dataset.detail;
  }

  #fit() {
    const { frame, view, sizer } = this;
    const [left, top, width, height] = frame.dataset.frame.split(" ").map(Number);
    const margin = this.isForPhones ? NARROW_MARGIN : MARGIN;
    const k = Math.min(MAX_SCALE, frame.clientWidth / (width + 2 * margin), (innerHeight * MAX_HEIGHT) / (height + 2 * margin));
    const offsetX = Math.max(margin * k, (frame.clientWidth - width * k) / 2);
    view.style.transform = `translate(${offsetX - left * k}px, ${(margin - top) * k}px) scale(${k})`;
    sizer.style.width = "auto";
    sizer.style.height = `${(height + 2 * margin + (this.isForPhones ? STATE_HEIGHT : 0)) * k}px`;
    const detail = findDetail(k);
    if (detail) view.dataset.detail = detail;
    else delete view.dataset.detail;
  }
}

for (const frame of document.querySelectorAll(".graph[data-frame]")) new FittedGraph(frame);
