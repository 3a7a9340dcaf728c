// Keys: runs the command a key stands for, walks along edges, and goes from panel to panel.

import { t } from "./words.js";
import { only, outsOf, scopeOf, sortedByPlace } from "./graph.js";

const WAYS = { ArrowRight: "after", ArrowLeft: "before", ArrowUp: "above", ArrowDown: "below" };
const TYPING = "input, textarea, select, [contenteditable=''], [contenteditable='true'], [role='textbox']";
const LAYERS = "dialog, [role='dialog'], [popover], [role='menu'], [role='listbox'], details[data-dismiss][open], details[data-dismiss] > :not(summary)"; // Esc, arrows and letters are theirs
const OWN_KEYS = "[role='tablist'], [role='separator']";
const PRESSED = "button, a[href], summary"; // by Enter

export function install(editor) {
  let came = null; // the node the walk came from: up and down go through its other branches

  window.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing) return;
    const target = event.target instanceof Element ? event.target : document.body;
    const command = editor.commands.of(event);
    const layer = target.closest(LAYERS);
    if (layer?.id === "picker" && command?.anywhere && command.id !== "escape") layer.hidePopover();
    else if (layer || document.querySelector("dialog[open]")) return;
    if (command?.id === "open" && target.closest(PRESSED)) return;
    if (command && (command.anywhere || (!layer && isFree(target))) && editor.commands.can(command)) {
      if (target.closest(OWN_KEYS) && !command.anywhere) return;
      event.preventDefault();
      editor.commands.run(command.id);
    }
  });

  // Focus that came by keys or a screen reader chooses; the pointer has chosen already, or has just taken away.
  let byPointer = false;
  window.addEventListener("pointerdown", () => {
    byPointer = true;
    setTimeout(() => (byPointer = false));
  }, { capture: true });
  editor.canvas.root.addEventListener("focusin", ({ target }) => {
    if (target.localName === "wf-node" && !byPointer && !editor.selection.has(target.dataset.id)) editor.canvas.pick([target.dataset.id]);
  });

  function walk(way, add = false) {
    const from = focused(editor) ?? only(editor);
    const next = from ? step(editor, from, way, came) : first(editor);
    if (!next) return editor.say(t("Nothing further that way"));
    came = way === "after" || way === "before" ? from : came;
    goTo(editor, next.id, add);
  }

  const walking = Object.entries(WAYS).flatMap(([key, way]) => [
    { id: `walk-${way}`, label: label(way), keys: key, group: "walk", quiet: true, when: onCanvas, run: () => walk(way) },
    { id: `extend-${way}`, label: label(way), keys: `Shift+${key}`, group: "walk", quiet: true, hidden: true, when: onCanvas, run: () => walk(way, true) },
  ]);

  editor.commands.add(
    ...walking,
    { id: "walk-in", label: t("Into the container"), keys: "Mod+ArrowDown", group: "walk", quiet: true, when: onCanvas, run: () => into(editor) },
    { id: "walk-out", label: t("Out to the container"), keys: "Mod+ArrowUp", group: "walk", quiet: true, when: onCanvas, run: () => outOf(editor) },
    { id: "walk-first", label: t("To the first node"), keys: "Home", group: "walk", quiet: true, when: onCanvas, run: () => goTo(editor, first(editor)?.id) },
    { id: "walk-last", label: t("To the last node"), keys: "End", group: "walk", quiet: true, when: onCanvas, run: () => goTo(editor, sortedByPlace(editor).at(-1)?.id) },
    { id: "open", label: t("Open the settings"), keys: "Enter", group: "edit", menu: ["node"], lone: true, when: (e) => Boolean(chosen(e)), run: (e) => e.emit("open", { id: chosen(e).id, field: null, focus: true }) },
    { id: "next-panel", label: t("Next panel"), keys: "F6", group: "view", anywhere: true, quiet: true, run: () => nextPanel(editor, 1) },
    { id: "previous-panel", label: t("Previous panel"), keys: "Shift+F6", group: "view", anywhere: true, quiet: true, run: () => nextPanel(editor, -1) },
    { id: "escape", label: t("Back: close, deselect"), keys: "Escape", group: "view", anywhere: true, quiet: true, run: () => back(editor) },
    { id: "undo", label: t("Undo"), keys: "Mod+Z", group: "edit", edits: true, run: (e) => e.edits.undo() },
    { id: "redo", label: t("Redo"), keys: ["Mod+Shift+Z", "Mod+Y"], group: "edit", edits: true, run: (e) => e.edits.redo() },
  );
}

/** Single keys mean something where nothing is typed: on the canvas, in the outline, and when nothing has the focus. */
function isFree(target) {
  if (target.closest(TYPING)) return false;
  return target === document.body || target.id === "content" || Boolean(target.closest("[data-canvas], #outline, .ed-top"));
}

const label = (way) => ({ after: t("Along the edge"), before: t("Back along the edge"), above: t("Branch or node above"), below: t("Branch or node below") })[way];
const onCanvas = () => !document.activeElement?.closest("#outline, .ed-top");
const focused = (editor) => editor.model.nodes.get(document.activeElement?.closest("wf-node")?.dataset.id);
const chosen = (editor) => focused(editor) ?? only(editor);
const first = (editor) => sortedByPlace(editor)[0];

/** Focus a node and choose it; a screen reader hears its name from the focus itself. */
export function goTo(editor, id, add = false) {
  if (!id || !editor.model.nodes.has(id)) return;
  const chosenBefore = add ? [...editor.selection] : [];
  editor.canvas.focus(id);
  if (add) editor.canvas.pick([...new Set([...chosenBefore, id])]);
}

function step(editor, from, way, came) {
  const { model } = editor;
  const edges = [...model.edges.values()];
  if (way === "after") {
    const places = new Map(outsOf(from).map((port, at) => [port, at]));
    const out = edges.filter((edge) => edge.from === from.id).sort((a, b) => (places.get(a.fp) ?? 0) - (places.get(b.fp) ?? 0));
    return model.nodes.get(out[0]?.to);
  }
  if (way === "before") {
    const into = edges.filter((edge) => edge.to === from.id);
    return model.nodes.get((into.find((edge) => edge.from === came?.id) ?? into[0])?.from);
  }
  return beside(editor, from, way === "below" ? 1 : -1, came, edges);
}

/** Up and down: the branches beside this one, then whatever stands above or below. */
function beside(editor, from, sign, came, edges) {
  const { model } = editor;
  const branch = came ? edges.filter((edge) => edge.from === came.id).map((edge) => model.nodes.get(edge.to)).filter(Boolean) : [];
  const near = (nodes) =>
    nodes
      .filter((node) => node.id !== from.id && (node.y - from.y) * sign > 0)
      .sort((a, b) => (a.y - b.y) * sign || Math.abs(a.x - from.x) - Math.abs(b.x - from.x))[0];
  if (branch.some((node) => node.id === from.id)) {
    const next = near(branch);
    if (next) return next;
  }
  const level = [...model.nodes.values()].filter((node) => scopeOf(node) === scopeOf(from));
  return near(level.filter((node) => Math.abs(node.x - from.x) < Math.max(node.w, from.w))) ?? near(level);
}

function into(editor) {
  const box = chosen(editor);
  const inside = box && sortedByPlace(editor).find((node) => scopeOf(node) === box.id);
  if (!inside) return editor.say(t("This node holds no others"));
  goTo(editor, inside.id);
}

function outOf(editor) {
  const node = chosen(editor);
  const box = node && editor.model.nodes.get(scopeOf(node));
  if (box) goTo(editor, box.id);
  else editor.say(t("This is the outermost level"));
}

/** Esc goes back one layer: out of a panel onto the canvas, out of a container's own view, then no selection. */
function back(editor) {
  const active = document.activeElement;
  const panel = active?.closest("[data-place], .ed-top, [popover]");
  const node = only(editor);
  if (panel) {
    if (node && node.el.isConnected) return editor.canvas.focus(node.id);
    return editor.root.querySelector("[data-canvas]")?.focus();
  }
  if (editor.commands.run("leave-container")) return;
  if (editor.selection.size) {
    editor.canvas.pick([]);
    editor.say(t("Nothing selected"));
  }
}

function nextPanel(editor, by) {
  const stops = [...editor.root.querySelectorAll(".ed-top, .ed-left, [data-canvas], .ed-right, .ed-dock, .ed-bar")].filter(
    (part) => part.checkVisibility({ visibilityProperty: true }) && part.getClientRects().length,
  );
  const at = stops.findIndex((part) => part.contains(document.activeElement));
  const part = stops[(at + by + stops.length) % stops.length];
  landing(editor, part)?.focus();
}

function landing(editor, part) {
  if (part.matches("[data-canvas]")) return only(editor)?.el ?? part.querySelector("[tabindex='0']") ?? part;
  return part.querySelector("[role=tab][aria-selected=true], [aria-pressed=true], a[href], button:not([disabled])");
}
