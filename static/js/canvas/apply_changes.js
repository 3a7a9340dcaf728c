// Applies a change from the server to the page. Cards are swapped but never their outer elements, so a selection, a focus
// or a drag survives.

import { ROOT } from "./model.js";

const SERVER_OWNS = ["data-kind", "data-title", "data-parent", "data-w", "data-h", "data-outs", "data-no-in", "data-box", "data-disabled", "data-group", "aria-label"];

export class ChangeApplier {
  constructor(canvas) {
    this.canvas = canvas;
  }

  change({ ops = [], html, client }) {
    const { canvas } = this;
    const focused = this.#findFocused();
    const nodes = Object.values(html?.nodes ?? {}).map(parseNode).filter(Boolean);
    for (const el of sortByDepth(nodes)) this.node(el);
    const replaced = new Set(Object.keys(html?.nodes ?? {})); // deleted and added again, as a node of another type
    for (const op of ops) if (op.op !== "delete" || !replaced.has(op.id)) this.#op(op);
    for (const source of Object.values(html?.edges ?? {})) this.edge(parseEdge(source));
    this.remove(html?.gone ?? []);
    canvas.scheduleUpdate();
    if (focused && !focused.el.isConnected) this.#moveFocus(focused, client);
  }

  /** Return the focused node and its neighbours, one of which takes over the focus when it is removed. */
  #findFocused() {
    const el = document.activeElement?.closest?.("wf-node");
    const edges = el ? [...this.canvas.model.edgesOf(el.dataset.id)] : [];
    return el && { el, heirs: [...edges.filter(({ to }) => to === el.dataset.id).map(({ from }) => from), ...edges.map(({ to }) => to)] };
  }

  #moveFocus({ heirs }, client) {
    const { canvas } = this;
    if (canvas.root.contains(document.activeElement)) return;
    const heir = heirs.find((id) => canvas.model.nodes.has(id));
    if (heir && client === canvas.editor.edits?.client) canvas.focus(heir);
    else canvas.root.focus({ preventScroll: true });
  }

  /** Apply what needs no HTML; the fragments bring the rest. */
  #op(op) {
    const { model } = this.canvas;
    const handlers = {
      move: () => this.#move(model.nodes.get(op.id), op),
      delete: () => this.remove([op.id]),
      disconnect: () => this.remove([op.id]),
      connect: () => model.edges.has(op.edge.id) || this.edge(this.canvas.edgeElement({ id: op.edge.id, from: op.edge.source, fp: op.edge.handle ?? "source", to: op.edge.target, tp: op.edge.target_handle ?? "target" })),
      resize: () => this.#resize(model.nodes.get(op.id), op),
      reparent: () => this.#reparent(model.nodes.get(op.id), op),
    };
    handlers[op.op]?.();
  }

  /** Return whether the pointer holds the node. Its position is sent when it is released, and that is the later change. */
  #isHeld(id) {
    return this.canvas.pointers.isHolding(id);
  }

  #move(node, { x, y }) {
    if (!node || this.#isHeld(node.id)) return;
    Object.assign(node, { x, y });
    this.canvas.model.place(node);
    this.canvas.model.reroute([node.id]);
  }

  #resize(node, { width, height }) {
    if (!node) return;
    node.el.dataset.w = width ?? node.full.w;
    node.el.dataset.h = height ?? node.full.h;
    this.#reshape(node);
  }

  #reparent(node, { parent, x, y }) {
    if (!node || this.#isHeld(node.id)) return;
    const scope = parent || ROOT;
    if (node.scope !== scope) {
      node.scope = scope;
      this.canvas.scopeElement(scope)?.append(node.el);
    }
    this.#move(node, { x, y });
  }

  #reshape(node) {
    const { model } = this.canvas;
    model.readShape(node);
    this.canvas.pointers.gesture?.onRedraw?.(node);
    model.size(node);
    model.reroute([node.id]);
  }

  node(el) {
    const { canvas } = this;
    const existing = canvas.model.nodes.get(el.dataset.id);
    if (!existing) return this.#add(el);
    for (const name of SERVER_OWNS) {
      if (el.hasAttribute(name)) existing.el.setAttribute(name, el.getAttribute(name));
      else existing.el.removeAttribute(name);
    }
    this.#swapInside(existing.el, el);
    this.#reparent(existing, { parent: el.dataset.parent, x: +el.dataset.x, y: +el.dataset.y });
    this.#reshape(existing);
    canvas.runStates.repaintNode(existing);
  }

  /** Swap the card and the ports. The content of a container consists of nodes of its own. */
  #swapInside(old, replacement) {
    const hadFocus = old.contains(document.activeElement) && document.activeElement !== old && !document.activeElement.closest(".wf-inner");
    for (const child of [...old.children]) if (child.matches(".wf-card, .port")) child.remove();
    const inner = old.querySelector(":scope > .wf-inner");
    for (const child of [...replacement.children]) {
      if (child.matches(".wf-card")) old.prepend(child);
      else if (child.matches(".port")) old.append(child);
      else if (!inner) old.append(child);
    }
    if (hadFocus) old.focus({ preventScroll: true });
  }

  #add(el) {
    const { canvas } = this;
    const scope = canvas.scopeElement(el.dataset.parent || ROOT) ?? canvas.scopeElement(ROOT);
    const svg = scope.querySelector(":scope > .wf-edges");
    if (el.dataset.kind === "note") scope.insertBefore(el, svg);
    else scope.append(el); // its connectedCallback updates the model
    canvas.elements.nodeConnected(el);
  }

  edge(el) {
    const { canvas } = this;
    const { model } = canvas;
    const from = model.nodes.get(el.dataset.from);
    const old = model.edges.get(el.dataset.id);
    old?.el.remove();
    if (!from || !canvas.edgeLayer(from.scope)) return;
    canvas.edgeLayer(from.scope).append(el);
    model.route(model.addEdge(el));
    canvas.selection.mark(el.dataset.id);
    canvas.runStates.repaintEdge(el.dataset.id);
  }

  remove(ids) {
    const { canvas } = this;
    const { model } = canvas;
    const removed = ids.flatMap((id) => [id, ...(model.nodes.has(id) ? [...model.edgesOf(id)].map((edge) => edge.id) : [])]);
    for (const id of ids) {
      if (canvas.stage !== ROOT && (canvas.stage === id || model.ancestors(canvas.stage).some((box) => box.id === id))) canvas.enter(ROOT);
      model.dropNode(id);
      model.dropEdge(id);
    }
    canvas.selection.drop(removed);
  }
}

/** Sort containers before their content. */
function sortByDepth(elements) {
  const ids = new Map(elements.map((el) => [el.dataset.id, el]));
  const depth = (el) => {
    let [n, at] = [0, el];
    while (at?.dataset.parent && n < 50) [n, at] = [n + 1, ids.get(at.dataset.parent)];
    return n;
  };
  return [...elements].sort((a, b) => depth(a) - depth(b));
}

function parseNode(source) {
  const template = document.createElement("template");
  template.innerHTML = source;
  return template.content.querySelector("wf-node");
}

function parseEdge(source) {
  const template = document.createElement("template");
  template.innerHTML = `<svg>${source}</svg>`;
  return template.content.querySelector(".wf-edge");
}
