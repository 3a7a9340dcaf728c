// The panels around the canvas: tabs, closing, sizes, and on narrow screens one view at a time.

import { keep, kept } from "./kept.js";

const KEPT = "editor-panels";
const PLACES = ["left", "right", "dock"];
const LIMITS = { left: [200, 480], right: [300, 720], dock: [140, 640] };
const STEP = 24; // px a key press moves an edge
const ROOMY = "(min-width: 1600px)"; // both sides open leave the canvas enough; as in editor.css

/** One thing is seen at a time, chosen from a bar at the bottom; as in editor.css. */
export const isNarrow = () => matchMedia("(max-width: 900px)").matches;

/** Whether this browser has shown it before; what it showed is kept then. */
const isSeen = (root) => kept(`canvas-view:${root.dataset.workflow}`, null) !== null;

export class Panels {
  #kept = kept(KEPT, {});
  #fitted = !isNarrow();

  constructor(editor) {
    this.editor = editor;
    this.root = editor.root;
    for (const place of PLACES) this.#restore(place);
    this.root.addEventListener("click", (event) => this.#click(event));
    this.root.addEventListener("keydown", (event) => this.#key(event));
    this.root.addEventListener("pointerdown", (event) => this.#grab(event));
  }

  /** Open a panel by name ("node", "run", "log", …), wherever it stands. */
  open(name) {
    const panel = this.root.querySelector(`#panel-${CSS.escape(name)}`);
    const place = panel?.closest("[data-place]");
    if (!place) return;
    for (const other of place.querySelectorAll(":scope > [role=tabpanel]")) other.hidden = other !== panel;
    for (const tab of place.querySelectorAll("[role=tab][data-panel]")) {
      const chosen = tab.dataset.panel === name;
      tab.setAttribute("aria-selected", String(chosen));
      tab.tabIndex = chosen ? 0 : -1;
    }
    place.dataset.shown = name;
    this.#close(place.dataset.place, false);
    this.view(name);
    this.editor.emit("panel", { name, place: place.dataset.place });
  }

  close(place) {
    this.#close(place, true);
  }

  toggle(place) {
    this.#close(place, !this.isClosed(place));
  }

  isClosed(place) {
    return this.root.dataset[place] === "closed";
  }

  shown(place) {
    return this.isClosed(place) ? null : this.root.querySelector(`[data-place="${place}"]`)?.dataset.shown;
  }

  /** On narrow screens: which one thing is seen. */
  view(name) {
    const before = this.root.dataset.view;
    this.root.dataset.view = name;
    // a canvas that was never shown has had no size to fit itself into
    if (name === "canvas" && before !== "canvas" && !this.#fitted) {
      this.#fitted = true;
      requestAnimationFrame(() => {
        this.editor.canvas?.viewport.measure();
        this.editor.canvas?.firstLook();
      });
    }
    for (const button of this.root.querySelectorAll("[data-view]")) {
      button.setAttribute("aria-pressed", String(button.dataset.view === name));
    }
  }

  #show(place, closed) {
    this.root.dataset[place] = closed ? "closed" : "open";
    for (const button of this.root.querySelectorAll(`[data-toggle="${place}"]`)) {
      button.setAttribute("aria-expanded", String(!closed));
    }
  }

  #close(place, closed) {
    this.#show(place, closed);
    this.#keep({ [place]: { ...this.#kept[place], closed, shown: this.root.querySelector(`[data-place="${place}"]`)?.dataset.shown } });
    this.editor.emit("layout", { place });
  }

  #restore(place) {
    const kept = this.#kept[place];
    if (kept?.size) this.#size(place, kept.size);
    // the first look at a workflow is at its drawing, whatever is open beside others
    if (place === "left" && !isSeen(this.root) && !matchMedia(ROOMY).matches) return this.#show(place, true);
    if (kept && this.root.dataset.keep !== "no") this.#close(place, kept.closed);
    else if (this.root.dataset[place] === "auto") this.#show(place, !matchMedia(ROOMY).matches);
  }

  #click(event) {
    const tab = event.target.closest("[role=tab][data-panel]");
    if (tab) return this.open(tab.dataset.panel);
    const toggle = event.target.closest("[data-toggle]");
    if (toggle) return this.toggle(toggle.dataset.toggle);
    const view = event.target.closest("[data-view]");
    if (!view || view === this.root) return;
    if (view.dataset.view === "canvas") this.view("canvas");
    else this.open(view.dataset.view);
  }

  #key(event) {
    const tab = event.target.closest("[role=tab][data-panel]");
    if (tab && ["ArrowLeft", "ArrowRight", "Home", "End"].includes(event.key)) return this.#walk(tab, event);
    const edge = event.target.closest("[role=separator][data-edge]");
    const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (!edge || !way) return;
    event.preventDefault();
    const place = edge.dataset.edge;
    const grow = { left: way[0], right: -way[0], dock: -way[1] }[place];
    this.#size(place, this.#sizeOf(place) + grow * STEP);
  }

  #walk(tab, event) {
    event.preventDefault();
    const tabs = [...tab.closest("[role=tablist]").querySelectorAll("[role=tab]")];
    const at = tabs.indexOf(tab);
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: tabs.length - 1 }[event.key];
    const next = tabs[(to + tabs.length) % tabs.length];
    this.open(next.dataset.panel);
    next.focus();
  }

  #grab(event) {
    const edge = event.target.closest("[role=separator][data-edge]");
    if (!edge) return;
    event.preventDefault();
    const place = edge.dataset.edge;
    const from = { at: place === "dock" ? event.clientY : event.clientX, size: this.#sizeOf(place) };
    const move = (e) => {
      const by = (place === "dock" ? e.clientY : e.clientX) - from.at;
      this.#size(place, from.size + (place === "left" ? by : -by));
    };
    edge.setPointerCapture(event.pointerId);
    edge.addEventListener("pointermove", move);
    edge.addEventListener("lostpointercapture", () => edge.removeEventListener("pointermove", move), { once: true });
  }

  #sizeOf(place) {
    const box = this.root.querySelector(`[data-place="${place}"]`).getBoundingClientRect();
    return place === "dock" ? box.height : box.width;
  }

  #size(place, size) {
    const [least, most] = LIMITS[place];
    const kept = Math.round(Math.min(most, Math.max(least, size)));
    this.root.style.setProperty(`--${place}-size`, `${kept}px`);
    this.root.querySelector(`[data-edge="${place}"]`)?.setAttribute("aria-valuenow", String(kept));
    this.#keep({ [place]: { ...this.#kept[place], size: kept } });
    this.editor.emit("layout", { place });
  }

  #keep(more) {
    this.#kept = { ...this.#kept, ...more };
    keep(KEPT, this.#kept);
  }
}
