// Containers are nodes with a scope of their own inside. They can be folded or opened as a page, and nodes can move into
// and out of them.

import { BOX_PADDING, HEADER_HEIGHT, snap } from "./geometry.js";
import { ROOT } from "./model.js";
import { storeValue, loadValue } from "../common/storage.js";
import { t } from "../common/translations.js";

export class Containers {
  constructor(canvas) {
    this.canvas = canvas;
    this.crumbs = canvas.root.querySelector(".wf-crumbs");
    canvas.root.addEventListener("click", (e) => this.#click(e));
    this.key = `canvas-folded:${canvas.editor.root.dataset.workflow}`;
  }

  #click(e) {
    const act = e.target.closest("[data-act]")?.dataset.act;
    const id = e.target.closest("wf-node")?.dataset.id;
    if (act === "fold" && id) this.fold(id);
    if (act === "enter" && id) this.enter(id);
    const crumb = e.target.closest("[data-crumb]");
    if (crumb) this.enter(crumb.dataset.crumb);
  }

  /** Fold the containers that this person had folded. */
  restore() {
    for (const id of loadValue(this.key, [])) if (this.canvas.model.nodes.get(id)?.isBox) this.fold(id, true, false);
  }

  fold(id, on, isAnnounced = true) {
    const { canvas } = this;
    const node = canvas.model.nodes.get(id);
    if (!node?.isBox) return;
    node.folded = on ?? !node.folded;
    node.el.toggleAttribute("data-folded", node.folded);
    node.el.querySelector(":scope > .wf-card [data-act='fold']")?.setAttribute("aria-expanded", String(!node.folded));
    canvas.model.readShape(node);
    canvas.model.size(node);
    canvas.model.reroute([id]);
    canvas.scheduleUpdate();
    this.#remember();
    if (isAnnounced) canvas.say(node.folded ? t("Collapsed {name}", { name: canvas.nameOf(id) }) : t("Expanded {name}", { name: canvas.nameOf(id) }));
  }

  #remember() {
    storeValue(this.key, [...this.canvas.model.nodes.values()].filter((node) => node.folded).map((node) => node.id));
  }

  /** Show the inside of a container as the page; ROOT leads back. */
  enter(scope) {
    const { canvas } = this;
    const { model } = canvas;
    if (scope !== ROOT && !model.nodes.get(scope)?.isBox) return;
    for (const box of model.ancestors(scope)) if (box.folded) this.fold(box.id, false, false);
    for (const el of canvas.view.querySelectorAll(".wf-behind, .wf-ahead")) el.classList.remove("wf-behind", "wf-ahead");
    for (const box of model.ancestors(scope)) {
      box.el.classList.add("wf-ahead");
      canvas.scopeElement(box.scope).classList.add("wf-behind");
    }
    canvas.stage = scope;
    canvas.root.toggleAttribute("data-inside", scope !== ROOT);
    this.#showCrumbs(scope);
    canvas.pick([]);
    canvas.fit();
    canvas.farView.invalidate();
    canvas.emit("scope", { scope });
    canvas.say(scope === ROOT ? t("Whole workflow") : t("Inside {name}", { name: canvas.nameOf(scope) }));
  }

  #showCrumbs(scope) {
    const boxes = this.canvas.model.ancestors(scope).reverse();
    const entries = [[ROOT, t("Workflow")], ...boxes.map((box) => [box.id, this.canvas.nameOf(box.id)])];
    this.crumbs.hidden = scope === ROOT;
    this.crumbs.replaceChildren(
      ...entries.map(([id, name], i) => {
        const crumb = document.createElement("button");
        crumb.type = "button";
        crumb.textContent = name;
        crumb.dataset.crumb = id;
        if (i === entries.length - 1) crumb.setAttribute("aria-current", "location");
        return crumb;
      }),
    );
  }

  /** Move nodes from one scope to another at the same position on screen, and cut the edges that would cross the border. */
  reparent(nodes, target) {
    const { canvas } = this;
    const { model } = canvas;
    const ids = new Set(nodes.map((node) => node.id));
    const cut = [...new Set(nodes.flatMap((node) => [...model.edgesOf(node.id)]))];
    const [ox, oy] = model.offset(target);
    const inner = cut.filter((edge) => ids.has(edge.from) && ids.has(edge.to));
    const ops = canvas.dropEdges(cut.filter((edge) => !inner.includes(edge)).map((edge) => edge.id));
    for (const node of nodes) {
      const box = model.box(node);
      const min = target === ROOT ? [-Infinity, -Infinity] : [BOX_PADDING, HEADER_HEIGHT + 8];
      node.x = Math.max(min[0], snap(box.x - ox));
      node.y = Math.max(min[1], snap(box.y - oy));
      this.#move(node, target);
      ops.push({ op: "reparent", id: node.id, parent: target === ROOT ? null : target, x: node.x, y: node.y });
    }
    for (const edge of inner) this.#moveEdge(edge, target);
    return [...ops, ...this.#connectStart(nodes, target)]; // the server makes the container large enough
  }

  /** Return the start node of a container while nothing follows it, otherwise null. */
  findIdleStart(scope) {
    const { model } = this.canvas;
    const start = scope !== ROOT && model.inside(scope).find((node) => node.isEntry);
    return start && ![...model.edgesOf(start.id)].some((edge) => edge.from === start.id) ? start : null;
  }

  #connectStart(nodes, target) {
    const [start, first] = this.findFirstNode(nodes, target) ?? [];
    return start ? [this.canvas.addEdge({ from: start.id, fp: "source", to: first.id })] : [];
  }

  /** Return the start of an empty container and the one new node that no other new node leads to, or null. */
  findFirstNode(nodes, target) {
    const { model } = this.canvas;
    const start = this.findIdleStart(target);
    const ids = new Set(nodes.map(({ id }) => id));
    const hasPredecessor = ({ id }) => [...model.edgesOf(id)].some((edge) => edge.to === id && ids.has(edge.from));
    const first = nodes.filter((node) => node.ins.length && !hasPredecessor(node));
    const isEmpty = !model.inside(target).some((node) => !node.isNote && node !== start && !ids.has(node.id));
    return start && first.length === 1 && isEmpty ? [start, first[0]] : null;
  }

  #move(node, target) {
    node.scope = target;
    node.el.dataset.parent = target === ROOT ? "" : target;
    this.canvas.scopeElement(target).append(node.el);
    this.canvas.model.place(node);
  }

  #moveEdge(edge, target) {
    edge.scope = target;
    this.canvas.edgeLayer(target).append(edge.el);
    if (edge.label) this.canvas.edgeLayer(target).after(edge.label);
    this.canvas.model.route(edge);
  }
}
