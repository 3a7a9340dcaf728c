// From a port to another one: a loose edge follows the pointer, what fits is lit, what doesn't is dimmed and says why.

import { AutoPan } from "./autopan.js";
import { path } from "./geometry.js";
import { refusals } from "./rules.js";
import { t } from "../editor/words.js";

const MANY = 400; // more cards than this in view are not dimmed one by one

export class Connect {
  name = "connect";
  wantsGlass = true;

  /** `start`: {node, fp, out, id?}; `id` is the edge whose other end is being moved. */
  constructor(canvas, point, start) {
    this.canvas = canvas;
    this.start = start;
    this.refused = refusals(canvas.model, start);
    this.scope = canvas.model.nodes.get(start.node).scope;
    this.loose = canvas.looseEdge(this.scope);
    this.tip = canvas.tip;
    this.autopan = new AutoPan(canvas);
    this.#dim(true);
  }

  /** Take an edge off the port at one end. */
  static replug(canvas, point, edge, end) {
    const start = end === "to" ? { node: edge.from, fp: edge.fp, out: true } : { node: edge.to, fp: edge.tp, out: false };
    const gesture = new Connect(canvas, point, { ...start, id: edge.id, was: edge });
    edge.el.classList.add("lifted");
    return gesture;
  }

  #dim(on) {
    const { model } = this.canvas;
    const shown = [...model.nodes.values()].filter((node) => !node.off);
    if (shown.length > MANY) return;
    for (const node of shown) node.el.classList.toggle("refused", on && node.id !== this.start.node && this.refused.has(node.id) && !node.isBox && !node.isNote);
  }

  move(point) {
    const { model, hits } = this.canvas;
    const { node, fp, out } = this.start;
    const origin = model.nodes.get(node);
    if (!origin) return;
    const over = hits.port(point.x, point.y, { out: !out, accept: (each) => each.id !== node })?.node ?? hits.node(point.x, point.y, (each) => !each.isNote);
    const reason = over && over.id !== node ? this.refused.get(over.id) : "";
    const isBoxAround = over?.isBox && (over.id === origin.scope || model.around(origin.scope).includes(over));
    this.#snapTo(over && over.id !== node && !reason && !isBoxAround ? over : null, point);
    this.tip.show(isBoxAround ? "" : reason, point);
    this.#draw(origin, fp, out, point);
    this.autopan.follow(point);
  }

  #snapTo(node, { y }) {
    this.portEl?.classList.remove("snap");
    this.target?.el.classList.remove("snap");
    this.target = node;
    if (!node) return;
    this.port = this.start.out ? node.ins[0]?.name : this.#nearestOut(node, y);
    node.el.classList.add("snap");
    this.portEl = this.canvas.portElement(node, this.port, !this.start.out);
    this.portEl?.classList.add("snap");
  }

  #nearestOut(node, y) {
    const top = this.canvas.model.box(node).y;
    return node.outs.reduce((best, port) => (Math.abs(top + port.y - y) < Math.abs(top + best.y - y) ? port : best)).name;
  }

  #draw(origin, fp, out, point) {
    const { model } = this.canvas;
    const [ox, oy] = model.offset(this.scope);
    const here = model.port(origin, fp, out);
    const there = this.target ? model.port(this.target, this.port, !out) : [point.x - ox, point.y - oy];
    this.end_ = there;
    this.loose.setAttribute("d", out ? path(...here, ...there) : path(...there, ...here));
  }

  end() {
    this.#settle();
    const { canvas, start, target } = this;
    if (target) return this.#plug(target);
    if (!this.end_) return;
    const [ox, oy] = canvas.model.offset(this.scope);
    const at = { x: this.end_[0] + ox, y: this.end_[1] + oy };
    const over = canvas.hits.node(at.x, at.y, (each) => !each.isNote && each.id !== this.scope && !canvas.model.around(this.scope).includes(each));
    if (start.id) {
      if (!over) canvas.disconnect(start.id);
    } else if (!over) {
      const [clientX, clientY] = canvas.toClient(at.x, at.y);
      canvas.emit("connect-void", { from: start.node, handle: start.fp, out: start.out, scope: this.scope, x: this.end_[0], y: this.end_[1], clientX, clientY });
    } else if (this.refused.has(over.id)) canvas.say(this.refused.get(over.id));
  }

  #plug(target) {
    const { canvas, start } = this;
    const { was } = start;
    const ends = start.out ? { from: start.node, fp: start.fp, to: target.id } : { from: target.id, fp: this.port, to: start.node };
    if (was && was.from === ends.from && was.fp === ends.fp && was.to === ends.to) return;
    const ops = was ? canvas.dropEdges([was.id]) : [];
    ops.push(canvas.addEdge(ends));
    const names = { from: canvas.nameOf(ends.from), to: canvas.nameOf(ends.to) };
    canvas.say(t("Connected {from} to {to}", names));
    canvas.send(ops, t("Connect {from} to {to}", names));
  }

  #settle() {
    this.autopan.end();
    this.#dim(false);
    this.loose.remove();
    this.tip.hide();
    this.portEl?.classList.remove("snap");
    this.target?.el.classList.remove("snap");
    this.start.was?.el.classList.remove("lifted");
  }

  cancel() {
    this.#settle();
  }
}
