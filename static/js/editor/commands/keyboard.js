// Runs commands by their keys, moves along edges, and switches between panels.

import { t } from "../../common/translations.js";
import { getOnlySelectedNode, getOutputs, getScope, sortByPosition } from "../graph_queries.js";

const DIRECTIONS = { ArrowRight: "after", ArrowLeft: "before", ArrowUp: "above", ArrowDown: "below" };
const TEXT_FIELDS = "input, textarea, select, [contenteditable=''], [contenteditable='true'], [role='textbox']";
const LAYERS = "dialog, [role='dialog'], [popover], [role='menu'], [role='listbox'], details[data-dismiss][open], details[data-dismiss] > :not(summary)"; // elements that handle Esc, arrows and letters themselves
const OWN_KEYS = "[role='tablist'], [role='separator']";
const ENTER_TARGETS = "button, a[href], summary"; // elements that Enter activates

export function install(editor) {
  let previousNode = null; // the previous node on the path; up and down move through its other branches

  window.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing) return;
    const target = event.target instanceof Element ? event.target : document.body;
    const command = editor.commands.of(event);
    const layer = target.closest(LAYERS);
    if (layer?.id === "picker" && command?.anywhere && command.id !== "escape") layer.hidePopover();
    else if (layer || document.querySelector("dialog[open]")) return;
    if (command?.id === "open" && target.closest(ENTER_TARGETS)) return;
    if (command && (command.anywhere || (!layer && acceptsShortcuts(target))) && editor.commands.can(command)) {
      if (target.closest(OWN_KEYS) && !command.anywhere) return;
      event.preventDefault();
      editor.commands.run(command.id);
    }
  });

  // Focus by keys or a screen reader selects a node; the pointer selects by itself.
  let byPointer = false;
  window.addEventListener("pointerdown", () => {
    byPointer = true;
    setTimeout(() => (byPointer = false));
  }, { capture: true });
  editor.canvas.root.addEventListener("focusin", ({ target }) => {
    if (target.localName === "wf-node" && !byPointer && !editor.selection.has(target.dataset.id)) editor.canvas.pick([target.dataset.id]);
  });

  function moveAlong(direction, add = false) {
    const from = getFocusedNode(editor) ?? getOnlySelectedNode(editor);
    const next = from ? findNext(editor, from, direction, previousNode) : getFirstNode(editor);
    if (!next) return editor.say(t("No more nodes in that direction"));
    previousNode = direction === "after" || direction === "before" ? from : previousNode;
    goTo(editor, next.id, add);
  }

  const moveCommands = Object.entries(DIRECTIONS).flatMap(([key, direction]) => [
    { id: `walk-${direction}`, label: getLabel(direction), keys: key, group: "walk", quiet: true, when: isCanvasActive, run: () => moveAlong(direction) },
    { id: `extend-${direction}`, label: getLabel(direction), keys: `Shift+${key}`, group: "walk", quiet: true, hidden: true, when: isCanvasActive, run: () => moveAlong(direction, true) },
  ]);

  editor.commands.add(
    ...moveCommands,
    { id: "walk-in", label: t("Enter container"), keys: "Mod+ArrowDown", group: "walk", quiet: true, when: isCanvasActive, run: () => enterContainer(editor) },
    { id: "walk-out", label: t("Exit container"), keys: "Mod+ArrowUp", group: "walk", quiet: true, when: isCanvasActive, run: () => leaveContainer(editor) },
    { id: "walk-first", label: t("First node"), keys: "Home", group: "walk", quiet: true, when: isCanvasActive, run: () => goTo(editor, getFirstNode(editor)?.id) },
    { id: "walk-last", label: t("Last node"), keys: "End", group: "walk", quiet: true, when: isCanvasActive, run: () => goTo(editor, sortByPosition(editor).at(-1)?.id) },
    { id: "open", label: t("Open settings"), keys: "Enter", group: "edit", menu: ["node"], lone: true, when: (e) => Boolean(getCurrentNode(e)), run: (e) => e.emit("open", { id: getCurrentNode(e).id, field: null, focus: true }) },
    { id: "next-panel", label: t("Next panel"), keys: "F6", group: "view", anywhere: true, quiet: true, run: () => focusPanel(editor, 1) },
    { id: "previous-panel", label: t("Previous panel"), keys: "Shift+F6", group: "view", anywhere: true, quiet: true, run: () => focusPanel(editor, -1) },
    { id: "escape", label: t("Close or deselect"), keys: "Escape", group: "view", anywhere: true, quiet: true, run: () => goBack(editor) },
    { id: "undo", label: t("Undo"), keys: "Mod+Z", group: "edit", edits: true, run: (e) => e.edits.undo() },
    { id: "redo", label: t("Redo"), keys: ["Mod+Shift+Z", "Mod+Y"], group: "edit", edits: true, run: (e) => e.edits.redo() },
  );
}

/** Return whether single keys act as shortcuts: on the canvas, in the outline, and when nothing has the focus. */
function acceptsShortcuts(target) {
  if (target.closest(TEXT_FIELDS)) return false;
  return target === document.body || target.id === "content" || Boolean(target.closest("[data-canvas], #outline, .ed-top"));
}

const getLabel = (direction) => ({ after: t("Next node"), before: t("Previous node"), above: t("Node above"), below: t("Node below") })[direction];
const isCanvasActive = () => !document.activeElement?.closest("#outline, .ed-top");
const getFocusedNode = (editor) => editor.model.nodes.get(document.activeElement?.closest("wf-node")?.dataset.id);
const getCurrentNode = (editor) => getFocusedNode(editor) ?? getOnlySelectedNode(editor);
const getFirstNode = (editor) => sortByPosition(editor)[0];

/** Focus and select a node; the focus makes a screen reader announce it. */
export function goTo(editor, id, add = false) {
  if (!id || !editor.model.nodes.has(id)) return;
  const previousIds = add ? [...editor.selection] : [];
  editor.canvas.focus(id);
  if (add) editor.canvas.pick([...new Set([...previousIds, id])]);
}

function findNext(editor, from, direction, previousNode) {
  const { model } = editor;
  const edges = [...model.edges.values()];
  if (direction === "after") {
    const order = new Map(getOutputs(from).map((port, index) => [port, index]));
    const out = edges.filter((edge) => edge.from === from.id).sort((a, b) => (order.get(a.fp) ?? 0) - (order.get(b.fp) ?? 0));
    return model.nodes.get(out[0]?.to);
  }
  if (direction === "before") {
    const enterContainer = edges.filter((edge) => edge.to === from.id);
    return model.nodes.get((enterContainer.find((edge) => edge.from === previousNode?.id) ?? enterContainer[0])?.from);
  }
  return findBeside(editor, from, direction === "below" ? 1 : -1, previousNode, edges);
}

/** Return the next branch above or below, otherwise the nearest node in that direction. */
function findBeside(editor, from, sign, previousNode, edges) {
  const { model } = editor;
  const branch = previousNode ? edges.filter((edge) => edge.from === previousNode.id).map((edge) => model.nodes.get(edge.to)).filter(Boolean) : [];
  const findNearest = (nodes) =>
    nodes
      .filter((node) => node.id !== from.id && (node.y - from.y) * sign > 0)
      .sort((a, b) => (a.y - b.y) * sign || Math.abs(a.x - from.x) - Math.abs(b.x - from.x))[0];
  if (branch.some((node) => node.id === from.id)) {
    const next = findNearest(branch);
    if (next) return next;
  }
  const level = [...model.nodes.values()].filter((node) => getScope(node) === getScope(from));
  return findNearest(level.filter((node) => Math.abs(node.x - from.x) < Math.max(node.w, from.w))) ?? findNearest(level);
}

function enterContainer(editor) {
  const box = getCurrentNode(editor);
  const inside = box && sortByPosition(editor).find((node) => getScope(node) === box.id);
  if (!inside) return editor.say(t("This node is not a container"));
  goTo(editor, inside.id);
}

function leaveContainer(editor) {
  const node = getCurrentNode(editor);
  const box = node && editor.model.nodes.get(getScope(node));
  if (box) goTo(editor, box.id);
  else editor.say(t("Already at the top level"));
}

/** Esc goes back one layer: from a panel to the canvas, out of an opened container, then it clears the selection. */
function goBack(editor) {
  const active = document.activeElement;
  const panel = active?.closest("[data-place], .ed-top, [popover]");
  const node = getOnlySelectedNode(editor);
  if (panel) {
    if (node && node.el.isConnected) return editor.canvas.focus(node.id);
    return editor.root.querySelector("[data-canvas]")?.focus();
  }
  if (editor.commands.run("leave-container")) return;
  if (editor.selection.size) {
    editor.canvas.pick([]);
    editor.hint(t("No selection")); // seen on the canvas
  }
}

function focusPanel(editor, step) {
  const stops = [...editor.root.querySelectorAll(".ed-top, .ed-left, [data-canvas], .ed-right, .ed-dock, .ed-bar")].filter(
    (part) => part.checkVisibility({ visibilityProperty: true }) && part.getClientRects().length,
  );
  const index = stops.findIndex((part) => part.contains(document.activeElement));
  const part = stops[(index + step + stops.length) % stops.length];
  findFocusTarget(editor, part)?.focus();
}

function findFocusTarget(editor, part) {
  if (part.matches("[data-canvas]")) return getOnlySelectedNode(editor)?.el ?? part.querySelector("[tabindex='0']") ?? part;
  return part.querySelector("[role=tab][aria-selected=true], [aria-pressed=true], a[href], button:not([disabled])");
}
