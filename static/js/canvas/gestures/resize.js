// Resizes a container or a note by its corner.

import { BOX_PADDING, MIN_SIZES, snap } from "../geometry.js";
import { t } from "../../common/translations.js";

export class Resize {
  name = "resize";
  needsShield = true;

  constructor(canvas, point, id) {
    this.canvas = canvas;
    this.id = id;
    this.from = point;
    const node = canvas.model.nodes.get(id);
    this.original = { w: node.w, h: node.h };
    this.size = this.original;
    this.min = this.#least(node);
  }

  /** Return the smallest size that contains the content. */
  #least(node) {
    const [w, h] = MIN_SIZES[node.isBox ? "box" : "note"];
    const inside = this.canvas.model.inside(node.id);
    return [
      Math.max(w, ...inside.map((child) => child.x + child.w + BOX_PADDING)),
      Math.max(h, ...inside.map((child) => child.y + child.h + BOX_PADDING)),
    ];
  }

  move({ x, y, isFree }) {
    const step = isFree ? Math.round : snap;
    this.#set(Math.max(this.min[0], step(this.original.w + x - this.from.x)), Math.max(this.min[1], step(this.original.h + y - this.from.y)));
  }

  /** Keep the size of the gesture when the server renders the node during a resize. */
  onRedraw(node) {
    if (node.id === this.id) Object.assign(node, this.size, { full: this.size });
  }

  #set(w, h) {
    this.size = { w, h };
    const node = this.canvas.model.nodes.get(this.id);
    if (!node) return;
    Object.assign(node, { w, h, full: this.size });
    this.canvas.model.size(node);
    this.canvas.model.reroute([node.id]);
  }

  end() {
    const { canvas, id } = this;
    const node = canvas.model.nodes.get(id);
    if (!node) return;
    canvas.scheduleUpdate();
    canvas.send([{ op: "resize", id, width: node.w, height: node.h }], t("Resize {name}", { name: canvas.nameOf(id) }));
  }

  cancel() {
    this.#set(this.original.w, this.original.h);
  }
}
