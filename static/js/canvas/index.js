// The canvas connects its parts and is the interface for the rest of the editor.

import { ChangeApplier } from "./apply_changes.js";
import { Containers } from "./containers.js";
import { Culling } from "./view/culling.js";
import { Detail } from "./view/detail.js";
import { Edges } from "./edges.js";
import { Elements } from "./elements.js";
import { FarView } from "./view/far_view.js";
import { HEADER_HEIGHT } from "./geometry.js";
import { Guides } from "./gestures/guides.js";
import { HitTester } from "./gestures/hit_testing.js";
import { Hover, Tip } from "./view/hover.js";
import { Labels } from "./view/edge_labels.js";
import { DragLayer } from "./gestures/drag_layer.js";
import { Navigation } from "./view/navigation.js";
import { Minimap } from "./view/minimap.js";
import { Model, ROOT, findNeighbours } from "./model.js";
import { Painter } from "./view/run_states.js";
import { Palette } from "./view/colors.js";
import { Pointers } from "./gestures/pointer.js";
import { Selection } from "./selection.js";
import { Unplaced } from "./unplaced.js";
import { Tools, storeSetting, loadSetting } from "./view/view_tools.js";
import { Viewport } from "./view/viewport.js";
import { WayBack } from "./view/way_back.js";

export { ROOT };

const MODIFIERS = new Set(["Control", "Shift", "Alt", "Meta", " "]);

export class Canvas {
  stage = ROOT; // the scope that fills the page
  tool = "hand"; // what dragging the background does

  constructor(root, editor) {
    this.root = root;
    this.editor = editor;
    this.canEdit = editor.canEdit ?? false;
    this.view = root.querySelector(".wf-view");
    this.shield = root.querySelector(".wf-shield");
    this.model = new Model();
    this.viewport = new Viewport(root);
    this.detail = new Detail(this);
    this.elements = new Elements(this);
    this.selection = new Selection(this);
    this.hitTester = new HitTester(this.model, this.viewport, () => this.stage);
    this.tip = new Tip(root);
    this.palette = new Palette(root);
    this.guides = new Guides(this);
    this.dragLayer = new DragLayer(this);
    this.runStates = new Painter(this);
    this.labels = new Labels(this);
    this.edges = new Edges(this);
    this.containers = new Containers(this);
    this.culling = new Culling(this);
    this.hover = new Hover(this);
    this.changes = new ChangeApplier(this);
    this.farView = new FarView(this);
    this.navigation = new Navigation(this);
    this.minimap = new Minimap(this, root.querySelector(".wf-minimap"));
    this.pointers = new Pointers(this);
    this.tools = new Tools(this);
    this.wayBack = new WayBack(this);
    this.viewport.addEventListener("zoom", () => this.#onZoom());
    this.viewport.addEventListener("rest", () => this.#onRest());
    root.addEventListener("dblclick", (e) => this.#open(e));
    root.addEventListener("keydown", (e) => MODIFIERS.has(e.key) || delete root.dataset.by);
    // The focus ring appears for people who return by Tab.
    root.addEventListener("focusout", (e) => root.contains(e.relatedTarget) || delete root.dataset.by);
    root.addEventListener("focusin", (e) => e.target.localName === "wf-node" && e.target.dataset.id && this.selection.size === 0 && this.pick([e.target.dataset.id]));
    this.elements.listen();
    this.containers.restore();
    this.model.routeAll();
    this.unplaced = new Unplaced(this);
    this.firstLook();
    this.farView.begin();
  }

  // ——— interface for the editor

  apply(change) {
    this.changes.change(change);
    if (change.isUnplaced) this.unplaced.note();
  }

  get scope() {
    return this.stage;
  }

  get wheelZooms() {
    return this.wheel ?? (this.wheel = loadSetting("canvas-wheel") === "zoom");
  }

  set wheelZooms(on) {
    this.wheel = on;
    storeSetting("canvas-wheel", on ? "zoom" : "scroll");
  }

  pick(ids, add = false) {
    this.selection.pick(ids, add);
  }

  /** Reveal, focus and select a node. */
  focus(id) {
    const node = this.model.nodes.get(id);
    if (!node) return;
    this.farView.leave();
    this.reveal(id);
    node.el.focus({ preventScroll: true });
    this.pick([id]);
  }

  reveal(id) {
    this.navigation.reveal(id);
  }

  /** Bring all these nodes into view; zoom out only if they don't fit. */
  revealAll(ids) {
    this.navigation.revealAll(ids);
  }

  /** Return whether the whole graph of the page is in view. */
  showsAll() {
    return this.navigation.showsAll();
  }

  /** Keep a node and its neighbours in view, or with `all` the whole graph of the page. */
  keepInView(id, { all = false } = {}) {
    this.navigation.keepInView(id, { all });
  }

  centre(id, k) {
    this.navigation.centre(id, k);
  }

  fit(ids) {
    this.navigation.fit(ids);
  }

  firstLook() {
    this.navigation.showFirst();
  }

  zoomBy(factor) {
    this.navigation.zoomBy(factor);
  }

  neighbours(id, direction) {
    return findNeighbours(this.model, id, direction);
  }

  bounds() {
    return this.model.bounds(this.stage);
  }

  paintNode(id, paint) {
    this.runStates.node(id, paint);
  }

  paintEdge(id, paint) {
    this.runStates.edge(id, paint);
  }

  clearPaint() {
    this.runStates.clear();
  }

  /** Return what lies at a point of the window: x and y in its scope, and the node or edge. */
  at(clientX, clientY) {
    this.viewport.followScroll();
    const corner = this.root.getBoundingClientRect();
    const [x, y] = this.viewport.toGraph(clientX - corner.left, clientY - corner.top);
    const hit = this.hitTester.at(x, y, { ports: false });
    const scope = this.hitTester.box(x, y)?.id ?? this.stage;
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

  // ——— shared by the parts

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

  /** Focus by pointer hides the focus ring, which is meant for the keyboard. */
  takeFocus(node) {
    this.root.dataset.by = "pointer";
    if (this.farView.isOn) return this.root.focus({ preventScroll: true });
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

  /**
   * Show a shield over the graph during gestures: the browser then tests no hits against thousands of elements, and the
   * cursor restyles none of them.
   */
  cover() {
    const { pointers, hover, viewport } = this;
    const cursor = pointers?.gesture?.name ?? (pointers?.isSpaceHeld ? "grab" : hover?.cursor);
    const isNeeded = pointers?.gesture?.needsShield || viewport.isZooming || this.farView?.isOn || cursor;
    if (this.shield.hidden === Boolean(isNeeded)) this.shield.hidden = !isNeeded;
    if (this.shield.dataset.cursor !== cursor) this.shield.dataset.cursor = cursor ?? "";
  }

  /** Schedule an update of everything that depends on the extent of the graph. */
  scheduleUpdate() {
    this.stale ||= requestAnimationFrame(() => {
      this.stale = 0;
      this.edges.countJoins();
      if (this.pointers.gesture) return this.scheduleUpdate(); // The layout must not change during a gesture.
      this.model.routeAll();
      this.viewport.grow(this.bounds());
      this.minimap.invalidate();
      this.farView.invalidate();
      this.culling.update(true);
      this.labels.update();
    });
  }

  #onZoom() {
    this.cover();
    this.farView.enter();
    if (this.farView.isOn) this.farView.follow();
    else this.viewport.follow();
  }

  #onRest() {
    this.farView?.onRest();
    this.cover();
    this.culling.update(true);
    if (!this.viewport.width) return;
    this.navigation?.store();
  }

  #open(e) {
    if (e.target.closest("button, a, .wf-minimap, .wf-tools")) return;
    const { node, edge, scope, y } = this.at(e.clientX, e.clientY);
    const isInside = node?.isBox && node.id === scope && y > HEADER_HEIGHT; // the free area of a container accepts new nodes
    const below = document.elementFromPoint(e.clientX, e.clientY); // the press was captured by the canvas
    if (node && this.canEdit && below?.closest(".wf-names > b")) this.emit("edit-title", { id: node.id });
    else if (node && !(isInside && this.canEdit)) this.open(node.id);
    else if (!edge && (e.target === this.root || e.target.closest(".wf-pane"))) this.emit("open-void", { ...this.at(e.clientX, e.clientY), clientX: e.clientX, clientY: e.clientY });
  }
}
