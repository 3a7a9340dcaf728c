// The canvas: puts its parts together and is what the rest of the editor talks to.

import { Apply } from "./apply.js";
import { Containers } from "./containers.js";
import { Culling } from "./culling.js";
import { Edges } from "./edges.js";
import { Elements } from "./elements.js";
import { Far } from "./far.js";
import { HEAD } from "./geometry.js";
import { Guides } from "./guides.js";
import { Hits } from "./hits.js";
import { Hover, Tip } from "./hover.js";
import { Labels } from "./labels.js";
import { Lift } from "./lift.js";
import { Look } from "./look.js";
import { Minimap } from "./minimap.js";
import { Model, ROOT } from "./model.js";
import { Painter } from "./painter.js";
import { Palette } from "./palette.js";
import { Pointers } from "./pointer.js";
import { Selection } from "./selection.js";
import { Tools, remember, remembered } from "./tools.js";
import { Viewport } from "./viewport.js";
import { neighbours } from "./walking.js";

export { ROOT };

const MODIFIERS = new Set(["Control", "Shift", "Alt", "Meta", " "]);

export class Canvas {
  stage = ROOT; // the scope shown as the page
  tool = "hand"; // what dragging the background does

  constructor(root, editor) {
    this.root = root;
    this.editor = editor;
    this.canEdit = editor.canEdit ?? false;
    this.view = root.querySelector(".wf-view");
    this.glass = root.querySelector(".wf-glass");
    this.model = new Model();
    this.viewport = new Viewport(root);
    this.elements = new Elements(this);
    this.selection = new Selection(this);
    this.hits = new Hits(this.model, this.viewport, () => this.stage);
    this.tip = new Tip(root);
    this.palette = new Palette(root);
    this.guides = new Guides(this);
    this.lift = new Lift(this);
    this.painter = new Painter(this);
    this.labels = new Labels(this);
    this.edges = new Edges(this);
    this.containers = new Containers(this);
    this.culling = new Culling(this);
    this.hover = new Hover(this);
    this.applier = new Apply(this);
    this.far = new Far(this);
    this.look = new Look(this);
    this.mini = new Minimap(this, root.querySelector(".wf-minimap"));
    this.pointers = new Pointers(this);
    this.tools = new Tools(this);
    this.viewport.addEventListener("zoom", () => this.#zoomed());
    this.viewport.addEventListener("rest", () => this.#rested());
    root.addEventListener("dblclick", (e) => this.#open(e));
    root.addEventListener("keydown", (e) => MODIFIERS.has(e.key) || delete root.dataset.by);
    // whoever comes back by Tab pressed it elsewhere
    root.addEventListener("focusout", (e) => root.contains(e.relatedTarget) || delete root.dataset.by);
    root.addEventListener("focusin", (e) => e.target.localName === "wf-node" && e.target.dataset.id && this.selection.size === 0 && this.pick([e.target.dataset.id]));
    this.elements.listen();
    this.containers.restore();
    this.firstLook();
    this.far.begin();
  }

  // ——— what others call

  apply(change) {
    this.applier.change(change);
  }

  get scope() {
    return this.stage;
  }

  get wheelZooms() {
    return this.wheel ?? (this.wheel = remembered("canvas-wheel") === "zoom");
  }

  set wheelZooms(on) {
    this.wheel = on;
    remember("canvas-wheel", on ? "zoom" : "scroll");
  }

  pick(ids, add = false) {
    this.selection.pick(ids, add);
  }

  /** Onto a node, wherever it is. */
  focus(id) {
    const node = this.model.nodes.get(id);
    if (!node) return;
    this.far.leave();
    this.reveal(id);
    node.el.focus({ preventScroll: true });
    this.pick([id]);
  }

  reveal(id) {
    this.look.reveal(id);
  }

  centre(id, k) {
    this.look.centre(id, k);
  }

  fit(ids) {
    this.look.fit(ids);
  }

  firstLook() {
    this.look.first();
  }

  zoomBy(factor) {
    this.look.zoomBy(factor);
  }

  neighbours(id, direction) {
    return neighbours(this.model, id, direction);
  }

  bounds() {
    return this.model.bounds(this.stage);
  }

  paintNode(id, paint) {
    this.painter.node(id, paint);
  }

  paintEdge(id, paint) {
    this.painter.edge(id, paint);
  }

  clearPaint() {
    this.painter.clear();
  }

  /** What is at a point of the window: {x, y} in its scope, and the node or edge. */
  at(clientX, clientY) {
    const corner = this.root.getBoundingClientRect();
    const [x, y] = this.viewport.toGraph(clientX - corner.left, clientY - corner.top);
    const hit = this.hits.at(x, y, { ports: false });
    const scope = this.hits.box(x, y)?.id ?? this.stage;
    const [ox, oy] = this.model.offset(scope);
    return { x: x - ox, y: y - oy, scope, node: hit?.node ?? null, edge: hit?.edge ?? null };
  }

  toClient(x, y) {
    const corner = this.root.getBoundingClientRect();
    return [corner.left + this.viewport.x + x * this.viewport.k, corner.top + this.viewport.y + y * this.viewport.k];
  }

  open(id, field) {
    if (this.model.nodes.has(id)) this.emit("open", { id, field });
  }

  // ——— what the parts share

  emit(name, detail) {
    this.editor.emit?.(name, detail);
  }

  say(text) {
    this.editor.say?.(text);
  }

  send(ops, label) {
    if (ops.length && "unplaced" in this.root.dataset) ops = [...this.#asLaidOut(ops), ...ops];
    return ops.length ? this.editor.edits?.send(ops, { label }) : Promise.resolve(null);
  }

  /** What nobody placed was laid out for the eye only: the first edit makes it so. */
  #asLaidOut(ops) {
    delete this.root.dataset.unplaced;
    const named = new Set(ops.map((op) => op.id));
    const nodes = [...this.model.nodes.values()].filter((node) => !node.isNote && !named.has(node.id));
    return nodes.map((node) => ({ op: "move", id: node.id, x: node.x, y: node.y }));
  }

  nameOf(id) {
    const node = this.model.nodes.get(id);
    return node?.el.dataset.title || node?.kind || id;
  }

  scopeElement(scope) {
    return this.view.querySelector(`.wf-scope[data-scope="${CSS.escape(scope)}"]`);
  }

  edgeLayer(scope) {
    return this.scopeElement(scope)?.querySelector(":scope > .wf-edges");
  }

  portElement(node, name, out) {
    if (!out) return node.el.querySelector(":scope > .port.in");
    return node.el.querySelector(`:scope > .port.out[data-port="${CSS.escape(name)}"], :scope > .wf-card > .wf-way > .port.out[data-port="${CSS.escape(name)}"]`);
  }

  /** By pointer: the ring is for who came by keyboard, whichever key was down meanwhile. */
  takeFocus(node) {
    this.root.dataset.by = "pointer";
    if (this.far.isOn) return this.root.focus({ preventScroll: true });
    return (node?.el ?? this.root).focus({ preventScroll: true });
  }

  looseEdge(scope) {
    return this.edges.loose(scope);
  }

  edgeElement(edge) {
    return this.edges.element(edge);
  }

  addEdge(ends) {
    return this.edges.add(ends);
  }

  dropEdges(ids) {
    return this.edges.drop(ids);
  }

  disconnect(id) {
    return this.edges.disconnect(id);
  }

  insertInto(edge, node) {
    return this.edges.insert(edge, node);
  }

  /** A pane of glass over the graph while something goes on: no hit testing against thousands of elements, and
   * a cursor that restyles none of them. */
  cover() {
    const { pointers, hover, viewport } = this;
    const cursor = pointers?.gesture?.name ?? (pointers?.isSpaceHeld ? "grab" : hover?.cursor);
    const isWanted = pointers?.gesture?.wantsGlass || viewport.isZooming || this.far?.isOn || cursor;
    if (this.glass.hidden === Boolean(isWanted)) this.glass.hidden = !isWanted;
    if (this.glass.dataset.cursor !== cursor) this.glass.dataset.cursor = cursor ?? "";
  }

  /** The graph's extent may be another one. */
  changed() {
    this.stale ||= requestAnimationFrame(() => {
      this.stale = 0;
      this.edges.countJoins();
      if (this.pointers.gesture) return this.changed(); // not under a hand that is moving
      this.viewport.grow(this.bounds());
      this.mini.stale();
      this.far.stale();
      this.culling.update(true);
      this.labels.placeAll();
    });
  }

  #zoomed() {
    this.cover();
    this.far.enter();
    if (this.far.isOn) this.far.follow();
    else this.viewport.follow();
  }

  #rested() {
    this.far?.rested();
    this.cover();
    this.culling.update(true);
    if (!this.viewport.width) return;
    this.look?.keep();
  }

  #open(e) {
    if (e.target.closest("button, a, .wf-minimap, .wf-tools")) return;
    const { node, edge, scope, y } = this.at(e.clientX, e.clientY);
    const isInside = node?.isBox && node.id === scope && y > HEAD; // a container's free room is room for another node
    if (node && !(isInside && this.canEdit)) this.open(node.id);
    else if (!edge && (e.target === this.root || e.target.closest(".wf-pane"))) this.emit("open-void", { ...this.at(e.clientX, e.clientY), clientX: e.clientX, clientY: e.clientY });
  }
}
