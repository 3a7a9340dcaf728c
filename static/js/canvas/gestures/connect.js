// Dragging from a port to another one: a loose edge follows the pointer, possible targets light up, others are dimmed and
// show the reason.

import { AutoPan } from "./autopan.js";
import { path } from "../geometry.js";
import { findRefusals } from "../connection_rules.js";
import { t } from "../../common/translations.js";

const MAX_DIMMED = 400; // with more cards in view, refused ones are not dimmed

export class Connect {
  name = "connect";
  needsShield = true;

  /** `start`: {node, fp, out, id?}; `id` is the edge whose other end is moved. */
  constructor(canvas, point, start) {
    this.canvas = canvas;
    this.start = start;
    this.refusals = findRefusals(canvas.model, start);
    this.scope = canvas.model.nodes.get(start.node).scope;
    this.loose = canvas.looseEdge(this.scope);
    this.tip = canvas.tip;
    this.autopan = new AutoPan(canvas);
    this.#dim(true);
  }

  /** Take an edge off the port at one end. */
  static replug(canvas, point, edge, end) {
    const start = end === "to" ? { node: edge.from, fp: edge.fp, out: true } : { node: edge.to, fp: edge.tp, out: false };
    const gesture = new Connect(canvas, point, { ...start, id: edge.id, previous: edge });
    edge.el.classList.add("lifted");
    return gesture;
  }

  #dim(on) {
    const { model } = this.canvas;
    const visible = [...model.nodes.values()].filter((node) => !node.off);
    if (visible.length > MAX_DIMMED) return;
    for (const node of visible) node.el.classList.toggle("refused", on && node.id !== this.start.node && this.refusals.has(node.id) && !node.isBox && !node.isNote);
  }

  move(point) {
    const { model, hitTester } = this.canvas;
    const { node, fp, out } = this.start;
    const origin = model.nodes.get(node);
    if (!origin) return;
    const nodeBelow = hitTester.port(point.x, point.y, { out: !out, accept: (candidate) => candidate.id !== node })?.node ?? hitTester.node(point.x, point.y, (candidate) => !candidate.isNote);
    const reason = nodeBelow && nodeBelow.id !== node ? this.refusals.get(nodeBelow.id) : "";
    const isBoxAround = nodeBelow?.isBox && (nodeBelow.id === origin.scope || model.ancestors(origin.scope).includes(nodeBelow));
    this.reason = isBoxAround ? "" : reason;
    this.#snapTo(nodeBelow && nodeBelow.id !== node && !reason && !isBoxAround ? nodeBelow : null, point);
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
    const fixedEnd = model.port(origin, fp, out);
    const looseEnd = this.target ? model.port(this.target, this.port, !out) : [point.x - ox, point.y - oy];
    this.looseEnd = looseEnd;
    this.loose.setAttribute("d", out ? path(...fixedEnd, ...looseEnd) : path(...looseEnd, ...fixedEnd));
  }

  end() {
    this.#cleanUp();
    const { canvas, start, target } = this;
    if (target) return this.#plug(target);
    if (this.reason) return canvas.say(this.reason); // a refused drop does nothing else
    if (!this.looseEnd) return;
    const [ox, oy] = canvas.model.offset(this.scope);
    const position = { x: this.looseEnd[0] + ox, y: this.looseEnd[1] + oy };
    const nodeBelow = canvas.hitTester.node(position.x, position.y, (candidate) => !candidate.isNote && candidate.id !== this.scope && !canvas.model.ancestors(this.scope).includes(candidate));
    if (start.id) {
      if (!nodeBelow) canvas.disconnect(start.id);
    } else if (!nodeBelow) {
      const [clientX, clientY] = canvas.toClient(position.x, position.y);
      canvas.emit("connect-void", { from: start.node, handle: start.fp, out: start.out, scope: this.scope, x: this.looseEnd[0], y: this.looseEnd[1], clientX, clientY });
    } else if (this.refusals.has(nodeBelow.id)) canvas.say(this.refusals.get(nodeBelow.id));
  }

  #plug(target) {
    const { canvas, start } = this;
    const { previous } = start;
    const ends = start.out ? { from: start.node, fp: start.fp, to: target.id } : { from: target.id, fp: this.port, to: start.node };
    if (previous && previous.from === ends.from && previous.fp === ends.fp && previous.to === ends.to) return;
    const ops = previous ? canvas.dropEdges([previous.id]) : [];
    ops.push(canvas.addEdge(ends));
    const names = { from: canvas.nameOf(ends.from), to: canvas.nameOf(ends.to) };
    canvas.say(t("Connected {from} to {to}", names));
    canvas.send(ops, t("Connect {from} to {to}", names));
  }

  #cleanUp() {
    this.autopan.end();
    this.#dim(false);
    this.loose.remove();
    this.tip.hide();
    this.portEl?.classList.remove("snap");
    this.target?.el.classList.remove("snap");
    this.start.previous?.el.classList.remove("lifted");
  }

  cancel() {
    this.#cleanUp();
  }
}
