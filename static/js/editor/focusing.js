// Where the keyboard's focus is when nobody put it somewhere: on the canvas at first, on what an undo or a redo brought back.

import { isNarrow } from "./panels.js";

export function install(editor) {
  const { canvas } = editor;
  const isFree = () => document.activeElement === document.body || canvas.root.contains(document.activeElement);
  editor.addEventListener("change", ({ detail: { kind, client, ops = [] } }) => {
    if ((kind !== "undo" && kind !== "redo") || client !== editor.edits.client || !isFree()) return;
    const back = ops.filter(({ op }) => op === "add").map(({ node }) => node.id).filter((id) => canvas.model.nodes.has(id));
    if (!back.length) return;
    canvas.focus(back[0]);
    if (back.length > 1) canvas.pick(back);
  });
  // not before the page stands: it is no part of what makes it usable
  const begin = () => !isNarrow() && document.activeElement === document.body && canvas.takeFocus();
  requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(begin)));
}
