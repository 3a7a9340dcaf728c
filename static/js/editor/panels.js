// Manages the panels around the canvas: tabs, closing, sizes, and one view at a time on narrow screens.

import { storeValue, loadValue } from "../common/storage.js";

const STORAGE_KEY = "editor-panels";
const TABLET_STORAGE_KEY = "editor-panels-tablet"; // what fits beside the canvas of a wide screen leaves no canvas on a tablet
const PLACES = ["left", "right", "dock"];
const LIMITS = { left: [200, 480], right: [300, 720], dock: [140, 640] };
const STEP = 24; // px by which a key press moves an edge
const ROOMY = "(min-width: 1600px)"; // the width at which both sides fit beside the canvas, as in editor.css

/** Return whether the screen shows one view at a time, chosen from a bar at the bottom, as in editor.css. */
export const isNarrow = () => matchMedia("(max-width: 767px)").matches;

/** Return whether the screen has room for the canvas and one panel beside it. */
const isTablet = () => matchMedia("(min-width: 768px) and (max-width: 1100px)").matches;

/** Return whether two sides together would leave no canvas to work on. */
const hasRoomForOneSide = () => matchMedia("(max-width: 960px)").matches;

/** Return whether this browser has shown the workflow before; its view is stored then. */
const wasShownBefore = (root) => loadValue(`canvas-view:${root.dataset.workflow}`, null) !== null;

export class Panels {
  #storageKey = isTablet() ? TABLET_STORAGE_KEY : STORAGE_KEY;
  #stored = loadValue(this.#storageKey, {});
  #hasFitted = !isNarrow();
  choices = 0; // how often this person has chosen a panel or a view, so that nothing late takes it away

  constructor(editor) {
    this.editor = editor;
    this.root = editor.root;
    for (const place of PLACES) this.#restore(place);
    this.root.addEventListener("click", (event) => this.#onClick(event));
    this.root.addEventListener("keydown", (event) => this.#onKey(event));
    this.root.addEventListener("pointerdown", (event) => this.#startResize(event));
  }

  /** Open a panel by name ("node", "run", "log", …), wherever it lies. Only what this person opened is remembered. */
  open(name, { isRemembered = false } = {}) {
    const panel = this.root.querySelector(`#panel-${CSS.escape(name)}`);
    const place = panel?.closest("[data-place]");
    if (!place) return;
    for (const other of place.querySelectorAll(":scope > [role=tabpanel]")) other.hidden = other !== panel;
    for (const tab of place.querySelectorAll("[role=tab][data-panel]")) {
      const isSelected = tab.dataset.panel === name;
      tab.setAttribute("aria-selected", String(isSelected));
      tab.tabIndex = isSelected ? 0 : -1;
    }
    place.dataset.shown = name;
    if (isRemembered) this.#close(place.dataset.place, false);
    else this.#openForNow(place.dataset.place);
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

  getVisiblePanel(place) {
    return this.isClosed(place) ? null : this.root.querySelector(`[data-place="${place}"]`)?.dataset.shown;
  }

  /** Choose the one visible view on narrow screens. */
  view(name) {
    const previous = this.root.dataset.view;
    this.root.dataset.view = name;
    // A canvas that was hidden so far had no size to fit into. It is fitted at once: a frame later somebody may have moved it.
    if (name === "canvas" && previous !== "canvas" && !this.#hasFitted) {
      this.#hasFitted = true;
      this.editor.canvas?.viewport.measure();
      this.editor.canvas?.firstLook();
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
    const other = closed ? null : this.#makeRoom(place);
    const gaveWay = other && { [other]: { ...this.#stored[other], closed: true } };
    this.#store({ ...gaveWay, [place]: { ...this.#stored[place], closed, shown: this.root.querySelector(`[data-place="${place}"]`)?.dataset.shown } });
    this.editor.emit("layout", { place });
  }

  /** On a tablet the other side gives way to one that opens, unless this person opened it and the canvas keeps some room; return it. */
  #makeRoom(place) {
    const other = { left: "right", right: "left" }[place];
    if (!other || !isTablet()) return null;
    if (this.#stored[other]?.closed === false && !hasRoomForOneSide()) return null;
    this.#show(other, true);
    this.editor.emit("layout", { place: other });
    return other;
  }

  /** Open a side because something happens there, unless this person closed it or there is no room for it. */
  offer(place) {
    if (!isNarrow() && !isTablet() && this.isClosed(place) && !this.#stored[place]?.closed) this.#openForNow(place);
  }

  #openForNow(place) {
    this.#show(place, false);
    this.#makeRoom(place);
    this.editor.emit("layout", { place });
  }

  #restore(place) {
    const stored = this.#stored[place];
    if (stored?.size) this.#setSize(place, stored.size);
    // At the first visit the drawing comes first, so that the left side stays closed.
    if (place === "left" && !wasShownBefore(this.root) && !matchMedia(ROOMY).matches) return this.#show(place, true);
    // The dock says nothing before the first run.
    if (place === "dock" && !document.getElementById("last-run")) return;
    if (stored?.closed !== undefined && this.root.dataset.keep !== "no") this.#close(place, stored.closed);
    else if (this.root.dataset[place] === "auto") this.#show(place, !matchMedia(ROOMY).matches);
  }

  #onClick(event) {
    if (event.target.closest("[role=tab][data-panel], [data-toggle], button[data-view], [data-open-panel]")) this.choices += 1;
    const tab = event.target.closest("[role=tab][data-panel]");
    if (tab) return this.open(tab.dataset.panel, { isRemembered: true });
    const toggle = event.target.closest("[data-toggle]");
    if (toggle) return this.toggle(toggle.dataset.toggle);
    const view = event.target.closest("[data-view]");
    if (!view || view === this.root) return;
    if (view.dataset.view === "canvas") this.view("canvas");
    else this.open(view.dataset.view);
  }

  #onKey(event) {
    const tab = event.target.closest("[role=tab][data-panel]");
    if (tab && ["ArrowLeft", "ArrowRight", "Home", "End"].includes(event.key)) return this.#moveBetweenTabs(tab, event);
    const edge = event.target.closest("[role=separator][data-edge]");
    const direction = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (!edge || !direction) return;
    event.preventDefault();
    const place = edge.dataset.edge;
    const change = { left: direction[0], right: -direction[0], dock: -direction[1] }[place];
    this.#setSize(place, this.#getSize(place) + change * STEP);
  }

  #moveBetweenTabs(tab, event) {
    event.preventDefault();
    const tabs = [...tab.closest("[role=tablist]").querySelectorAll("[role=tab]")];
    const index = tabs.indexOf(tab);
    const nextIndex = { ArrowLeft: index - 1, ArrowRight: index + 1, Home: 0, End: tabs.length - 1 }[event.key];
    const next = tabs[(nextIndex + tabs.length) % tabs.length];
    this.open(next.dataset.panel, { isRemembered: true });
    next.focus();
  }

  #startResize(event) {
    const edge = event.target.closest("[role=separator][data-edge]");
    if (!edge) return;
    event.preventDefault();
    const place = edge.dataset.edge;
    const from = { at: place === "dock" ? event.clientY : event.clientX, size: this.#getSize(place) };
    const move = (e) => {
      const distance = (place === "dock" ? e.clientY : e.clientX) - from.at;
      this.#setSize(place, from.size + (place === "left" ? distance : -distance));
    };
    edge.setPointerCapture(event.pointerId);
    edge.addEventListener("pointermove", move);
    edge.addEventListener("lostpointercapture", () => edge.removeEventListener("pointermove", move), { once: true });
  }

  #getSize(place) {
    const box = this.root.querySelector(`[data-place="${place}"]`).getBoundingClientRect();
    return place === "dock" ? box.height : box.width;
  }

  #setSize(place, size) {
    const [min, max] = LIMITS[place];
    const clamped = Math.round(Math.min(max, Math.max(min, size)));
    this.root.style.setProperty(`--${place}-size`, `${clamped}px`);
    this.root.querySelector(`[data-edge="${place}"]`)?.setAttribute("aria-valuenow", String(clamped));
    this.#store({ [place]: { ...this.#stored[place], size: clamped } });
    this.editor.emit("layout", { place });
  }

  #store(changes) {
    this.#stored = { ...this.#stored, ...changes };
    storeValue(this.#storageKey, this.#stored);
  }
}
