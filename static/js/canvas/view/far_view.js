// The far view: with hundreds of cards in view, a bitmap of the whole graph is shown in their place. A zoom then
// scales one picture instead of painting tens of thousands of elements in every frame; when few enough cards are in
// view, the real ones come back. A graph that large is opened as its picture, so that nobody waits for cards too
// small to read; later the picture begins with a gesture of a pointer. It ends with the keyboard: who walks through
// the graph, or reads it aloud, has the elements.

import { hits, path } from "./geometry.js";
import { ROOT } from "./model.js";
import { paint } from "./far_paint.js";

const MOST_PIXELS = 6_000_000;
const PAUSE = 400; // milliseconds between two pictures
const AT_ONCE = Infinity; // milliseconds of a slice
const SVG = "http://www.w3.org/2000/svg";

export class Far {
  isOn;
  #version = 0; // of the graph
  #picture = null; // {version, k, bounds}
  #painting = null;
  #paintedAt = -PAUSE;

  constructor(canvas) {
    this.canvas = canvas;
    this.many = Number(canvas.root.dataset.farFrom); // cards in view
    this.sheet = document.createElement("canvas");
    this.sheet.className = "wf-far";
    this.over = document.createElementNS(SVG, "svg");
    this.over.setAttribute("class", "wf-edges wf-far-over");
    this.isOn = canvas.view.classList.contains("is-far"); // as the server sent it
    for (const el of [this.sheet, this.over]) {
      el.setAttribute("aria-hidden", "true");
      el.style.display = this.isOn ? "" : "none";
    }
    canvas.view.after(this.sheet, this.over);
    canvas.palette.addEventListener("change", () => this.stale());
    canvas.root.addEventListener("focusin", (e) => e.target.localName === "wf-node" && this.leave());
  }

  /** Whether so much is in view that the cards themselves are too dear to move. */
  get isFar() {
    const { model, viewport } = this.canvas;
    if (model.nodes.size < this.many) return false;
    const seen = viewport.seen();
    let count = 0;
    for (const node of model.nodes.values()) {
      if (node.scope === ROOT ? hits(seen, node) : hits(seen, model.box(node))) count += 1;
      if (count > this.many) return true;
    }
    return false;
  }

  /** The graph looks different now. */
  stale() {
    this.#version += 1;
    this.sharpen();
  }

  /** It is looked at from elsewhere: as sharp as that wants, and until then as it is. */
  sharpen() {
    if (this.isOn || this.canvas.model.nodes.size >= this.many) this.#repaint();
  }

  /** The page has been opened: what it begins with is there in the first frame. */
  begin() {
    if (!this.isOn) return;
    if (!this.isFar) return this.leave();
    this.#paint(AT_ONCE);
    this.canvas.cover();
  }

  /** A gesture begins or goes on: show the picture if it is worth it and there is one. */
  enter() {
    if (this.isOn || !this.#picture || this.#picture.version !== this.#version || !this.isFar) return;
    this.isOn = true;
    this.canvas.view.classList.add("is-far");
    this.sheet.style.display = this.over.style.display = "";
    this.mark();
    this.follow();
    this.canvas.cover();
  }

  leave() {
    if (!this.isOn) return;
    this.isOn = false;
    this.canvas.culling.update(true);
    this.canvas.view.classList.remove("is-far");
    this.sheet.style.display = this.over.style.display = "none";
    this.over.replaceChildren();
    this.canvas.cover();
  }

  /** A zoom or a scroll is over: cards if few enough are in view, else a picture as sharp as the view. */
  rested() {
    if (!this.isOn) return;
    if (!this.isFar) return this.leave();
    this.follow();
    this.#repaint();
  }

  /** The picture goes where the graph is. */
  follow() {
    if (!this.#picture) return;
    const { viewport: v } = this.canvas;
    const [left, top] = v.origin;
    const { bounds, k } = this.#picture;
    this.sheet.style.transform = `translate(${left + bounds.x * v.k}px,${top + bounds.y * v.k}px) scale(${v.k / k})`;
    this.over.style.transform = `translate(${left}px,${top}px) scale(${v.k})`;
  }

  /** How many pixels a unit of the graph has: as many as the screen shows, while memory allows. */
  #scaleFor(bounds) {
    const most = Math.sqrt(MOST_PIXELS / (bounds.w * bounds.h));
    return Math.min(most, Math.max(this.canvas.viewport.k, 0.02) * devicePixelRatio);
  }

  /** Soon; while many changes come in, a few times a second. */
  #repaint() {
    clearTimeout(this.#painting);
    const rest = this.#paintedAt + PAUSE - performance.now();
    this.#painting = setTimeout(() => this.#paint(), this.isOn ? Math.max(60, rest) : 300);
  }

  async #paint(slice) {
    const { canvas } = this;
    if (canvas.pointers.gesture || canvas.viewport.isZooming) return this.#repaint();
    const bounds = canvas.bounds();
    const k = this.#scaleFor(bounds);
    const old = this.#picture;
    if (old?.version === this.#version && Math.abs(old.k / k - 1) < 0.1) return;
    const version = this.#version;
    const sheet = await paint(canvas, bounds, k, () => this.#version !== version || canvas.viewport.isZooming, slice);
    if (!sheet) return this.#repaint();
    [this.sheet.width, this.sheet.height] = [sheet.width, sheet.height];
    this.sheet.getContext("2d").drawImage(sheet, 0, 0);
    this.#picture = { version, k, bounds };
    this.#paintedAt = performance.now();
    if (this.isOn) this.follow();
  }

  /** What is chosen, and what is being dragged, over the picture. */
  mark(moving = []) {
    if (!this.isOn) return;
    const { model, selection } = this.canvas;
    const moved = new Set(moving);
    const shapes = [...selection].map((id) => (model.nodes.has(id) ? this.#frame(model.nodes.get(id)) : this.#line(model.edges.get(id), "chosen")));
    for (const id of moved) {
      for (const edge of model.edgesOf(id)) shapes.push(this.#line(edge, "moving"));
      shapes.push(this.#frame(model.nodes.get(id), "moving"));
    }
    this.over.replaceChildren(...shapes.filter(Boolean));
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
