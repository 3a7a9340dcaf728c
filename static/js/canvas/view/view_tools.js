// The buttons at the canvas's corner: zoom, fit, hand or arrow, minimap.

import { t } from "../editor/words.js";

const STEP = 1.25;

export class Tools {
  constructor(canvas) {
    this.canvas = canvas;
    this.el = canvas.root.querySelector(".wf-tools");
    if (!this.el) return;
    this.percent = this.el.querySelector("[data-percent]");
    const acts = {
      in: () => canvas.zoomBy(STEP),
      out: () => canvas.zoomBy(1 / STEP),
      life: () => canvas.viewport.zoomTo(1),
      fit: () => canvas.fit(),
      tool: () => this.#tool(canvas.tool === "hand" ? "select" : "hand"),
      map: () => this.#map(),
    };
    this.el.addEventListener("click", (e) => acts[e.target.closest("[data-tool]")?.dataset.tool]?.());
    canvas.viewport.addEventListener("move", () => this.#show());
    this.#tool(remembered("canvas-tool") ?? "hand", false);
    if (remembered("canvas-map") === "off") this.#map(false);
  }

  #show() {
    const text = `${Math.round(this.canvas.viewport.k * 100)} %`;
    if (this.percent.textContent !== text) this.percent.textContent = text;
  }

  #tool(tool, isSaid = true) {
    this.canvas.tool = tool;
    this.canvas.root.dataset.tool = tool;
    this.el.querySelector("[data-tool='tool']").setAttribute("aria-pressed", String(tool === "select"));
    remember("canvas-tool", tool);
    if (isSaid) this.canvas.say(tool === "hand" ? t("Dragging the background pans") : t("Dragging the background chooses"));
  }

  #map(isShown = this.canvas.mini.el.hidden) {
    this.canvas.mini.el.hidden = !isShown;
    this.el.querySelector("[data-tool='map']").setAttribute("aria-pressed", String(isShown));
    remember("canvas-map", isShown ? "on" : "off");
    this.canvas.mini.stale();
  }
}

export function remembered(key) {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

export function remember(key, value) {
  try {
    localStorage.setItem(key, value);
  } catch {
    // a private window: not remembered
  }
}
