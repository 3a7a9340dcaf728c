// Several nodes, or an edge: what they are, and what can be done with them at once.

import { t } from "../editor/words.js";

// Commands worth a button, in this order; those that aren't there, or make no sense now, are left out.
const FOR_SEVERAL = ["copy", "duplicate", "align-left", "align-top", "distribute-x", "distribute-y", "tidy", "subflow", "delete"];

export function installOverview(inspector) {
  const { root, editor } = inspector;
  root.addEventListener("click", (event) => {
    const go = event.target.closest("[data-go]");
    if (go) {
      editor.canvas.pick([go.dataset.go]);
      editor.canvas.reveal(go.dataset.go);
    }
    const edge = inspector.panel?.dataset.edgeId;
    if (event.target.closest("[data-delete-edge]")) editor.edits.send([{ op: "disconnect", id: edge }], { label: t("Delete an edge") });
    if (event.target.closest("[data-insert-between]")) insertBetween(editor, edge);
    const command = event.target.closest("[data-run-command]");
    if (command) editor.commands.run(command.dataset.runCommand);
  });
}

export function setUpOverview(inspector) {
  const place = inspector.root.querySelector("[data-actions]");
  if (!place || inspector.panel.dataset.inspector !== "several") return;
  const { commands } = inspector.editor;
  const offered = FOR_SEVERAL.map((id) => commands.get(id)).filter((one) => one && commands.can(one));
  place.replaceChildren(
    ...offered.map((command) => {
      const button = document.createElement("button");
      button.type = "button";
      button.className = command.id === "delete" ? "button button-s button-bad" : "button button-s";
      button.textContent = commands.label(command);
      button.dataset.runCommand = command.id;
      return button;
    }),
  );
}

function insertBetween(editor, edge) {
  editor.canvas.pick([edge]);
  for (const id of ["insert-between", "insert", "add-after", "add"]) if (editor.commands.run(id, { edge })) return;
}
