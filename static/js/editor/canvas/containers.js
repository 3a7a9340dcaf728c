// Commands for containers: wrap the selection in an iteration or a loop, unpack a container, move nodes into and out of it,
// fold it, open it.

import { ROOT, computeBounds, getSelectedNodes, getOutgoingEdges, getIncomingEdges, createNodeId, getNodesInScope, isNote, getNodeName, findOffer, getOnlySelectedNode, filterOutermost, getParent, getScope, getVisibleScope } from "../graph_queries.js";
import { t } from "../../common/translations.js";

const PAD = 40;
const HEAD = 64;
const START = 96; // space for the start dot at the left

export function install(editor) {
  const isContainerSelected = (e) => Boolean(getOnlySelectedNode(e)?.isBox);
  editor.commands.add(
    { id: "wrap-iteration", label: t("Convert to iteration"), group: "edit", edits: true, menu: ["node", "several"], words: t("container subflow for each"), when: (e) => canWrap(e, "iteration"), run: (e) => wrapSelection(e, "iteration") },
    { id: "wrap-loop", label: t("Convert to loop"), group: "edit", edits: true, menu: ["node", "several"], words: t("container subflow repeat"), when: (e) => canWrap(e, "loop"), run: (e) => wrapSelection(e, "loop") },
    { id: "unpack", label: t("Unpack container"), keys: "Mod+Shift+G", group: "edit", edits: true, menu: ["node"], when: isContainerSelected, run: (e) => unpackContainer(e, getOnlySelectedNode(e)) },
    { id: "move-into", label: t("Move into container…"), group: "edit", edits: true, menu: ["node", "several"], when: (e) => findTargets(e).length > 0, run: moveInto },
    { id: "move-out", label: t("Move out of container"), group: "edit", edits: true, menu: ["node", "several"], when: (e) => getMovableNodes(e).some((node) => getScope(node) !== ROOT), run: moveOut },
    { id: "fold", label: () => (getOnlySelectedNode(editor)?.folded ? t("Expand") : t("Collapse")), keys: ".", group: "view", menu: ["node"], when: isContainerSelected, run: (e) => e.canvas.containers.fold(getOnlySelectedNode(e).id) },
    { id: "enter-container", label: t("Open container"), keys: ",", group: "view", menu: ["node"], when: isContainerSelected, run: (e) => e.canvas.containers.enter(getOnlySelectedNode(e).id) },
    { id: "leave-container", label: t("Exit container"), group: "view", quiet: true, when: (e) => getVisibleScope(e) !== ROOT, run: (e) => e.canvas.containers.enter(getParentScope(e)) },
  );
}

const getParentScope = (editor) => getScope(editor.model.nodes.get(getVisibleScope(editor)) ?? { scope: ROOT });
const canHoldNodes = (editor, kind) => Boolean(findOffer(editor, kind)?.holds);
const isMovable = (node) => !isNote(node) && node.ins.length > 0;

/** Return the selected nodes of one level that can lie in a container. */
function getMovableNodes(editor) {
  const ids = filterOutermost(editor, getSelectedNodes(editor).filter(isMovable).map(({ id }) => id));
  const nodes = ids.map((id) => editor.model.nodes.get(id));
  return nodes.filter((node) => getScope(node) === getScope(nodes[0]));
}

const canWrap = (editor, kind) => canHoldNodes(editor, kind) && getMovableNodes(editor).length > 0;

/**
 * Wrap the selected nodes: incoming edges lead to the container, the first nodes follow its start, and outgoing edges leave
 * from it.
 */
async function wrapSelection(editor, kind) {
  const nodes = getMovableNodes(editor);
  const ids = new Set(nodes.map(({ id }) => id));
  const scope = getScope(nodes[0]);
  const box = computeBounds(nodes);
  const id = createNodeId(editor, kind);
  const offer = findOffer(editor, kind);
  const start = `${id}start`; // as the server names the entry that it creates
  const into = nodes.flatMap((node) => getIncomingEdges(editor, node.id)).filter((edge) => !ids.has(edge.from));
  const out = nodes.flatMap((node) => getOutgoingEdges(editor, node.id)).filter((edge) => !ids.has(edge.to));
  const first = nodes.filter((node) => getIncomingEdges(editor, node.id).every((edge) => !ids.has(edge.from)));
  const node = {
    id,
    kind,
    title: offer.name,
    x: Math.round(box.x - START - PAD),
    y: Math.round(box.y - HEAD),
    width: Math.round(box.w + START + 2 * PAD),
    height: Math.round(box.h + HEAD + PAD),
    parent: getParent(scope),
  };
  const ops = [
    { op: "add", node },
    ...[...into, ...out].map((edge) => ({ op: "disconnect", id: edge.id })),
    ...nodes.map((inner) => ({ op: "reparent", id: inner.id, parent: id, x: Math.round(inner.x - node.x), y: Math.round(inner.y - node.y) })),
    ...deduplicate(into.map((edge) => ({ source: edge.from, handle: edge.fp, target: id }))).map((edge) => ({ op: "connect", edge })),
    ...deduplicate(out.map((edge) => ({ source: id, handle: "source", target: edge.to }))).map((edge) => ({ op: "connect", edge })),
    ...first.map((inner) => ({ op: "connect", edge: { source: start, handle: "source", target: inner.id } })),
  ];
  const label = t("Nodes moved into {name}: {n}", { n: nodes.length, name: offer.name });
  if (!(await editor.edits.send(ops, { label }))) return;
  editor.say(label);
  if (editor.model.nodes.has(id)) editor.canvas.focus(id);
}

const deduplicate = (edges) => [...new Map(edges.map((edge) => [Object.values(edge).join("\n"), edge])).values()];

/** Put the inner nodes where they are seen; the edges of the container lead to the first and from the last of them. */
async function unpackContainer(editor, box) {
  const inner = getNodesInScope(editor, box.id).filter((node) => !node.isEntry);
  const entries = getNodesInScope(editor, box.id).filter((node) => node.isEntry);
  const first = entries.flatMap((entry) => getOutgoingEdges(editor, entry.id)).map((edge) => edge.to);
  const last = inner.filter((node) => node.outs.length && !getOutgoingEdges(editor, node.id).length);
  const outer = getScope(box);
  const connections = deduplicate([
    ...getIncomingEdges(editor, box.id).flatMap((edge) => first.map((to) => ({ source: edge.from, handle: edge.fp, target: to }))),
    ...getOutgoingEdges(editor, box.id).flatMap((edge) => last.map((node) => ({ source: node.id, handle: node.outs[0].name, target: edge.to }))),
  ]);
  const ops = [
    ...inner.map((node) => ({ op: "reparent", id: node.id, parent: getParent(outer) ?? null, x: Math.round(node.x + box.x), y: Math.round(node.y + box.y) })),
    { op: "delete", id: box.id },
    ...connections.map((edge) => ({ op: "connect", edge })),
  ];
  const label = t("Unpacked {name}", { name: getNodeName(editor, box.id) });
  if (!(await editor.edits.send(ops, { label }))) return;
  editor.canvas.pick(inner.map(({ id }) => id));
  editor.say(label);
}

/** Return the containers into which the selected nodes can move. */
function findTargets(editor) {
  const nodes = getMovableNodes(editor);
  if (!nodes.length) return [];
  const selectedIds = new Set(nodes.map(({ id }) => id));
  const isInsideSelection = (box) => editor.model.ancestors(getScope(box)).some(({ id }) => selectedIds.has(id));
  return [...editor.model.nodes.values()].filter((box) => box.isBox && box.id !== getScope(nodes[0]) && !selectedIds.has(box.id) && !isInsideSelection(box));
}

async function moveInto(editor) {
  const choices = findTargets(editor);
  const id = choices.length === 1 ? choices[0].id : await editor.pickNode({ title: t("Into which container?"), nodes: choices, at: getMovableNodes(editor)[0].el });
  if (id) await moveToScope(editor, id, t("Moved into {name}", { name: getNodeName(editor, id) }));
}

async function moveOut(editor) {
  const box = editor.model.nodes.get(getScope(getMovableNodes(editor)[0]));
  await moveToScope(editor, getScope(box), t("Moved out of {name}", { name: getNodeName(editor, box.id) }));
}

/** Move nodes to a scope at their position on screen, or to its corner when the container is folded or elsewhere. */
async function moveToScope(editor, scope, label) {
  const nodes = getMovableNodes(editor);
  const [fromX, fromY] = editor.model.offset(getScope(nodes[0]));
  const [toX, toY] = editor.model.offset(scope);
  const box = computeBounds(nodes);
  const target = editor.model.nodes.get(scope);
  let [dx, dy] = [fromX - toX, fromY - toY];
  const fits = !target || (box.x + dx >= 0 && box.y + dy >= 0 && box.x + dx + box.w <= target.full.w && box.y + dy + box.h <= target.full.h);
  if (!fits) [dx, dy] = [START + PAD - box.x, HEAD - box.y];
  const ops = nodes.map((node) => ({ op: "reparent", id: node.id, parent: getParent(scope) ?? null, x: Math.round(node.x + dx), y: Math.round(node.y + dy) }));
  ops.push(...connectStart(editor, nodes, scope));
  if (await editor.edits.send(ops, { label })) editor.say(label);
}

/** Connect the first node in an empty container with its start, as when it is dropped there. */
function connectStart(editor, nodes, scope) {
  const [start, first] = editor.canvas.containers.findFirstNode(nodes, scope) ?? [];
  return start ? [{ op: "connect", edge: { source: start.id, handle: "source", target: first.id } }] : [];
}
