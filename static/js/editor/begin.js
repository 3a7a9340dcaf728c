// An empty canvas says how to begin, and has what can be added at hand; with the first node that is over.

const WIDE = "(min-width: 901px)"; // narrower, one thing is seen at a time

export function install(editor) {
  const hint = editor.root.querySelector("[data-begin]");
  if (!hint) return;
  editor.addEventListener("change", () => (hint.hidden = editor.model.nodes.size > 1));
  if (!hint.hidden && matchMedia(WIDE).matches && !editor.panels.isClosed("left")) editor.panel("add");
}
