// Small queries about the drawn graph that several features share. They read the model of the canvas and store nothing.

import { t } from "../common/translations.js";

export const ROOT = "root";
export const getScope = (node) => node.scope || ROOT;
export const isNote = (node) => Boolean(node.isNote);
/** Return the names of a node's output ports, from top to bottom. */
export const getOutputs = (node) => node.outs.map(({ name }) => name);
/** Return the palette entry of a kind, or nothing for a kind that the server does not know. */
export const findOffer = (editor, kind) => editor.kinds?.find(({ id }) => id === kind);
export const getKindName = (editor, kind) => findOffer(editor, kind)?.name ?? kind;

/** Return the name of a node as its card shows it. */
export function getNodeName(editor, id) {
  const node = editor.model.nodes.get(id);
  return node?.el.dataset.title || node?.el.getAttribute("aria-label") || id;
}

/** Replace the ids of nodes in an engine's message by their titles: "llm.text" becomes "Model › text". */
export function nameNodes(editor, message) {
  return message.replace(/(?<![\w.])(\w{1,50})\.(?=[A-Za-z_])/g, (all, id) => (editor.model.nodes.has(id) ? `${getNodeName(editor, id)} › ` : all));
}

export const getSelectedNodes = (editor) => [...editor.selection].map((id) => editor.model.nodes.get(id)).filter(Boolean);
export const getSelectedEdges = (editor) => [...editor.selection].map((id) => editor.model.edges.get(id)).filter(Boolean);

/** Return the selected node when exactly one is selected, otherwise null. */
export function getOnlySelectedNode(editor) {
  const nodes = getSelectedNodes(editor);
  return nodes.length === 1 ? nodes[0] : null;
}

/** Return the scope to work in: that of the selected nodes, otherwise the visible one. */
export function getWorkScope(editor) {
  const node = getSelectedNodes(editor)[0];
  return node ? getScope(node) : getVisibleScope(editor);
}

/** Return the container that fills the page, or the root. */
export const getVisibleScope = (editor) => editor.canvas.scope ?? ROOT;
export const getParent = (scope) => (scope === ROOT ? undefined : scope);

export const getNodesInScope = (editor, scope) => [...editor.model.nodes.values()].filter((node) => getScope(node) === scope);
export const getOutgoingEdges = (editor, id) => [...editor.model.edges.values()].filter((edge) => edge.from === id);
export const getIncomingEdges = (editor, id) => [...editor.model.edges.values()].filter((edge) => edge.to === id);

export function sortByPosition(editor) {
  return [...editor.model.nodes.values()].filter((node) => !isNote(node)).sort((a, b) => a.x - b.x || a.y - b.y);
}

/** Return everything after (or before) the nodes, including themselves. */
export function collectReachable(editor, ids, direction) {
  const reachable = new Set(ids);
  const queue = [...ids];
  while (queue.length) {
    const id = queue.pop();
    const edges = direction === "after" ? getOutgoingEdges(editor, id) : getIncomingEdges(editor, id);
    for (const edge of edges) {
      const next = direction === "after" ? edge.to : edge.from;
      if (!reachable.has(next)) {
        reachable.add(next);
        queue.push(next);
      }
    }
  }
  return reachable;
}

/** Leave out nodes that lie in another selected node, since they move with it. */
export function filterOutermost(editor, ids) {
  const selected = new Set(ids);
  return ids.filter((id) => {
    let scope = getScope(editor.model.nodes.get(id));
    while (scope !== ROOT) {
      if (selected.has(scope)) return false;
      const box = editor.model.nodes.get(scope);
      if (!box) return true;
      scope = getScope(box);
    }
    return true;
  });
}

export function computeBounds(nodes) {
  const minX = Math.min(...nodes.map((n) => n.x));
  const minY = Math.min(...nodes.map((n) => n.y));
  const maxX = Math.max(...nodes.map((n) => n.x + n.w));
  const maxY = Math.max(...nodes.map((n) => n.y + n.h));
  return { x: minX, y: minY, w: maxX - minX, h: maxY - minY };
}

const LETTERS = "abcdefghijkmnpqrstuvwxyz23456789";

/** Return an unused id that is readable and fits into a reference like {{#llm_k3f9.text#}}. */
export function createNodeId(editor, kind) {
  // Without its family: the id is part of each reference, and the room that a chip has in a text is that of its reference.
  const stem = kind.replace(/^memory-/, "").replaceAll(/[^a-z0-9]+/gi, "_").replaceAll(/^_+|_+$/g, "") || "node";
  for (;;) {
    const tail = [...crypto.getRandomValues(new Uint8Array(4))].map((n) => LETTERS[n % LETTERS.length]).join("");
    const id = `${stem}_${tail}`;
    if (!editor.model.nodes.has(id)) return id;
  }
}

/** Return the label of an output port as the card shows it. */
export function getPortName(editor, node, port) {
  const el = node.el.querySelector(`:scope > .wf-card [data-port="${CSS.escape(port)}"]`);
  return el?.dataset.label?.trim() || { source: t("Success"), "fail-branch": t("On failure"), true: t("If"), false: t("Else") }[port] || port;
}
