// An empty canvas says how to begin, and has what can be added at hand; with the first node that is over.

import { isNarrow } from "./panels.js";

export function install(editor) {
  const hint = editor.root.querySelector("[data-begin]");
  if (!hint) return;
  editor.addEventListener("change", () => (hint.hidden = editor.model.nodes.size > 1));
  if (!hint.hidden && !isNarrow() && !editor.panels.isClosed("left")) editor.panel("add");
}
