// The icons of the commands in the command palette: of a command itself, otherwise of its group.

const OF_COMMAND = {
  "add-note": "note", "clear-breakpoints": "stop", "clear-run": "close", comment: "comment", connect: "link", continue: "run",
  copy: "copy", "copy-json": "code", "copy-yaml": "code", cut: "copy", delete: "forget", "delete-only": "forget", disconnect: "close",
  duplicate: "copy", "enter-container": "enter", "export-json": "download", "export-svg": "download", "export-yaml": "download",
  "first-steps": "steps", fold: "chevron", grid: "map", group: "marquee", history: "clock", "import-file": "upload", "insert-after": "plus",
  "leave-container": "enter", open: "edit", "pin-node": "pin", redo: "redo", "rename-workflow": "edit", rename: "edit", "show-log": "list",
  "show-memory": "memory", shortcuts: "info", "start-stepping": "skip", step: "skip", stop: "stop", tidy: "workflow", "toggle-breakpoint": "stop",
  "toggle-disabled": "skip", tour: "info", undo: "undo", "wrap-iteration": "iterate", "wrap-loop": "loop", "zoom-fit": "fit", "zoom-in": "zoom-in",
  "zoom-out": "zoom-out", "zoom-selection": "fit",
};
const OF_GROUP = { add: "plus", edit: "edit", select: "marquee", move: "panel-left", walk: "link", view: "panel-right", run: "run", find: "search" };
const SVG = "http://www.w3.org/2000/svg";

/** Return the icon of a command as an element. */
export function createCommandIcon(editor, { id, group }) {
  const icon = document.createElementNS(SVG, "svg");
  icon.setAttribute("class", "icon");
  icon.setAttribute("aria-hidden", "true");
  const use = icon.appendChild(document.createElementNS(SVG, "use"));
  use.setAttribute("href", `${editor.canvas.root.dataset.icons}#${OF_COMMAND[id] ?? OF_GROUP[group] ?? "more"}`);
  return icon;
}
