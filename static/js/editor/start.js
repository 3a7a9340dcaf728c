// The state of a page that was just opened: a hint on an empty canvas, and the focus.

import { isNarrow } from "./panels.js";

export function install(editor) {
  installHint(editor);
  installFocus(editor);
}

/** Show how to begin on an empty canvas and open the palette, until there is a first node. */
function installHint(editor) {
  const hint = editor.root.querySelector("[data-begin]");
  if (!hint) return;
  editor.addEventListener("change", () => (hint.hidden = editor.model.nodes.size > 1));
  if (!hint.hidden && !isNarrow() && !editor.panels.isClosed("left")) editor.panel("add");
}

/** Set the focus when nothing has it: on the canvas at first, and on nodes that undo or redo brought back. */
function installFocus(editor) {
  const { canvas } = editor;
  const isFocusFree = () => document.activeElement === document.body || canvas.root.contains(document.activeElement);
  editor.addEventListener("change", ({ detail: { kind, client, ops = [] } }) => {
    if ((kind !== "undo" && kind !== "redo") || client !== editor.edits.client || !isFocusFree()) return;
    const restored = ops.filter(({ op }) => op === "add").map(({ node }) => node.id).filter((id) => canvas.model.nodes.has(id));
    if (!restored.length) return;
    canvas.focus(restored[0]);
    if (restored.length > 1) canvas.pick(restored);
  });
  // Wait until the page is drawn, since the focus is not needed to use it.
  const focusCanvas = () => !isNarrow() && document.activeElement === document.body && canvas.takeFocus();
  requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(focusCanvas)));
}
