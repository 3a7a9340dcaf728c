// The context menu of a node, an edge or the canvas: opened by the right button, a long press, or the menu key.

import { getSelectedEdges, getSelectedNodes, isNote } from "../graph_queries.js";
import { placeBox } from "../prompt.js";
import { Submenus, getItems, moveFocus } from "./submenus.js";
import { t } from "../../common/translations.js";

// Frequent commands have a row; related or rare ones are one level deeper. Commands without a place here go to the last of
// these levels, so that a new command need not change this table.
const SECTIONS = [
  ["open", "enter-container", "edit-note", "show-edge-data", "run-node", { name: () => t("Partial runs, breakpoints, pins"), of: ["run-until", "run-from", "toggle-breakpoint", "pin-node"] }],
  ["add-node", "add-note", "import-file", "paste", "add-after", "insert-here", { name: () => t("Connections"), of: ["insert-after", "connect", "disconnect"] }],
  ["rename", "copy", "duplicate", "tidy", { name: () => t("Align and distribute"), of: ["align-left", "align-center", "align-right", "align-top", "align-middle", "align-bottom", "distribute-x", "distribute-y"] }, { name: () => t("More"), of: null }],
  ["select-all", "find", "zoom-fit"],
  ["delete"],
];
const PLACED_COMMANDS = new Set(SECTIONS.flat().flatMap((row) => row.of ?? row));

export function install(editor) {
  const menu = document.getElementById("context-menu");
  const canvas = editor.root.querySelector("[data-canvas]");
  let detail = null;

  canvas.addEventListener("contextmenu", (event) => {
    if (event.target.closest("input, textarea, a")) return;
    event.preventDefault();
    if (event.pointerType === "touch" && editor.canvas.pointers.isHeld) return; // it opens when the finger is lifted
    const at = { x: event.clientX, y: event.clientY };
    if (event.button === 2 || event.pointerType) selectTarget(editor, at);
    detail = at;
    open(at);
  });
  editor.addEventListener("hold", ({ detail: at }) => {
    detail = at;
    setTimeout(() => open(at)); // after the event that closes open menus
  });
  menu.addEventListener("click", (event) => {
    const item = event.target.closest("[data-run]");
    if (!item) return;
    menu.hidePopover();
    editor.commands.run(item.dataset.run, item.dataset.place === "canvas" ? detail : undefined);
  });
  const submenus = new Submenus(menu);
  menu.addEventListener("keydown", (event) => submenus.key(event) || moveFocus(menu, event));

  function open(at) {
    fillMenu(editor, menu, getContexts(editor));
    if (!menu.firstElementChild) return;
    menu.showPopover();
    placeBox(menu, at);
    getItems(menu)[0].focus();
  }

  editor.openMenu = (element) => {
    const box = element.getBoundingClientRect();
    detail = null;
    open({ x: box.left + 16, y: box.bottom + 4 });
  };
  editor.commands.add({ id: "context-menu", label: t("Selection menu"), keys: ["ContextMenu", "Shift+F10"], group: "edit", quiet: true, run: (e) => e.openMenu(getFocusedElement(e)) });
}

const getFocusedElement = (editor) => {
  const active = document.activeElement;
  if (active?.closest("#outline [data-row]")) return active.closest("[data-row]");
  return getSelectedNodes(editor)[0]?.el ?? editor.root.querySelector("[data-canvas]");
};

/** Select what is under the pointer, unless it is part of the selection. */
function selectTarget(editor, at) {
  const { node, edge } = editor.canvas.at(at.x, at.y);
  const id = node?.id ?? edge?.id;
  if (!id) editor.canvas.pick([]);
  else if (!editor.selection.has(id)) editor.canvas.pick([id]);
}

function getContexts(editor) {
  const nodes = getSelectedNodes(editor);
  if (nodes.length > 1) return ["several"];
  if (nodes.length === 1) return isNote(nodes[0]) ? ["note", "edge"] : ["node"];
  return getSelectedEdges(editor).length ? ["edge"] : ["canvas"];
}

function fillMenu(editor, menu, contexts) {
  const isInContext = (command) => command.menu.some((name) => contexts.includes(name)) || (contexts.includes("several") && command.menu.includes("node") && !command.lone);
  const available = new Map(editor.commands.list().filter((command) => isInContext(command) && editor.commands.can(command)).map((command) => [command.id, command]));
  const rest = [...available.keys()].filter((id) => !PLACED_COMMANDS.has(id));
  const sections = SECTIONS.map((part) => part.flatMap((row) => createRows(editor, row, available, rest, contexts[0])));
  menu.replaceChildren(...sections.filter((rows) => rows.length).flatMap((rows, at) => (at ? [cloneTemplate("context-line"), ...rows] : rows)));
}

/** A level with a single row is replaced by that row. */
function createRows(editor, row, available, rest, context) {
  const ids = typeof row === "string" ? [row] : (row.of ?? rest);
  const rows = ids.filter((id) => available.has(id)).map((id) => createRow(editor, available.get(id), context));
  if (rows.length < 2) return rows;
  const submenu = cloneTemplate("context-more");
  submenu.querySelector("[data-name]").textContent = row.name();
  submenu.querySelector("[role=menu]").setAttribute("aria-label", row.name());
  submenu.querySelector("[role=menu]").append(...rows);
  return [submenu];
}

function createRow(editor, command, context) {
  const row = cloneTemplate("context-item");
  Object.assign(row.dataset, { run: command.id, place: context });
  row.querySelector("[data-name]").textContent = editor.commands.label(command);
  for (const keys of editor.commands.keysOf(command).slice(0, 1)) {
    const keyCap = cloneTemplate("key-cap");
    keyCap.textContent = keys;
    row.querySelector("[data-keys]").append(keyCap);
  }
  if (command.id === "delete") row.classList.add("is-bad");
  return row;
}

const cloneTemplate = (id) => document.getElementById(id).content.firstElementChild.cloneNode(true);
