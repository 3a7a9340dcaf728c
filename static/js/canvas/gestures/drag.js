// Nodes follow the pointer: alone or as a choice, into containers and out of them, onto an edge to be put between.

import { AutoPan } from "./autopan.js";
import { around, holds } from "./geometry.js";
import { t } from "../editor/words.js";

const ON_EDGE = 28; // how near a card's middle must come to an edge, in graph units

export class Drag {
  name = "drag";
  wantsGlass = true;

  constructor(canvas, point, id) {
    this.canvas = canvas;
    this.from = point;
    this.leader = id;
    const { model, selection } = canvas;
    const chosen = selection.has(id) ? [...selection].filter((each) => model.nodes.has(each)) : [id];
    this.ids = outermost(model, withGroups(model, chosen));
    this.scope = model.nodes.get(id).scope;
    this.start = new Map(this.ids.map((each) => [each, { x: model.nodes.get(each).x, y: model.nodes.get(each).y }]));
    this.moving = new Set(this.ids);
    this.box = around(this.ids.filter((each) => model.nodes.get(each).scope === this.scope).map((each) => model.box(model.nodes.get(each))));
    canvas.guides.begin(this.scope, this.moving, this.box);
    canvas.lift.begin(this.ids);
    this.autopan = new AutoPan(canvas);
  }

  move(point) {
    const { model, guides } = this.canvas;
    const at = { ...this.box, x: this.box.x + point.x - this.from.x, y: this.box.y + point.y - this.from.y };
    const to = guides.snap(at, point.isFree);
    this.shift = { x: to.x - this.box.x, y: to.y - this.box.y };
    for (const id of this.ids) {
      const node = model.nodes.get(id); // asked anew each time: somebody may have deleted it
      if (node) this.#put(node, this.start.get(id), this.shift);
    }
    this.canvas.lift.moved(this.ids);
    this.#aim(point);
    this.autopan.follow(point);
  }

  #put(node, start, by) {
    node.x = start.x + by.x;
    node.y = start.y + by.y;
    this.canvas.lift.place(node);
  }

  /** What it would be dropped on: another container, or an edge. */
  #aim(point) {
    const { hits, model } = this.canvas;
    const nodes = this.#left();
    if (nodes.every((node) => node.isNote)) return;
    const isWithin = (node) => this.moving.has(node.id) || model.around(node.scope).some((box) => this.moving.has(box.id));
    const box = hits.box(point.x, point.y, (node) => !isWithin(node));
    this.#mark("target", (this.target = box?.id ?? this.canvas.scope), this.target === this.scope ? null : box?.el);
    const edge = this.target === this.scope ? this.#edgeBelow(nodes) : null;
    this.#mark("edge", (this.edge = edge?.id), edge?.el);
  }

  #mark(what, _id, el) {
    if (this[`${what}El`] === el) return;
    this[`${what}El`]?.classList.remove("drop-here");
    el?.classList.add("drop-here");
    this[`${what}El`] = el;
  }

  #edgeBelow(nodes) {
    const { model, hits } = this.canvas;
    const [node] = nodes;
    if (nodes.length !== 1 || !node.ins.length || !node.outs.length || model.edgesOf(node.id).size) return null;
    const box = model.box(node);
    const [x, y] = [box.x + box.w / 2, box.y + box.h / 2];
    const edge = hits.edge(x, y)?.edge ?? hits.nearestEdge(x, y, ON_EDGE);
    return edge?.scope === node.scope ? edge : null;
  }

  #left() {
    return this.ids.map((id) => this.canvas.model.nodes.get(id)).filter(Boolean);
  }

  end() {
    this.#settle();
    const nodes = this.#left();
    if (!this.shift || !nodes.length) return;
    if (this.target !== undefined && this.target !== this.scope) this.#reparent(nodes);
    else this.#moved(nodes);
  }

  #moved(nodes) {
    const { canvas } = this;
    const ops = nodes.filter((node) => this.#hasMoved(node)).map((node) => ({ op: "move", id: node.id, x: node.x, y: node.y }));
    const edge = this.edge && canvas.model.edges.get(this.edge);
    if (edge) ops.push(...canvas.insertInto(edge, nodes[0]));
    canvas.changed();
    const names = nodes.length === 1 ? canvas.nameOf(nodes[0].id) : t("{n} nodes", { n: nodes.length });
    canvas.send(ops, edge ? t("Insert {name}", { name: names }) : t("Move {name}", { name: names }));
  }

  #hasMoved({ id, x, y }) {
    const start = this.start.get(id);
    return start.x !== x || start.y !== y;
  }

  #reparent(nodes) {
    const { canvas } = this;
    const movable = nodes.filter((node) => !node.isNote);
    const ops = canvas.containers.reparent(movable, this.target);
    canvas.changed();
    canvas.send(ops, t("Move {name}", { name: canvas.nameOf(this.leader) }));
  }

  #settle() {
    this.autopan.end();
    this.canvas.guides.end();
    this.canvas.lift.end(this.ids);
    this.targetEl?.classList.remove("drop-here");
    this.edgeEl?.classList.remove("drop-here");
  }

  cancel() {
    for (const node of this.#left()) this.#put(node, this.start.get(node.id), { x: 0, y: 0 });
    this.#settle();
    this.canvas.model.reroute(this.ids);
  }
}

/** What lies in a container goes with it. */
function outermost(model, ids) {
  const chosen = new Set(ids);
  return ids.filter((id) => !model.around(model.nodes.get(id).scope).some((box) => chosen.has(box.id)));
}

/** A coloured group takes along what lies wholly inside its frame. */
function withGroups(model, ids) {
  const found = new Set(ids);
  for (const id of ids) {
    const group = model.nodes.get(id);
    if (!("group" in group.el.dataset)) continue;
    for (const node of model.nodes.values()) {
      if (node.scope === group.scope && holds(group, node.x, node.y) && holds(group, node.x + node.w, node.y + node.h)) found.add(node.id);
    }
  }
  return [...found];
}
