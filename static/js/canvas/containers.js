// Containers: a node with a scope of its own inside. Folded, looked into as a page, moved into and out of.

import { BOX_PAD, HEAD, snap } from "./geometry.js";
import { ROOT } from "./model.js";
import { keep, kept } from "../editor/kept.js";
import { t } from "../editor/words.js";

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

  /** As this person left it. */
  restore() {
    for (const id of kept(this.key, [])) if (this.canvas.model.nodes.get(id)?.isBox) this.fold(id, true, false);
  }

  fold(id, on, isSaid = true) {
    const { canvas } = this;
    const node = canvas.model.nodes.get(id);
    if (!node?.isBox) return;
    node.folded = on ?? !node.folded;
    node.el.toggleAttribute("data-folded", node.folded);
    node.el.querySelector(":scope > .wf-card [data-act='fold']")?.setAttribute("aria-expanded", String(!node.folded));
    canvas.model.readShape(node);
    canvas.model.size(node);
    canvas.model.reroute([id]);
    canvas.changed();
    this.#remember();
    if (isSaid) canvas.say(node.folded ? t("Folded: {name}", { name: canvas.nameOf(id) }) : t("Unfolded: {name}", { name: canvas.nameOf(id) }));
  }

  #remember() {
    keep(this.key, [...this.canvas.model.nodes.values()].filter((node) => node.folded).map((node) => node.id));
  }

  /** Show a container's inside as the page; ROOT is the way back. */
  enter(scope) {
    const { canvas } = this;
    const { model } = canvas;
    if (scope !== ROOT && !model.nodes.get(scope)?.isBox) return;
    for (const box of model.around(scope)) if (box.folded) this.fold(box.id, false, false);
    for (const el of canvas.view.querySelectorAll(".wf-behind, .wf-ahead")) el.classList.remove("wf-behind", "wf-ahead");
    for (const box of model.around(scope)) {
      box.el.classList.add("wf-ahead");
      canvas.scopeElement(box.scope).classList.add("wf-behind");
    }
    canvas.stage = scope;
    canvas.root.toggleAttribute("data-inside", scope !== ROOT);
    this.#showCrumbs(scope);
    canvas.pick([]);
    canvas.fit();
    canvas.far.stale();
    canvas.emit("scope", { scope });
    canvas.say(scope === ROOT ? t("The whole workflow") : t("Inside {name}", { name: canvas.nameOf(scope) }));
  }

  #showCrumbs(scope) {
    const boxes = this.canvas.model.around(scope).reverse();
    const places = [[ROOT, t("Workflow")], ...boxes.map((box) => [box.id, this.canvas.nameOf(box.id)])];
    this.crumbs.hidden = scope === ROOT;
    this.crumbs.replaceChildren(
      ...places.map(([id, name], i) => {
        const crumb = document.createElement("button");
        crumb.type = "button";
        crumb.textContent = name;
        crumb.dataset.crumb = id;
        if (i === places.length - 1) crumb.setAttribute("aria-current", "location");
        return crumb;
      }),
    );
  }

  /** Nodes that lie in one scope go to another, where they are on screen; edges over the border are cut. */
  reparent(nodes, target) {
    const { canvas } = this;
    const { model } = canvas;
    const ids = new Set(nodes.map((node) => node.id));
    const cut = [...new Set(nodes.flatMap((node) => [...model.edgesOf(node.id)]))];
    const [ox, oy] = model.offset(target);
    const kept = cut.filter((edge) => ids.has(edge.from) && ids.has(edge.to));
    const ops = canvas.dropEdges(cut.filter((edge) => !kept.includes(edge)).map((edge) => edge.id));
    for (const node of nodes) {
      const box = model.box(node);
      const least = target === ROOT ? [-Infinity, -Infinity] : [BOX_PAD, HEAD + 8];
      node.x = Math.max(least[0], snap(box.x - ox));
      node.y = Math.max(least[1], snap(box.y - oy));
      this.#move(node, target);
      ops.push({ op: "reparent", id: node.id, parent: target === ROOT ? null : target, x: node.x, y: node.y });
    }
    for (const edge of kept) this.#moveEdge(edge, target);
    return [...ops, ...this.#begun(nodes, target)]; // the server makes the container large enough
  }

  /** Where a container's rounds begin, as long as nothing follows there. */
  idleStart(scope) {
    const { model } = this.canvas;
    const start = scope !== ROOT && model.inside(scope).find((node) => node.isEntry);
    return start && ![...model.edgesOf(start.id)].some((edge) => edge.from === start.id) ? start : null;
  }

  #begun(nodes, target) {
    const [start, first] = this.beginning(nodes, target) ?? [];
    return start ? [this.canvas.addEdge({ from: start.id, fp: "source", to: first.id })] : [];
  }

  /** What comes into an empty container is what its rounds begin with: the one of them that no other of them leads to. */
  beginning(nodes, target) {
    const { model } = this.canvas;
    const start = this.idleStart(target);
    const ids = new Set(nodes.map(({ id }) => id));
    const isLedTo = ({ id }) => [...model.edgesOf(id)].some((edge) => edge.to === id && ids.has(edge.from));
    const first = nodes.filter((node) => node.ins.length && !isLedTo(node));
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
