// The far view shows a bitmap of the whole graph when hundreds of cards are in view. A zoom then scales one picture instead
// of painting tens of thousands of elements in every frame. The cards come back when few enough of them are in view. A
// large graph opens as its picture, so that nobody waits for cards too small to read; later, a pointer gesture switches to
// the picture. Keyboard and screen reader users always get the elements.

import { overlaps, path } from "../geometry.js";
import { ROOT } from "../model.js";
import { paintGraph } from "./far_view_painter.js";

const MAX_PIXELS = 6_000_000;
const PAUSE = 400; // milliseconds between two pictures
const NO_LIMIT = Infinity; // no limit for the duration of a slice
const SVG = "http://www.w3.org/2000/svg";

export class FarView {
  isOn;
  #version = 0; // of the graph
  #picture = null; // {version, k, bounds}
  #painting = null;
  #paintedAt = -PAUSE;

  constructor(canvas) {
    this.canvas = canvas;
    this.threshold = Number(canvas.root.dataset.farFrom); // cards in view from which the picture is shown
    this.bitmap = document.createElement("canvas");
    this.bitmap.className = "wf-far";
    this.overlay = document.createElementNS(SVG, "svg");
    this.overlay.setAttribute("class", "wf-edges wf-far-over");
    this.isOn = canvas.view.classList.contains("is-far"); // as rendered by the server
    for (const el of [this.bitmap, this.overlay]) {
      el.setAttribute("aria-hidden", "true");
      el.style.display = this.isOn ? "" : "none";
    }
    canvas.view.after(this.bitmap, this.overlay);
    canvas.palette.addEventListener("change", () => this.invalidate());
    canvas.root.addEventListener("focusin", (e) => e.target.localName === "wf-node" && this.leave());
  }

  /** Return whether more cards are in view than can be moved smoothly. */
  get isFar() {
    const { model, viewport } = this.canvas;
    if (model.nodes.size < this.threshold) return false;
    const visible = viewport.visibleBox();
    let count = 0;
    for (const node of model.nodes.values()) {
      if (node.scope === ROOT ? overlaps(visible, node) : overlaps(visible, model.box(node))) count += 1;
      if (count > this.threshold) return true;
    }
    return false;
  }

  /** Note that the graph changed and repaint the picture. */
  invalidate() {
    this.#version += 1;
    this.sharpen();
  }

  /** Repaint at the resolution of the present zoom; the old picture stays until then. */
  sharpen() {
    if (this.isOn || this.canvas.model.nodes.size >= this.threshold) this.#repaint();
  }

  /** Paint the picture of a page that opens in the far view before the first frame. */
  begin() {
    if (!this.isOn) return;
    if (!this.isFar) return this.leave();
    this.#paint(NO_LIMIT);
    this.canvas.cover();
  }

  /** Show the picture when a gesture begins or continues, if it is up to date and needed. */
  enter() {
    if (this.isOn || !this.#picture || this.#picture.version !== this.#version || !this.isFar) return;
    this.isOn = true;
    this.canvas.view.classList.add("is-far");
    this.bitmap.style.display = this.overlay.style.display = "";
    this.mark();
    this.follow();
    this.canvas.cover();
  }

  leave() {
    if (!this.isOn) return;
    this.isOn = false;
    this.canvas.culling.update(true);
    this.canvas.view.classList.remove("is-far");
    this.bitmap.style.display = this.overlay.style.display = "none";
    this.overlay.replaceChildren();
    this.canvas.cover();
  }

  /** After a zoom or scroll, return to the cards if few enough are in view, otherwise repaint the picture. */
  onRest() {
    if (!this.isOn) return;
    if (!this.isFar) return this.leave();
    this.follow();
    this.#repaint();
  }

  /** Move the picture to the position of the graph. */
  follow() {
    if (!this.#picture) return;
    const { viewport: v } = this.canvas;
    const [left, top] = v.origin;
    const { bounds, k } = this.#picture;
    this.bitmap.style.transform = `translate(${left + bounds.x * v.k}px,${top + bounds.y * v.k}px) scale(${v.k / k})`;
    this.overlay.style.transform = `translate(${left}px,${top}px) scale(${v.k})`;
  }

  /** Return the pixels per graph unit: as many as the screen shows, limited by memory. */
  #scaleFor(bounds) {
    const max = Math.sqrt(MAX_PIXELS / (bounds.w * bounds.h));
    return Math.min(max, Math.max(this.canvas.viewport.k, 0.02) * devicePixelRatio);
  }

  /** Repaint soon, but only a few times a second while changes arrive. */
  #repaint() {
    clearTimeout(this.#painting);
    const delay = this.#paintedAt + PAUSE - performance.now();
    this.#painting = setTimeout(() => this.#paint(), this.isOn ? Math.max(60, delay) : 300);
  }

  async #paint(slice) {
    const { canvas } = this;
    if (canvas.pointers.gesture || canvas.viewport.isZooming) return this.#repaint();
    const bounds = canvas.bounds();
    const k = this.#scaleFor(bounds);
    const previous = this.#picture;
    if (previous?.version === this.#version && Math.abs(previous.k / k - 1) < 0.1) return;
    const version = this.#version;
    const sheet = await paintGraph(canvas, bounds, k, () => this.#version !== version || canvas.viewport.isZooming, slice);
    if (!sheet) return this.#repaint();
    [this.bitmap.width, this.bitmap.height] = [sheet.width, sheet.height];
    this.bitmap.getContext("2d").drawImage(sheet, 0, 0);
    this.#picture = { version, k, bounds };
    this.#paintedAt = performance.now();
    if (this.isOn) this.follow();
  }

  /** Draw the selected and the dragged nodes over the picture. */
  mark(moving = []) {
    if (!this.isOn) return;
    const { model, selection } = this.canvas;
    const dragged = new Set(moving);
    const shapes = [...selection].map((id) => (model.nodes.has(id) ? this.#frame(model.nodes.get(id)) : this.#line(model.edges.get(id), "chosen")));
    for (const id of dragged) {
      for (const edge of model.edgesOf(id)) shapes.push(this.#line(edge, "moving"));
      shapes.push(this.#frame(model.nodes.get(id), "moving"));
    }
    this.overlay.replaceChildren(...shapes.filter(Boolean));
  }

  #frame(node, name = "chosen") {
    if (!node) return null;
    const box = this.canvas.model.box(node);
    const rect = document.createElementNS(SVG, "rect");
    for (const [key, value] of Object.entries({ x: box.x, y: box.y, width: box.w, height: box.h, rx: 10, class: name })) rect.setAttribute(key, value);
    return rect;
  }

  #line(edge, name) {
    const ends = edge && this.canvas.model.ends(edge);
    if (!ends) return null;
    const [ox, oy] = this.canvas.model.offset(edge.scope);
    const line = document.createElementNS(SVG, "path");
    line.setAttribute("class", name);
    line.setAttribute("d", path(ends[0] + ox, ends[1] + oy, ends[2] + ox, ends[3] + oy));
    return line;
  }
}
