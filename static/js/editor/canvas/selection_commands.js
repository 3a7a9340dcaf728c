// Selects nodes and changes the selected ones: delete, rename, switch off, move by keys.

import { getSelectedEdges, getSelectedNodes, getOutgoingEdges, getNodesInScope, isNote, getNodeName, getOnlySelectedNode, filterOutermost, collectReachable, getWorkScope } from "../graph_queries.js";
import { renameNode } from "../titles.js";
import { t } from "../../common/translations.js";

const NUDGES = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const COARSE_STEP = 8;
const FINE_STEP = 1;

export function install(editor) {
  const hasSelectedNodes = (e) => getSelectedNodes(e).length > 0;
  const hasSelection = (e) => e.selection.size > 0;
  const hasSelectedNodesOnly = (e) => getSelectedNodes(e).some((node) => !isNote(node));
  const canToggle = (e) => getSelectedNodes(e).some((node) => !isNote(node) && canBeDisabled(e, node));

  editor.commands.add(
    { id: "select-all", label: t("Select all"), keys: "Mod+A", group: "select", menu: ["canvas"], run: (e) => select(e, getNodesInScope(e, getWorkScope(e)).map(({ id }) => id)) },
    { id: "select-none", label: t("Deselect all"), keys: "Mod+Shift+A", group: "select", when: hasSelection, run: (e) => select(e, []) },
    { id: "select-downstream", label: t("Select all after"), keys: "Shift+End", group: "select", menu: ["node"], when: hasSelectedNodesOnly, run: (e) => select(e, [...collectReachable(e, getSelectedNodes(e).map(({ id }) => id), "after")]) },
    { id: "select-upstream", label: t("Select all before"), keys: "Shift+Home", group: "select", menu: ["node"], when: hasSelectedNodesOnly, run: (e) => select(e, [...collectReachable(e, getSelectedNodes(e).map(({ id }) => id), "before")]) },
    { id: "select-invert", label: t("Invert selection"), keys: "Mod+I", group: "select", run: invertSelection },
    { id: "delete", label: t("Delete"), keys: ["Delete", "Backspace"], group: "edit", edits: true, menu: ["node", "edge"], when: hasSelection, words: t("remove"), run: (e) => remove(e, true) },
    { id: "delete-only", label: t("Delete without reconnecting"), keys: "Shift+Delete", group: "edit", edits: true, when: hasSelectedNodes, run: (e) => remove(e, false) },
    { id: "rename", label: t("Rename…"), keys: "F2", group: "edit", edits: true, menu: ["node"], when: (e) => Boolean(getOnlySelectedNode(e)) && !isNote(getOnlySelectedNode(e)), run: (e) => renameNode(e, getOnlySelectedNode(e)) },
    { id: "toggle-disabled", label: () => (areAllDisabled(editor) ? t("Enable") : t("Disable")), keys: "D", group: "edit", edits: true, menu: ["node"], words: t("disable enable bypass skip"), when: canToggle, run: toggleDisabled },
    ...Object.entries(NUDGES).flatMap(([key, by]) => [
      { id: `nudge-${key}`, label: t("Move 8 px"), keys: `Alt+${key}`, group: "move", edits: true, quiet: true, when: hasSelectedNodes, run: (e) => nudge(e, by, COARSE_STEP) },
      { id: `nudge-fine-${key}`, label: t("Move 1 px"), keys: `Alt+Shift+${key}`, group: "move", edits: true, quiet: true, when: hasSelectedNodes, run: (e) => nudge(e, by, FINE_STEP) },
    ]),
  );
}

function select(editor, ids) {
  editor.canvas.pick(ids);
  editor.say(ids.length ? t("{n} selected", { n: ids.length }) : t("No selection"));
}

function invertSelection(editor) {
  select(editor, getNodesInScope(editor, getWorkScope(editor)).filter(({ id }) => !editor.selection.has(id)).map(({ id }) => id));
}

/** Return the node that gets the focus after a deletion: the one before the deleted nodes, otherwise the one after them. */
function findNextFocus(editor, deleted) {
  for (const id of deleted) {
    const incoming = [...editor.model.edges.values()].find((edge) => edge.to === id && !deleted.has(edge.from));
    if (incoming) return incoming.from;
    const outgoing = getOutgoingEdges(editor, id).find((edge) => !deleted.has(edge.to));
    if (outgoing) return outgoing.to;
  }
  return null;
}

export async function remove(editor, heal) {
  const nodes = filterOutermost(editor, getSelectedNodes(editor).map(({ id }) => id));
  const edges = getSelectedEdges(editor).filter((edge) => !nodes.includes(edge.from) && !nodes.includes(edge.to));
  if (!nodes.length && !edges.length) return;
  const label = describeDeletion(editor, nodes, edges);
  const next = findNextFocus(editor, new Set(nodes)) ?? edges[0]?.from ?? null;
  const hadFocus = editor.root.querySelector("[data-canvas]").contains(document.activeElement);
  const ops = [
    ...nodes.map((id) => (heal && !isNote(editor.model.nodes.get(id)) ? { op: "delete", id, heal: true } : { op: "delete", id })),
    ...edges.map(({ id }) => ({ op: "disconnect", id })),
  ];
  const change = await editor.edits.send(ops, { label });
  if (!change) return;
  const reconnected = (change.ops ?? []).filter(({ op }) => op === "connect").length;
  editor.say(reconnected ? t("{what}. Neighbors reconnected.", { what: label }) : label);
  if (hadFocus && next && editor.model.nodes.has(next)) editor.canvas.focus(next);
}

function describeDeletion(editor, nodes, edges) {
  if (nodes.length === 1 && !edges.length) return t("Deleted {name}", { name: getNodeName(editor, nodes[0]) });
  if (nodes.length) return t("Deleted nodes: {n}", { n: nodes.length });
  if (edges.length > 1) return t("Deleted connections: {n}", { n: edges.length });
  return t("Disconnected {from} from {to}", { from: getNodeName(editor, edges[0].from), to: getNodeName(editor, edges[0].to) });
}

// The mark lies on the card, since the server swaps cards only.
const isDisabled = (node) => Boolean(node.el.querySelector(":scope > .is-disabled"));
const canBeDisabled = (_editor, node) => node.ins.length > 0;
const getToggleNodes = (editor) => getSelectedNodes(editor).filter((node) => !isNote(node) && canBeDisabled(editor, node));
const areAllDisabled = (editor) => getToggleNodes(editor).length > 0 && getToggleNodes(editor).every(isDisabled);

async function toggleDisabled(editor) {
  const nodes = getToggleNodes(editor);
  const isEnabling = areAllDisabled(editor);
  const ops = nodes
    .filter((node) => isDisabled(node) === isEnabling)
    .map((node) => (isEnabling ? { op: "set", id: node.id, path: ["disabled"], remove: true } : { op: "set", id: node.id, path: ["disabled"], value: true }));
  const name = nodes.map(({ id }) => getNodeName(editor, id)).join(", ");
  const label = isEnabling ? t("Enabled {name}", { name }) : t("Disabled {name}. Runs skip it.", { name });
  if (await editor.edits.send(ops, { label })) editor.say(label);
}

// A held key makes one operation with the final position, not one for each repetition.
let moving = null;

function nudge(editor, [dx, dy], step) {
  const ids = filterOutermost(editor, getSelectedNodes(editor).map(({ id }) => id));
  const key = ids.join();
  if (moving?.key !== key) sendMoves();
  moving ??= { key, editor, ids };
  for (const id of ids) {
    const node = editor.model.nodes.get(id);
    node.x += dx * step;
    node.y += dy * step;
    editor.model.place(node);
  }
  editor.model.reroute(ids);
  editor.canvas.scheduleUpdate();
  clearTimeout(moving.wait);
  moving.wait = setTimeout(sendMoves, 350);
}

function sendMoves() {
  if (!moving) return;
  const { editor, ids, wait } = moving;
  clearTimeout(wait);
  moving = null;
  const nodes = ids.map((id) => editor.model.nodes.get(id)).filter(Boolean);
  const label = nodes.length === 1 ? t("Moved {name}", { name: getNodeName(editor, nodes[0].id) }) : t("Moved nodes: {n}", { n: nodes.length });
  editor.edits.send(nodes.map(({ id, x, y }) => ({ op: "move", id, x, y })), { label }).then((change) => change && editor.say(label));
}
