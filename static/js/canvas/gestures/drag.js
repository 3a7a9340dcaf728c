// Moves the selected nodes with the pointer, also into and out of containers, or onto an edge to insert a node.

import { AutoPan } from "./autopan.js";
import { boundingBox, containsPoint } from "../geometry.js";
import { t } from "../../common/translations.js";

const ON_EDGE = 28; // the largest distance of a card's middle from an edge, in graph units

export class Drag {
  name = "drag";
  needsShield = true;

  constructor(canvas, point, id) {
    this.canvas = canvas;
    this.from = point;
    this.leader = id;
    const { model, selection } = canvas;
    const selected = selection.has(id) ? [...selection].filter((each) => model.nodes.has(each)) : [id];
    this.ids = findOutermost(model, addGroupMembers(model, selected));
    this.scope = model.nodes.get(id).scope;
    this.start = new Map(this.ids.map((each) => [each, { x: model.nodes.get(each).x, y: model.nodes.get(each).y }]));
    this.moving = new Set(this.ids);
    this.box = boundingBox(this.ids.filter((each) => model.nodes.get(each).scope === this.scope).map((each) => model.box(model.nodes.get(each))));
    canvas.guides.begin(this.scope, this.moving, this.box);
    canvas.dragLayer.begin(this.ids);
    this.autopan = new AutoPan(canvas);
  }

  move(point) {
    const { model, guides } = this.canvas;
    const target = { ...this.box, x: this.box.x + point.x - this.from.x, y: this.box.y + point.y - this.from.y };
    const snapped = guides.snap(target, point.isFree);
    this.shift = { x: snapped.x - this.box.x, y: snapped.y - this.box.y };
    for (const id of this.ids) {
      const node = model.nodes.get(id); // read again each time, since somebody may have deleted it
      if (node) this.#put(node, this.start.get(id), this.shift);
    }
    this.canvas.dragLayer.followNodes(this.ids);
    this.#aim(point);
    this.autopan.follow(point);
  }

  #put(node, start, offset) {
    node.x = start.x + offset.x;
    node.y = start.y + offset.y;
    this.canvas.dragLayer.place(node);
  }

  /** Mark what the nodes would be dropped on: another container, or an edge. */
  #aim(point) {
    const { hitTester, model } = this.canvas;
    const nodes = this.#remainingNodes();
    if (nodes.every((node) => node.isNote)) return;
    const isDragged = (node) => this.moving.has(node.id) || model.ancestors(node.scope).some((box) => this.moving.has(box.id));
    const box = hitTester.box(point.x, point.y, (node) => !isDragged(node));
    this.#mark("target", (this.target = box?.id ?? this.canvas.scope), this.target === this.scope ? null : box?.el);
    const edge = this.target === this.scope ? this.#edgeBelow(nodes) : null;
    this.#mark("edge", (this.edge = edge?.id), edge?.el);
  }

  #mark(name, _id, el) {
    if (this[`${name}El`] === el) return;
    this[`${name}El`]?.classList.remove("is-drop-target");
    el?.classList.add("is-drop-target");
    this[`${name}El`] = el;
  }

  #edgeBelow(nodes) {
    const { model, hitTester } = this.canvas;
    const [node] = nodes;
    if (nodes.length !== 1 || !node.ins.length || !node.outs.length || model.edgesOf(node.id).size) return null;
    const box = model.box(node);
    const [x, y] = [box.x + box.w / 2, box.y + box.h / 2];
    const edge = hitTester.edge(x, y)?.edge ?? hitTester.nearestEdge(x, y, ON_EDGE);
    return edge?.scope === node.scope ? edge : null;
  }

  #remainingNodes() {
    return this.ids.map((id) => this.canvas.model.nodes.get(id)).filter(Boolean);
  }

  end() {
    this.#cleanUp();
    const nodes = this.#remainingNodes();
    if (!this.shift || !nodes.length) return;
    if (this.target !== undefined && this.target !== this.scope) this.#reparent(nodes);
    else this.#finishMove(nodes);
  }

  #finishMove(nodes) {
    const { canvas } = this;
    const ops = nodes.filter((node) => this.#hasMoved(node)).map((node) => ({ op: "move", id: node.id, x: node.x, y: node.y }));
    const edge = this.edge && canvas.model.edges.get(this.edge);
    if (edge) ops.push(...canvas.insertInto(edge, nodes[0]));
    canvas.scheduleUpdate();
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
    canvas.scheduleUpdate();
    canvas.send(ops, t("Move {name}", { name: canvas.nameOf(this.leader) }));
  }

  #cleanUp() {
    this.autopan.end();
    this.canvas.guides.end();
    this.canvas.dragLayer.end(this.ids);
    this.targetEl?.classList.remove("is-drop-target");
    this.edgeEl?.classList.remove("is-drop-target");
  }

  cancel() {
    for (const node of this.#remainingNodes()) this.#put(node, this.start.get(node.id), { x: 0, y: 0 });
    this.#cleanUp();
    this.canvas.model.reroute(this.ids);
  }
}

/** Leave out nodes whose container is also selected, since it takes them along. */
function findOutermost(model, ids) {
  const selected = new Set(ids);
  return ids.filter((id) => !model.ancestors(model.nodes.get(id).scope).some((box) => selected.has(box.id)));
}

/** Add the nodes that lie fully inside the selected coloured groups. */
function addGroupMembers(model, ids) {
  const members = new Set(ids);
  for (const id of ids) {
    const group = model.nodes.get(id);
    if (!("group" in group.el.dataset)) continue;
    for (const node of model.nodes.values()) {
      if (node.scope === group.scope && containsPoint(group, node.x, node.y) && containsPoint(group, node.x + node.w, node.y + node.h)) members.add(node.id);
    }
  }
  return [...members];
}
