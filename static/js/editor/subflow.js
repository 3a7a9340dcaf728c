// Containers: a selection becomes an iteration or a loop, a container gives its nodes back; fold it, look inside it.

import { ROOT, bounds, chosenNodes, edgesFrom, edgesInto, freshId, inScope, isNote, nameOf, offerOf, only, outermost, parentOf, scopeOf, shownScope } from "./graph.js";
import { t } from "./words.js";

const PAD = 40;
const HEAD = 64;
const START = 96; // room for the dot at the left

export function install(editor) {
  const boxed = (e) => Boolean(only(e)?.isBox);
  editor.commands.add(
    { id: "wrap-iteration", label: t("Turn into an iteration"), group: "edit", edits: true, menu: ["node", "several"], words: t("container subflow for each"), when: (e) => canWrap(e, "iteration"), run: (e) => wrap(e, "iteration") },
    { id: "wrap-loop", label: t("Turn into a loop"), group: "edit", edits: true, menu: ["node", "several"], words: t("container subflow repeat"), when: (e) => canWrap(e, "loop"), run: (e) => wrap(e, "loop") },
    { id: "unpack", label: t("Unpack the container"), keys: "Mod+Shift+G", group: "edit", edits: true, menu: ["node"], when: boxed, run: (e) => unpack(e, only(e)) },
    { id: "move-into", label: t("Move into a container…"), group: "edit", edits: true, menu: ["node", "several"], when: (e) => targets(e).length > 0, run: moveInto },
    { id: "move-out", label: t("Move out of the container"), group: "edit", edits: true, menu: ["node", "several"], when: (e) => movers(e).some((node) => scopeOf(node) !== ROOT), run: moveOut },
    { id: "fold", label: () => (only(editor)?.folded ? t("Unfold") : t("Fold")), keys: ".", group: "view", menu: ["node"], when: boxed, run: (e) => e.canvas.containers.fold(only(e).id) },
    { id: "enter-container", label: t("Look inside"), keys: ",", group: "view", menu: ["node"], when: boxed, run: (e) => e.canvas.containers.enter(only(e).id) },
    { id: "leave-container", label: t("Out of the container"), group: "view", quiet: true, when: (e) => shownScope(e) !== ROOT, run: (e) => e.canvas.containers.enter(parentScope(e)) },
  );
}

const parentScope = (editor) => scopeOf(editor.model.nodes.get(shownScope(editor)) ?? { scope: ROOT });
const holds = (editor, kind) => Boolean(offerOf(editor, kind)?.holds);
const isMovable = (node) => !isNote(node) && node.ins.length > 0;

/** The chosen nodes that can lie in a container, of one level. */
function movers(editor) {
  const ids = outermost(editor, chosenNodes(editor).filter(isMovable).map(({ id }) => id));
  const nodes = ids.map((id) => editor.model.nodes.get(id));
  return nodes.filter((node) => scopeOf(node) === scopeOf(nodes[0]));
}

const canWrap = (editor, kind) => holds(editor, kind) && movers(editor).length > 0;

/** What leads in leads to the container; what is first inside follows its start; what leads out leads on from it. */
async function wrap(editor, kind) {
  const nodes = movers(editor);
  const ids = new Set(nodes.map(({ id }) => id));
  const scope = scopeOf(nodes[0]);
  const box = bounds(nodes);
  const id = freshId(editor, kind);
  const offer = offerOf(editor, kind);
  const start = `${id}start`; // as the server calls the entry it makes
  const into = nodes.flatMap((node) => edgesInto(editor, node.id)).filter((edge) => !ids.has(edge.from));
  const out = nodes.flatMap((node) => edgesFrom(editor, node.id)).filter((edge) => !ids.has(edge.to));
  const first = nodes.filter((node) => edgesInto(editor, node.id).every((edge) => !ids.has(edge.from)));
  const node = {
    id,
    kind,
    title: offer.name,
    x: Math.round(box.x - START - PAD),
    y: Math.round(box.y - HEAD),
    width: Math.round(box.w + START + 2 * PAD),
    height: Math.round(box.h + HEAD + PAD),
    parent: parentOf(scope),
  };
  const ops = [
    { op: "add", node },
    ...[...into, ...out].map((edge) => ({ op: "disconnect", id: edge.id })),
    ...nodes.map((each) => ({ op: "reparent", id: each.id, parent: id, x: Math.round(each.x - node.x), y: Math.round(each.y - node.y) })),
    ...unique(into.map((edge) => ({ source: edge.from, handle: edge.fp, target: id }))).map((edge) => ({ op: "connect", edge })),
    ...unique(out.map((edge) => ({ source: id, handle: "source", target: edge.to }))).map((edge) => ({ op: "connect", edge })),
    ...first.map((each) => ({ op: "connect", edge: { source: start, handle: "source", target: each.id } })),
  ];
  const words = t("Put into {name}: {n}", { n: nodes.length, name: offer.name });
  if (!(await editor.edits.send(ops, { label: words }))) return;
  editor.say(words);
  if (editor.model.nodes.has(id)) editor.canvas.focus(id);
}

const unique = (edges) => [...new Map(edges.map((edge) => [Object.values(edge).join("\n"), edge])).values()];

/** The inner nodes come out where they are seen; what led to the container leads to the first of them. */
async function unpack(editor, box) {
  const inner = inScope(editor, box.id).filter((node) => !node.isEntry);
  const entries = inScope(editor, box.id).filter((node) => node.isEntry);
  const first = entries.flatMap((entry) => edgesFrom(editor, entry.id)).map((edge) => edge.to);
  const last = inner.filter((node) => node.outs.length && !edgesFrom(editor, node.id).length);
  const outer = scopeOf(box);
  const joined = unique([
    ...edgesInto(editor, box.id).flatMap((edge) => first.map((to) => ({ source: edge.from, handle: edge.fp, target: to }))),
    ...edgesFrom(editor, box.id).flatMap((edge) => last.map((node) => ({ source: node.id, handle: node.outs[0].name, target: edge.to }))),
  ]);
  const ops = [
    ...inner.map((node) => ({ op: "reparent", id: node.id, parent: parentOf(outer) ?? null, x: Math.round(node.x + box.x), y: Math.round(node.y + box.y) })),
    { op: "delete", id: box.id },
    ...joined.map((edge) => ({ op: "connect", edge })),
  ];
  const words = t("Unpacked {name}", { name: nameOf(editor, box.id) });
  if (!(await editor.edits.send(ops, { label: words }))) return;
  editor.canvas.pick(inner.map(({ id }) => id));
  editor.say(words);
}

/** Containers beside or around the chosen nodes, other than the one they are in. */
function targets(editor) {
  const nodes = movers(editor);
  if (!nodes.length) return [];
  const inside = new Set(nodes.map(({ id }) => id));
  const within = (box) => editor.model.around(scopeOf(box)).some(({ id }) => inside.has(id));
  return [...editor.model.nodes.values()].filter((box) => box.isBox && box.id !== scopeOf(nodes[0]) && !inside.has(box.id) && !within(box));
}

async function moveInto(editor) {
  const choices = targets(editor);
  const id = choices.length === 1 ? choices[0].id : await editor.pickNode({ title: t("Into which container?"), nodes: choices, at: movers(editor)[0].el });
  if (id) await relocate(editor, id, t("Moved into {name}", { name: nameOf(editor, id) }));
}

async function moveOut(editor) {
  const box = editor.model.nodes.get(scopeOf(movers(editor)[0]));
  await relocate(editor, scopeOf(box), t("Moved out of {name}", { name: nameOf(editor, box.id) }));
}

/** Where they are seen now, in the other container's coordinates; a folded or far one gets them at its corner. */
async function relocate(editor, scope, words) {
  const nodes = movers(editor);
  const [fromX, fromY] = editor.model.offset(scopeOf(nodes[0]));
  const [toX, toY] = editor.model.offset(scope);
  const box = bounds(nodes);
  const target = editor.model.nodes.get(scope);
  let [dx, dy] = [fromX - toX, fromY - toY];
  const fits = !target || (box.x + dx >= 0 && box.y + dy >= 0 && box.x + dx + box.w <= target.full.w && box.y + dy + box.h <= target.full.h);
  if (!fits) [dx, dy] = [START + PAD - box.x, HEAD - box.y];
  const ops = nodes.map((node) => ({ op: "reparent", id: node.id, parent: parentOf(scope) ?? null, x: Math.round(node.x + dx), y: Math.round(node.y + dy) }));
  ops.push(...begun(editor, nodes, scope));
  if (await editor.edits.send(ops, { label: words })) editor.say(words);
}

/** As when they are dropped there: the first into an empty container follows its start. */
function begun(editor, nodes, scope) {
  const [start, first] = editor.canvas.containers.beginning(nodes, scope) ?? [];
  return start ? [{ op: "connect", edge: { source: start.id, handle: "source", target: first.id } }] : [];
}
