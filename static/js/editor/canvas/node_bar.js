// The bar at the foot of the canvas on a phone: opens, runs or deletes what is selected. Elsewhere the settings lie beside
// the canvas, and the style sheet hides the bar.

import { getOnlySelectedNode } from "../graph_queries.js";

export function install(editor) {
  const bar = editor.root.querySelector("#node-bar");
  if (!bar) return;
  const openButton = bar.querySelector("[data-open-selected]");
  const commandButtons = [...bar.querySelectorAll("[data-command]")];

  const update = () => {
    const node = getOnlySelectedNode(editor);
    openButton.hidden = !node;
    for (const button of commandButtons) button.hidden = !isAvailable(editor, button.dataset.command);
    bar.hidden = [openButton, ...commandButtons].every((button) => button.hidden);
  };

  openButton.addEventListener("click", () => {
    const node = getOnlySelectedNode(editor);
    if (node) editor.emit("open", { id: node.id });
  });
  editor.addEventListener("selection", update);
  update();
}

function isAvailable({ commands }, id) {
  const command = commands.get(id);
  return Boolean(command && commands.can(command));
}
