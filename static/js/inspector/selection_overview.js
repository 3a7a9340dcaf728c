// The panel for what has no form: several nodes or an edge with their commands, and a node whose form is being fetched.

import { findOffer, getNodeName } from "../editor/graph_queries.js";
import { t } from "../common/translations.js";

// Commands with a button, in this order; those that are missing or unavailable are left out.
const COMMAND_IDS = ["group", "copy", "duplicate", "align-left", "align-top", "distribute-x", "distribute-y", "tidy", "subflow", "delete"];

export function installOverview(inspector) {
  const { root, editor } = inspector;
  root.addEventListener("click", (event) => {
    const goButton = event.target.closest("[data-go]");
    if (goButton) {
      editor.canvas.pick([goButton.dataset.go]);
      editor.canvas.reveal(goButton.dataset.go);
    }
    const edge = inspector.panel?.dataset.edgeId;
    if (event.target.closest("[data-delete-edge]")) editor.edits.send([{ op: "disconnect", id: edge }], { label: t("Delete edge") });
    if (event.target.closest("[data-insert-between]")) insertBetween(editor, edge);
    const command = event.target.closest("[data-run-command]");
    if (command) editor.commands.run(command.dataset.runCommand);
  });
}

export function setUpOverview(inspector) {
  const container = inspector.root.querySelector("[data-actions]");
  if (!container || inspector.panel.dataset.inspector !== "several") return;
  const { commands } = inspector.editor;
  const available = COMMAND_IDS.map((id) => commands.get(id)).filter((command) => command && commands.can(command));
  container.replaceChildren(
    ...available.map((command) => {
      const button = document.createElement("button");
      button.type = "button";
      button.className = command.id === "delete" ? "button button-s button-bad" : "button button-s";
      button.textContent = commands.label(command);
      button.dataset.runCommand = command.id;
      return button;
    }),
  );
}

/** Return a picture of a form that is being fetched, below what the page knows of its node: the name, type and icon. */
export function createSkeleton(editor, node) {
  const skeleton = document.getElementById("inspector-skeleton").content.firstElementChild.cloneNode(true);
  const head = skeleton.querySelector(".insp-head");
  if (node) nameNode(editor, skeleton, head, node);
  else head.remove();
  return skeleton;
}

function nameNode(editor, skeleton, head, node) {
  const card = node.el.querySelector(".wf-card");
  const icon = card?.querySelector(".wf-icon");
  const name = icon?.className.match(/\bwf-i-([\w-]+)/)?.[1];
  head.dataset.family = skeleton.dataset.family = card?.className.match(/\bwf-(flow|model|logic|memory|data|unknown)\b/)?.[1] ?? "";
  if (name) head.querySelector("use").setAttribute("href", `${editor.canvas.root.dataset.icons}#${name}`);
  head.querySelector("[data-skeleton-title]").textContent = getNodeName(editor, node.id);
  head.querySelector("[data-skeleton-kind]").textContent = findOffer(editor, node.el.dataset.kind)?.name ?? icon?.title ?? "";
}

function insertBetween(editor, edge) {
  editor.canvas.pick([edge]);
  for (const id of ["insert-between", "insert", "add-after", "add"]) if (editor.commands.run(id, { edge })) return;
}
