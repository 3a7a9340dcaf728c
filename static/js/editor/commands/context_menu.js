// The menu at a node, an edge or the canvas: by the right button, a long press, or the keyboard's menu key.

import { chosenEdges, chosenNodes, isNote } from "./graph.js";
import { place } from "./asking.js";
import { toGraph } from "./adding.js";
import { Submenus, itemsOf, walk } from "./submenus.js";
import { t } from "./words.js";

// What is wanted often is a row; what goes together, or is wanted rarely, is one level deeper. What isn't named here is
// the last such level's: a new command need not know this table.
const PARTS = [
  ["open", "enter-container", "edit-note", "show-edge-data", "run-node", { name: () => t("Run in part, pause, pin"), of: ["run-until", "run-from", "toggle-breakpoint", "pin-node"] }],
  ["add-node", "add-note", "import-file", "paste", "add-after", "insert-here", { name: () => t("Connections"), of: ["insert-after", "connect", "disconnect"] }],
  ["rename", "copy", "duplicate", "tidy", { name: () => t("Align and distribute"), of: ["align-left", "align-center", "align-right", "align-top", "align-middle", "align-bottom", "distribute-x", "distribute-y"] }, { name: () => t("More"), of: null }],
  ["select-all", "find", "zoom-fit"],
  ["delete"],
];
const NAMED = new Set(PARTS.flat().flatMap((row) => row.of ?? row));

export function install(editor) {
  const menu = document.getElementById("context-menu");
  const canvas = editor.root.querySelector("[data-canvas]");
  let detail = null;

  canvas.addEventListener("contextmenu", (event) => {
    if (event.target.closest("input, textarea, a")) return;
    event.preventDefault();
    const at = { x: event.clientX, y: event.clientY };
    if (event.button === 2 || event.pointerType) aim(editor, at);
    detail = at;
    open(at);
  });
  menu.addEventListener("click", (event) => {
    const item = event.target.closest("[data-run]");
    if (!item) return;
    menu.hidePopover();
    editor.commands.run(item.dataset.run, item.dataset.place === "canvas" ? detail : undefined);
  });
  const submenus = new Submenus(menu);
  menu.addEventListener("keydown", (event) => submenus.key(event) || walk(menu, event));

  function open(at) {
    fill(editor, menu, where(editor));
    if (!menu.firstElementChild) return;
    menu.showPopover();
    place(menu, at);
    itemsOf(menu)[0].focus();
  }

  editor.openMenu = (element) => {
    const box = element.getBoundingClientRect();
    detail = null;
    open({ x: box.left + 16, y: box.bottom + 4 });
  };
  editor.commands.add({ id: "context-menu", label: t("Menu of what is selected"), keys: ["ContextMenu", "Shift+F10"], group: "edit", quiet: true, run: (e) => e.openMenu(focusedThing(e)) });
}

const focusedThing = (editor) => {
  const active = document.activeElement;
  if (active?.closest("#outline [data-row]")) return active.closest("[data-row]");
  return chosenNodes(editor)[0]?.el ?? editor.root.querySelector("[data-canvas]");
};

/** What is under the pointer is chosen first, unless it is part of a selection. */
function aim(editor, at) {
  const hit = editor.canvas.hits.at(...toGraph(editor, at), { ports: false });
  const id = hit?.node?.id ?? hit?.edge?.id;
  if (!id) editor.canvas.pick([]);
  else if (!editor.selection.has(id)) editor.canvas.pick([id]);
}

function where(editor) {
  const nodes = chosenNodes(editor);
  if (nodes.length > 1) return ["several"];
  if (nodes.length === 1) return isNote(nodes[0]) ? ["note", "edge"] : ["node"];
  return chosenEdges(editor).length ? ["edge"] : ["canvas"];
}

function fill(editor, menu, places) {
  const fits = (command) => command.menu.some((name) => places.includes(name)) || (places.includes("several") && command.menu.includes("node") && !command.lone);
  const found = new Map(editor.commands.list().filter((command) => fits(command) && editor.commands.can(command)).map((command) => [command.id, command]));
  const rest = [...found.keys()].filter((id) => !NAMED.has(id));
  const made = PARTS.map((part) => part.flatMap((row) => rowsOf(editor, row, found, rest, places[0])));
  menu.replaceChildren(...made.filter((rows) => rows.length).flatMap((rows, at) => (at ? [copyOf("context-line"), ...rows] : rows)));
}

/** A level of one row is that row. */
function rowsOf(editor, row, found, rest, place_) {
  const ids = typeof row === "string" ? [row] : (row.of ?? rest);
  const rows = ids.filter((id) => found.has(id)).map((id) => rowOf(editor, found.get(id), place_));
  if (rows.length < 2) return rows;
  const deeper = copyOf("context-more");
  deeper.querySelector("[data-name]").textContent = row.name();
  deeper.querySelector("[role=menu]").setAttribute("aria-label", row.name());
  deeper.querySelector("[role=menu]").append(...rows);
  return [deeper];
}

function rowOf(editor, command, place_) {
  const row = copyOf("context-item");
  Object.assign(row.dataset, { run: command.id, place: place_ });
  row.querySelector("[data-name]").textContent = editor.commands.label(command);
  for (const keys of editor.commands.keysOf(command).slice(0, 1)) {
    const shown = copyOf("key-cap");
    shown.textContent = keys;
    row.querySelector("[data-keys]").append(shown);
  }
  if (command.id === "delete") row.classList.add("is-bad");
  return row;
}

const copyOf = (id) => document.getElementById(id).content.firstElementChild.cloneNode(true);
