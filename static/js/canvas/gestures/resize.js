// The corner of a container or a note.

import { BOX_PAD, SMALLEST, snap } from "./geometry.js";
import { t } from "../editor/words.js";

export class Resize {
  name = "resize";
  wantsGlass = true;

  constructor(canvas, point, id) {
    this.canvas = canvas;
    this.id = id;
    this.from = point;
    const node = canvas.model.nodes.get(id);
    this.before = { w: node.w, h: node.h };
    this.size = this.before;
    this.least = this.#least(node);
  }

  /** No smaller than what is inside. */
  #least(node) {
    const [w, h] = SMALLEST[node.isBox ? "box" : "note"];
    const inside = this.canvas.model.inside(node.id);
    return [
      Math.max(w, ...inside.map((child) => child.x + child.w + BOX_PAD)),
      Math.max(h, ...inside.map((child) => child.y + child.h + BOX_PAD)),
    ];
  }

  move({ x, y, isFree }) {
    const step = isFree ? Math.round : snap;
    this.#set(Math.max(this.least[0], step(this.before.w + x - this.from.x)), Math.max(this.least[1], step(this.before.h + y - this.from.y)));
  }

  /** The server drew the node anew, in the size it knows: under the hand it keeps the hand's. */
  redrawn(node) {
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
    canvas.changed();
    canvas.send([{ op: "resize", id, width: node.w, height: node.h }], t("Resize {name}", { name: canvas.nameOf(id) }));
  }

  cancel() {
    this.#set(this.before.w, this.before.h);
  }
}
