// A Change from the server, ours or somebody else's, put into the page: cards are swapped, never the element around
// them, so a selection, a focus or a drag that is going on stays what it is.

import { ROOT } from "./model.js";

const SERVER_OWNS = ["data-kind", "data-title", "data-parent", "data-w", "data-h", "data-outs", "data-rows", "data-no-in", "data-box", "data-disabled", "data-group", "aria-label"];

export class Apply {
  constructor(canvas) {
    this.canvas = canvas;
  }

  change({ ops = [], html, client }) {
    const { canvas } = this;
    const held = this.#held();
    const nodes = Object.values(html?.nodes ?? {}).map(parsed).filter(Boolean);
    for (const el of sorted(nodes)) this.node(el);
    for (const op of ops) this.#op(op);
    for (const source of Object.values(html?.edges ?? {})) this.edge(parsedEdge(source));
    this.gone(html?.gone ?? []);
    canvas.changed();
    if (held && !held.el.isConnected) this.#passOn(held, client);
  }

  /** The node that has the focus, with those beside it: one of them has it next. */
  #held() {
    const el = document.activeElement?.closest?.("wf-node");
    const edges = el ? [...this.canvas.model.edgesOf(el.dataset.id)] : [];
    return el && { el, heirs: [...edges.filter(({ to }) => to === el.dataset.id).map(({ from }) => from), ...edges.map(({ to }) => to)] };
  }

  #passOn({ heirs }, client) {
    const { canvas } = this;
    if (canvas.root.contains(document.activeElement)) return;
    const heir = heirs.find((id) => canvas.model.nodes.has(id));
    if (heir && client === canvas.editor.edits?.client) canvas.focus(heir);
    else canvas.root.focus({ preventScroll: true });
  }

  /** What the browser can do without HTML; fragments say the rest. */
  #op(op) {
    const { model } = this.canvas;
    const acts = {
      move: () => this.#move(model.nodes.get(op.id), op),
      delete: () => this.gone([op.id]),
      disconnect: () => this.gone([op.id]),
      connect: () => model.edges.has(op.edge.id) || this.edge(this.canvas.edgeElement({ id: op.edge.id, from: op.edge.source, fp: op.edge.handle ?? "source", to: op.edge.target, tp: op.edge.target_handle ?? "target" })),
      resize: () => this.#resize(model.nodes.get(op.id), op),
      reparent: () => this.#reparent(model.nodes.get(op.id), op),
    };
    acts[op.op]?.();
  }

  /** Not what the pointer holds: when it lets go, its place is sent and is the later one. */
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
    this.canvas.pointers.gesture?.redrawn?.(node);
    model.size(node);
    model.reroute([node.id]);
  }

  node(el) {
    const { canvas } = this;
    const known = canvas.model.nodes.get(el.dataset.id);
    if (!known) return this.#add(el);
    for (const name of SERVER_OWNS) {
      if (el.hasAttribute(name)) known.el.setAttribute(name, el.getAttribute(name));
      else known.el.removeAttribute(name);
    }
    this.#swapInside(known.el, el);
    this.#reparent(known, { parent: el.dataset.parent, x: +el.dataset.x, y: +el.dataset.y });
    this.#reshape(known);
    canvas.painter.again(known);
  }

  /** The card and the ports are the server's; what lies inside a container is nodes of its own. */
  #swapInside(old, fresh) {
    const keptFocus = old.contains(document.activeElement) && document.activeElement !== old && !document.activeElement.closest(".wf-inner");
    for (const child of [...old.children]) if (child.matches(".wf-card, .port")) child.remove();
    const inner = old.querySelector(":scope > .wf-inner");
    for (const child of [...fresh.children]) {
      if (child.matches(".wf-card")) old.prepend(child);
      else if (child.matches(".port")) old.append(child);
      else if (!inner) old.append(child);
    }
    if (keptFocus) old.focus({ preventScroll: true });
  }

  #add(el) {
    const { canvas } = this;
    const scope = canvas.scopeElement(el.dataset.parent || ROOT) ?? canvas.scopeElement(ROOT);
    const svg = scope.querySelector(":scope > .wf-edges");
    if (el.dataset.kind === "note") scope.insertBefore(el, svg);
    else scope.append(el); // its connectedCallback tells the model
    canvas.elements.joined(el);
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
    canvas.painter.againEdge(el.dataset.id);
  }

  gone(ids) {
    const { canvas } = this;
    const { model } = canvas;
    const lost = ids.flatMap((id) => [id, ...(model.nodes.has(id) ? [...model.edgesOf(id)].map((edge) => edge.id) : [])]);
    for (const id of ids) {
      if (canvas.stage !== ROOT && (canvas.stage === id || model.around(canvas.stage).some((box) => box.id === id))) canvas.enter(ROOT);
      model.dropNode(id);
      model.dropEdge(id);
    }
    canvas.selection.drop(lost);
  }
}

/** Containers before what lies in them. */
function sorted(elements) {
  const ids = new Map(elements.map((el) => [el.dataset.id, el]));
  const depth = (el) => {
    let [n, at] = [0, el];
    while (at?.dataset.parent && n < 50) [n, at] = [n + 1, ids.get(at.dataset.parent)];
    return n;
  };
  return [...elements].sort((a, b) => depth(a) - depth(b));
}

function parsed(source) {
  const template = document.createElement("template");
  template.innerHTML = source;
  return template.content.querySelector("wf-node");
}

function parsedEdge(source) {
  const template = document.createElement("template");
  template.innerHTML = `<svg>${source}</svg>`;
  return template.content.querySelector(".wf-edge");
}
