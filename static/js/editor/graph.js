// Small questions about the drawn graph that several features ask. Read from the canvas's model, never kept.

import { t } from "./words.js";

export const ROOT = "root";
export const scopeOf = (node) => node.scope || ROOT;
export const isNote = (node) => Boolean(node.isNote);
/** The names of a node's ways out, from the top. */
export const outsOf = (node) => node.outs.map(({ name }) => name);
/** What the palette says of a kind; nothing of one the server doesn't know. */
export const offerOf = (editor, kind) => editor.kinds?.find(({ id }) => id === kind);
export const kindName = (editor, kind) => offerOf(editor, kind)?.name ?? kind;

/** What a node is called, as people read it on its card. */
export function nameOf(editor, id) {
  const node = editor.model.nodes.get(id);
  return node?.el.dataset.title || node?.el.getAttribute("aria-label") || id;
}

export const chosenNodes = (editor) => [...editor.selection].map((id) => editor.model.nodes.get(id)).filter(Boolean);
export const chosenEdges = (editor) => [...editor.selection].map((id) => editor.model.edges.get(id)).filter(Boolean);

/** The one chosen node, if it is one. */
export function only(editor) {
  const nodes = chosenNodes(editor);
  return nodes.length === 1 ? nodes[0] : null;
}

/** The scope one works in: of the chosen nodes, of the container that is open, or the top. */
export function workScope(editor) {
  const node = chosenNodes(editor)[0];
  return node ? scopeOf(node) : shownScope(editor);
}

/** The container one looks into, or the top. */
export const shownScope = (editor) => editor.canvas.scope ?? ROOT;
export const parentOf = (scope) => (scope === ROOT ? undefined : scope);

export const inScope = (editor, scope) => [...editor.model.nodes.values()].filter((node) => scopeOf(node) === scope);
export const edgesFrom = (editor, id) => [...editor.model.edges.values()].filter((edge) => edge.from === id);
export const edgesInto = (editor, id) => [...editor.model.edges.values()].filter((edge) => edge.to === id);

export function sortedByPlace(editor) {
  return [...editor.model.nodes.values()].filter((node) => !isNote(node)).sort((a, b) => a.x - b.x || a.y - b.y);
}

/** Everything behind (or before) the nodes, themselves included. */
export function reach(editor, ids, way) {
  const found = new Set(ids);
  const queue = [...ids];
  while (queue.length) {
    const id = queue.pop();
    const edges = way === "after" ? edgesFrom(editor, id) : edgesInto(editor, id);
    for (const edge of edges) {
      const next = way === "after" ? edge.to : edge.from;
      if (!found.has(next)) {
        found.add(next);
        queue.push(next);
      }
    }
  }
  return found;
}

/** Nodes that lie in another chosen one go with it; an operation names only the outermost. */
export function outermost(editor, ids) {
  const chosen = new Set(ids);
  return ids.filter((id) => {
    let scope = scopeOf(editor.model.nodes.get(id));
    while (scope !== ROOT) {
      if (chosen.has(scope)) return false;
      const box = editor.model.nodes.get(scope);
      if (!box) return true;
      scope = scopeOf(box);
    }
    return true;
  });
}

export function bounds(nodes) {
  const left = Math.min(...nodes.map((n) => n.x));
  const top = Math.min(...nodes.map((n) => n.y));
  const right = Math.max(...nodes.map((n) => n.x + n.w));
  const bottom = Math.max(...nodes.map((n) => n.y + n.h));
  return { x: left, y: top, w: right - left, h: bottom - top };
}

const LETTERS = "abcdefghijkmnpqrstuvwxyz23456789";

/** An id no other node has: readable, and fit for a reference like {{#llm_k3f9.text#}}. */
export function freshId(editor, kind) {
  const stem = kind.replaceAll(/[^a-z0-9]+/gi, "_").replaceAll(/^_+|_+$/g, "") || "node";
  for (;;) {
    const tail = [...crypto.getRandomValues(new Uint8Array(4))].map((n) => LETTERS[n % LETTERS.length]).join("");
    const id = `${stem}_${tail}`;
    if (!editor.model.nodes.has(id)) return id;
  }
}

/** What ways out are called: as the port on the card says, or in words. */
export function portName(editor, node, port) {
  const el = node.el.querySelector(`:scope > .wf-card [data-port="${CSS.escape(port)}"]`);
  return el?.dataset.label?.trim() || { source: t("done"), "fail-branch": t("on failure"), true: t("if"), false: t("else") }[port] || port;
}
