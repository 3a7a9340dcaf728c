// The canvas: puts its parts together and is what the rest of the editor talks to.

import { Apply } from "./apply.js";
import { Containers } from "./containers.js";
import { Culling } from "./culling.js";
import { Edges } from "./edges.js";
import { Far } from "./far.js";
import { Guides } from "./guides.js";
import { Hits } from "./hits.js";
import { Hover, Tip } from "./hover.js";
import { Lift } from "./lift.js";
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

const READABLE = 0.6; // the least scale a small graph is first shown at
const MANY = 60; // nodes; of more than these one wants to see the whole first
const MODIFIERS = new Set(["Control", "Shift", "Alt", "Meta", " "]);

let current = null; // the one canvas of the page

// Nodes say themselves when they come and go, however the page was changed.
customElements.define(
  "wf-node",
  class extends HTMLElement {
    connectedCallback() {
      current?.joined(this);
    }

    disconnectedCallback() {
      current?.left(this);
    }
  },
);

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
    this.#read();
    this.selection = new Selection(this);
    this.hits = new Hits(this.model, this.viewport, () => this.stage);
    this.tip = new Tip(root);
    this.palette = new Palette(root);
    this.guides = new Guides(this);
    this.lift = new Lift(this);
    this.painter = new Painter(this);
    this.edges = new Edges(this);
    this.containers = new Containers(this);
    this.culling = new Culling(this);
    this.hover = new Hover(this);
    this.applier = new Apply(this);
    this.far = new Far(this);
    this.mini = new Minimap(this, root.querySelector(".wf-minimap"));
    this.pointers = new Pointers(this);
    this.tools = new Tools(this);
    this.viewport.addEventListener("zoom", () => this.#zoomed());
    this.viewport.addEventListener("rest", () => this.#rested());
    root.addEventListener("dblclick", (e) => this.#open(e));
    root.addEventListener("keydown", (e) => MODIFIERS.has(e.key) || delete root.dataset.by);
    root.addEventListener("keydown", (e) => e.key === "Enter" && e.target.localName === "wf-node" && this.open(e.target.dataset.id));
    root.addEventListener("focusin", (e) => e.target.localName === "wf-node" && e.target.dataset.id && this.selection.size === 0 && this.pick([e.target.dataset.id]));
    current = this;
    this.containers.restore();
    this.firstLook();
    performance.mark("interactive");
  }

  #read() {
    for (const el of this.view.querySelectorAll("wf-node")) this.model.addNode(el);
    for (const el of this.view.querySelectorAll(".wf-edge")) this.model.addEdge(el);
    new MutationObserver((changes) => this.#mutated(changes)).observe(this.view, { childList: true, subtree: true });
  }

  /** Edges are SVG and can't be custom elements: those that somebody swaps in or out are seen here. */
  #mutated(changes) {
    for (const { addedNodes, removedNodes } of changes) {
      for (const el of removedNodes) {
        const edge = el.matches?.(".wf-edge") && this.model.edges.get(el.dataset.id);
        if (edge && edge.el === el && !el.isConnected) this.model.dropEdge(edge.id);
      }
      for (const el of addedNodes) {
        const isNew = el.matches?.(".wf-edge[data-id]") && el.isConnected && this.model.edges.get(el.dataset.id)?.el !== el;
        if (isNew) this.model.route(this.model.addEdge(el));
      }
    }
  }

  joined(el) {
    const known = this.model.nodes.get(el.dataset.id);
    if (known?.el === el && el.closest(".wf-scope")?.dataset.scope === known.scope) return;
    if (!el.closest(".wf-view")) return;
    const node = this.model.addNode(el);
    this.model.place(node);
    this.model.size(node);
    this.lift.again(node);
    this.selection.mark(node.id);
    el.classList.toggle("off", node.off);
    this.painter.again(node);
    this.model.reroute([node.id]);
    if (!known) this.changed();
  }

  left(el) {
    queueMicrotask(() => {
      const node = this.model.nodes.get(el.dataset.id);
      if (el.isConnected || node?.el !== el) return;
      this.model.dropNode(node.id);
      this.selection.drop([node.id]);
      this.changed();
    });
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

  /** So that it can be seen: unfolded, displayed, scrolled to. */
  reveal(id) {
    const node = this.model.nodes.get(id) ?? this.model.nodes.get(this.model.edges.get(id)?.from);
    if (!node) return;
    for (const box of this.model.around(node.scope)) if (box.folded) this.containers.fold(box.id, false, false);
    const isInside = this.stage === ROOT || this.model.around(node.scope).some((box) => box.id === this.stage);
    if (!isInside) this.containers.enter(ROOT);
    this.culling.show(node);
    const box = this.model.box(node);
    const seen = this.viewport.seen();
    const isSeen = box.x >= seen.x && box.y >= seen.y && box.x + Math.min(box.w, seen.w) <= seen.x + seen.w && box.y + Math.min(box.h, seen.h) <= seen.y + seen.h;
    if (!isSeen) this.centre(id);
  }

  centre(id, k = this.viewport.k) {
    const node = this.model.nodes.get(id);
    if (!node) return;
    const box = this.model.box(node);
    const { viewport: v } = this;
    v.set(v.width / 2 - (box.x + box.w / 2) * k, v.height / 2 - (box.y + box.h / 2) * k, k);
  }

  neighbours(id, direction) {
    return neighbours(this.model, id, direction);
  }

  fit(ids) {
    const nodes = ids && [...ids].map((id) => this.model.nodes.get(id)).filter(Boolean);
    const bounds = this.bounds();
    const box = nodes?.length ? this.model.bounds(nodes[0].scope, nodes) : bounds;
    this.viewport.fit(box, bounds);
    this.mini.stale();
    this.far.stale();
    this.culling.update(true);
  }

  bounds() {
    return this.model.bounds(this.stage);
  }

  zoomBy(factor) {
    this.viewport.zoomAt(this.viewport.width / 2, this.viewport.height / 2, factor, false);
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
    return ops.length ? this.editor.edits?.send(ops, { label }) : Promise.resolve(null);
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
      this.edges.placeLabels();
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
    remember(this.#placeKey, JSON.stringify([this.viewport.x, this.viewport.y, this.viewport.k].map((n) => Math.round(n * 1000) / 1000)));
  }

  get #placeKey() {
    return `canvas-view:${this.editor.root.dataset.workflow}`;
  }

  /** Where this person left it, else the whole; of what would be too small to read, the beginning. */
  firstLook() {
    if (!this.viewport.width) return; // on a narrow screen another view is shown first
    let place = null;
    try {
      place = JSON.parse(remembered(this.#placeKey));
    } catch {
      // as if never seen
    }
    this.fit();
    if (this.viewport.k < READABLE && this.model.nodes.size < MANY) this.#begin();
    if (Array.isArray(place) && place.every(Number.isFinite)) {
      const [x, y, k] = place;
      const seen = { x: -x / k, y: -y / k, w: this.viewport.width / k, h: this.viewport.height / k };
      const b = this.bounds();
      const isThere = seen.x < b.x + b.w && seen.x + seen.w > b.x && seen.y < b.y + b.h && seen.y + seen.h > b.y;
      if (isThere) {
        Object.assign(this.viewport, { x, y, k });
        this.viewport.rest();
      }
    }
  }

  #begin() {
    const b = this.bounds();
    Object.assign(this.viewport, { k: READABLE, x: 32 - b.x * READABLE, y: (this.viewport.height - b.h * READABLE) / 2 - b.y * READABLE });
    this.viewport.rest();
  }

  #open(e) {
    if (e.target.closest("button, a, .wf-minimap, .wf-tools")) return;
    const { node, edge } = this.at(e.clientX, e.clientY);
    if (node) this.open(node.id);
    else if (!edge && (e.target === this.root || e.target.closest(".wf-pane"))) this.emit("open-void", { ...this.at(e.clientX, e.clientY), clientX: e.clientX, clientY: e.clientY });
  }
}
