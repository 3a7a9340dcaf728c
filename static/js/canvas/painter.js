// What a run shows on the graph: states of nodes, edges taken, a word about the data. On the elements the server
// never swaps, and painted again should it swap one after all.

import { t } from "../editor/words.js";

const STATES = {
  idle: null,
  waiting: ["clock", () => t("waiting")],
  running: ["run", () => t("running")],
  completed: ["check", () => t("done")],
  failed: ["warning", () => t("failed")],
  skipped: ["skip", () => t("skipped")],
  paused: ["pause", () => t("paused")],
  retrying: ["loop", () => t("trying again")],
};
const SVG = "http://www.w3.org/2000/svg";

export class Painter {
  #nodes = new Map();
  #edges = new Map();

  constructor(canvas) {
    this.canvas = canvas;
    this.icons = canvas.root.dataset.icons;
  }

  /** {state, time, size, text, pinned, breakpoint}: what isn't named stays; null takes it away. */
  node(id, paint) {
    const node = this.canvas.model.nodes.get(id);
    if (!node) return;
    const now = { ...this.#nodes.get(id), ...paint };
    this.#nodes.set(id, now);
    this.#show(node, now);
  }

  #show(node, { state = "idle", time, size, text, pinned, breakpoint }) {
    const { el } = node;
    if (state === "idle" || !state) delete el.dataset.state;
    else el.dataset.state = state;
    this.canvas.far.stale();
    if (pinned !== undefined) el.toggleAttribute("data-pinned", Boolean(pinned));
    if (breakpoint !== undefined) el.toggleAttribute("data-breakpoint", Boolean(breakpoint));
    const known = STATES[state];
    const strip = el.querySelector(":scope > .wf-state") ?? (known ? el.appendChild(this.#strip()) : null);
    if (!strip) return;
    strip.hidden = !known;
    if (!known) return;
    const [icon, word] = known;
    strip.querySelector("use").setAttribute("href", `${this.icons}#${icon}`);
    strip.querySelector("[data-word]").textContent = word();
    strip.querySelector("[data-time]").textContent = time ?? "";
    strip.querySelector("[data-size]").textContent = size ?? "";
    strip.querySelector("[data-text]").textContent = text ?? "";
    el.setAttribute("aria-description", [word(), time, text].filter(Boolean).join(", "));
  }

  #strip() {
    const strip = document.createElement("div");
    strip.className = "wf-state";
    const icon = document.createElementNS(SVG, "svg");
    icon.setAttribute("class", "icon");
    icon.setAttribute("aria-hidden", "true");
    icon.append(document.createElementNS(SVG, "use"));
    strip.append(icon);
    for (const slot of ["word", "time", "size", "text"]) {
      const span = document.createElement("span");
      span.dataset[slot] = "";
      strip.append(span);
    }
    return strip;
  }

  /** {taken: true | false | null, text, title}: the text stands on the edge. */
  edge(id, paint) {
    const edge = this.canvas.model.edges.get(id);
    if (!edge) return;
    const now = { ...this.#edges.get(id), ...paint };
    this.#edges.set(id, now);
    const { taken, text } = now;
    if (taken === true || taken === false) edge.el.dataset.taken = taken ? "yes" : "no";
    else delete edge.el.dataset.taken;
    this.canvas.labels.show(edge, text, now.title);
  }

  /** After a swap. */
  again(node) {
    if (this.#nodes.has(node.id)) this.#show(node, this.#nodes.get(node.id));
  }

  againEdge(id) {
    if (this.#edges.has(id)) this.edge(id, {});
  }

  clear() {
    for (const [id, paint] of this.#nodes) {
      this.#nodes.set(id, { pinned: paint.pinned, breakpoint: paint.breakpoint });
      const node = this.canvas.model.nodes.get(id);
      if (node) this.#show(node, this.#nodes.get(id));
      node?.el.removeAttribute("aria-description");
    }
    for (const id of this.#edges.keys()) this.edge(id, { taken: null, text: "" });
    this.#edges.clear();
  }
}
