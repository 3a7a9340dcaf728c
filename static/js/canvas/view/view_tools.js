// The buttons in the corner of the canvas: zoom, fit, hand or arrow, minimap.

import { t } from "../../common/translations.js";

const STEP = 1.25;

export class Tools {
  constructor(canvas) {
    this.canvas = canvas;
    this.el = canvas.root.querySelector(".wf-tools");
    if (!this.el) return;
    this.percent = this.el.querySelector("[data-percent]");
    const actions = {
      in: () => canvas.zoomBy(STEP),
      out: () => canvas.zoomBy(1 / STEP),
      life: () => canvas.viewport.zoomTo(1),
      fit: () => canvas.fit(),
      tool: () => this.#tool(canvas.tool === "hand" ? "select" : "hand"),
      map: () => this.#map(),
    };
    this.el.addEventListener("click", (e) => actions[e.target.closest("[data-tool]")?.dataset.tool]?.());
    canvas.viewport.addEventListener("move", () => this.#show());
    this.#tool(loadSetting("canvas-tool") ?? "hand", false);
    if (loadSetting("canvas-map") === "off") this.#map(false);
  }

  #show() {
    const text = `${Math.round(this.canvas.viewport.k * 100)}%`;
    if (this.percent.textContent !== text) this.percent.textContent = text;
  }

  #tool(tool, isAnnounced = true) {
    this.canvas.tool = tool;
    this.canvas.root.dataset.tool = tool;
    this.el.querySelector("[data-tool='tool']").setAttribute("aria-pressed", String(tool === "select"));
    storeSetting("canvas-tool", tool);
    if (isAnnounced) this.canvas.say(tool === "hand" ? t("Drag to pan") : t("Drag to select"));
  }

  #map(isShown = this.canvas.minimap.el.hidden) {
    this.canvas.minimap.el.hidden = !isShown;
    this.el.querySelector("[data-tool='map']").setAttribute("aria-pressed", String(isShown));
    storeSetting("canvas-map", isShown ? "on" : "off");
    this.canvas.minimap.invalidate();
  }
}

export function loadSetting(key) {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

export function storeSetting(key, value) {
  try {
    localStorage.setItem(key, value);
  } catch {
    // not stored in a private window
  }
}
