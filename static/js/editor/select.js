// Choosing nodes, and what is done with whatever is chosen: delete, duplicate, rename, switch off, move by keys.

import { chosenEdges, chosenNodes, edgesFrom, inScope, isNote, nameOf, only, outermost, reach, workScope } from "./graph.js";
import { t } from "./words.js";

const NUDGES = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const FAR = 8;
const NEAR = 1;

export function install(editor) {
  const some = (e) => chosenNodes(e).length > 0;
  const anything = (e) => e.selection.size > 0;
  const nodesOnly = (e) => chosenNodes(e).some((node) => !isNote(node));
  const switchable = (e) => chosenNodes(e).some((node) => !isNote(node) && canBeOff(e, node));

  editor.commands.add(
    { id: "select-all", label: t("Select all"), keys: "Mod+A", group: "select", menu: ["canvas"], run: (e) => choose(e, inScope(e, workScope(e)).map(({ id }) => id)) },
    { id: "select-none", label: t("Select nothing"), keys: "Mod+Shift+A", group: "select", when: anything, run: (e) => choose(e, []) },
    { id: "select-downstream", label: t("Select everything after"), keys: "Shift+End", group: "select", menu: ["node"], when: nodesOnly, run: (e) => choose(e, [...reach(e, chosenNodes(e).map(({ id }) => id), "after")]) },
    { id: "select-upstream", label: t("Select everything before"), keys: "Shift+Home", group: "select", menu: ["node"], when: nodesOnly, run: (e) => choose(e, [...reach(e, chosenNodes(e).map(({ id }) => id), "before")]) },
    { id: "select-invert", label: t("Invert the selection"), keys: "Mod+I", group: "select", run: invert },
    { id: "delete", label: t("Delete"), keys: ["Delete", "Backspace"], group: "edit", edits: true, menu: ["node", "edge"], when: anything, words: t("remove"), run: (e) => remove(e, true) },
    { id: "delete-only", label: t("Delete without reconnecting"), keys: "Shift+Delete", group: "edit", edits: true, when: some, run: (e) => remove(e, false) },
    { id: "rename", label: t("Rename…"), keys: "F2", group: "edit", edits: true, menu: ["node"], when: (e) => Boolean(only(e)) && !isNote(only(e)), run: rename },
    { id: "toggle-disabled", label: () => (allOff(editor) ? t("Switch on") : t("Switch off")), keys: "D", group: "edit", edits: true, menu: ["node"], words: t("disable enable bypass skip"), when: switchable, run: toggle },
    ...Object.entries(NUDGES).flatMap(([key, by]) => [
      { id: `nudge-${key}`, label: t("Move by 8 px"), keys: `Alt+${key}`, group: "move", edits: true, quiet: true, when: some, run: (e) => nudge(e, by, FAR) },
      { id: `nudge-fine-${key}`, label: t("Move by 1 px"), keys: `Alt+Shift+${key}`, group: "move", edits: true, quiet: true, when: some, run: (e) => nudge(e, by, NEAR) },
    ]),
  );
}

function choose(editor, ids) {
  editor.canvas.pick(ids);
  editor.say(ids.length ? t("{n} selected", { n: ids.length }) : t("Nothing selected"));
}

function invert(editor) {
  choose(editor, inScope(editor, workScope(editor)).filter(({ id }) => !editor.selection.has(id)).map(({ id }) => id));
}

/** Who has the keyboard's focus next: what came before what is gone. */
function heir(editor, gone) {
  for (const id of gone) {
    const before = [...editor.model.edges.values()].find((edge) => edge.to === id && !gone.has(edge.from));
    if (before) return before.from;
    const after = edgesFrom(editor, id).find((edge) => !gone.has(edge.to));
    if (after) return after.to;
  }
  return null;
}

export async function remove(editor, heal) {
  const nodes = outermost(editor, chosenNodes(editor).map(({ id }) => id));
  const edges = chosenEdges(editor).filter((edge) => !nodes.includes(edge.from) && !nodes.includes(edge.to));
  if (!nodes.length && !edges.length) return;
  const words = said(editor, nodes, edges);
  const next = heir(editor, new Set(nodes)) ?? edges[0]?.from ?? null;
  const held = editor.root.querySelector("[data-canvas]").contains(document.activeElement);
  const ops = [
    ...nodes.map((id) => (heal && !isNote(editor.model.nodes.get(id)) ? { op: "delete", id, heal: true } : { op: "delete", id })),
    ...edges.map(({ id }) => ({ op: "disconnect", id })),
  ];
  const change = await editor.edits.send(ops, { label: words });
  if (!change) return;
  const joined = (change.ops ?? []).filter(({ op }) => op === "connect").length;
  editor.say(joined ? t("{what}. Neighbours reconnected.", { what: words }) : words);
  if (held && next && editor.model.nodes.has(next)) editor.canvas.focus(next);
}

function said(editor, nodes, edges) {
  if (nodes.length === 1 && !edges.length) return t("Deleted {name}", { name: nameOf(editor, nodes[0]) });
  if (nodes.length) return t("Deleted nodes: {n}", { n: nodes.length });
  if (edges.length > 1) return t("Deleted connections: {n}", { n: edges.length });
  return t("Disconnected {from} from {to}", { from: nameOf(editor, edges[0].from), to: nameOf(editor, edges[0].to) });
}

async function rename(editor) {
  const node = only(editor);
  const name = nameOf(editor, node.id);
  const given = await editor.ask({ title: t("Rename {name}", { name }), label: t("Name"), value: name, at: node.el });
  if (!given?.trim() || given.trim() === name) return;
  const words = t("Renamed {old} to {name}", { old: name, name: given.trim() });
  if (await editor.edits.send([{ op: "rename", id: node.id, title: given.trim() }], { label: words })) editor.say(words);
}

// the mark of the card, not of its root: the server swaps cards only
const isOff = (node) => Boolean(node.el.querySelector(":scope > .is-disabled"));
const canBeOff = (_editor, node) => node.ins.length > 0;
const switched = (editor) => chosenNodes(editor).filter((node) => !isNote(node) && canBeOff(editor, node));
const allOff = (editor) => switched(editor).length > 0 && switched(editor).every(isOff);

async function toggle(editor) {
  const nodes = switched(editor);
  const on = allOff(editor);
  const ops = nodes
    .filter((node) => isOff(node) === on)
    .map((node) => (on ? { op: "set", id: node.id, path: ["disabled"], remove: true } : { op: "set", id: node.id, path: ["disabled"], value: true }));
  const name = nodes.map(({ id }) => nameOf(editor, id)).join(", ");
  const words = on ? t("Switched on: {name}", { name }) : t("Switched off: {name}. Runs pass it by.", { name });
  if (await editor.edits.send(ops, { label: words })) editor.say(words);
}

// Held keys make one step: what is sent is where it ended, not every pixel.
let moving = null;

function nudge(editor, [dx, dy], by) {
  const ids = outermost(editor, chosenNodes(editor).map(({ id }) => id));
  const key = ids.join();
  if (moving?.key !== key) flush();
  moving ??= { key, editor, ids };
  for (const id of ids) {
    const node = editor.model.nodes.get(id);
    node.x += dx * by;
    node.y += dy * by;
    editor.model.place(node);
  }
  editor.model.reroute(ids);
  editor.canvas.changed();
  clearTimeout(moving.wait);
  moving.wait = setTimeout(flush, 350);
}

function flush() {
  if (!moving) return;
  const { editor, ids, wait } = moving;
  clearTimeout(wait);
  moving = null;
  const nodes = ids.map((id) => editor.model.nodes.get(id)).filter(Boolean);
  const words = nodes.length === 1 ? t("Moved {name}", { name: nameOf(editor, nodes[0].id) }) : t("Moved nodes: {n}", { n: nodes.length });
  editor.edits.send(nodes.map(({ id, x, y }) => ({ op: "move", id, x, y })), { label: words }).then((done) => done && editor.say(words));
}
