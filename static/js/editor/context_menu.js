// The menu at a node, an edge or the canvas: by the right button, a long press, or the keyboard's menu key.

import { chosenEdges, chosenNodes, isNote } from "./graph.js";
import { place } from "./asking.js";
import { toGraph } from "./adding.js";
import { t } from "./words.js";

const ORDER = ["run", "add", "edit", "move", "select", "view", "find", "other"];

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
  menu.addEventListener("keydown", (event) => walk(menu, event));

  function open(at, place_ = null) {
    fill(editor, menu, place_ ?? where(editor));
    if (!menu.firstElementChild) return;
    menu.showPopover();
    place(menu, at);
    menu.querySelector("[role=menuitem]").focus();
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
  const item = document.getElementById("context-item").content.firstElementChild;
  const line = document.getElementById("context-line").content.firstElementChild;
  const cap = document.getElementById("key-cap").content.firstElementChild;
  const fits = (command) => command.menu.some((name) => places.includes(name)) || (places.includes("several") && command.menu.includes("node") && !command.lone);
  const commands = editor.commands.list().filter((command) => fits(command) && editor.commands.can(command));
  const parts = ORDER.map((group) => commands.filter((command) => command.group === group)).filter((part) => part.length);
  const rest = commands.filter((command) => !ORDER.includes(command.group));
  if (rest.length) parts.push(rest);
  menu.replaceChildren();
  parts.forEach((part, at) => {
    if (at) menu.append(line.cloneNode(true));
    for (const command of part) {
      const made = item.cloneNode(true);
      made.dataset.run = command.id;
      made.dataset.place = places[0];
      made.querySelector("[data-name]").textContent = editor.commands.label(command);
      for (const keys of editor.commands.keysOf(command).slice(0, 1)) {
        const shown = cap.cloneNode(true);
        shown.textContent = keys;
        made.querySelector("[data-keys]").append(shown);
      }
      if (command.id.startsWith("delete")) made.classList.add("is-bad");
      menu.append(made);
    }
  });
}

function walk(menu, event) {
  const items = [...menu.querySelectorAll("[role=menuitem]")];
  const at = items.indexOf(document.activeElement);
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1 }[event.key];
  if (event.key === "Tab") {
    event.preventDefault();
    menu.hidePopover();
  } else if (to !== undefined) {
    event.preventDefault();
    items[(to + items.length) % items.length].focus();
  } else if (event.key.length === 1 && !event.ctrlKey && !event.metaKey) {
    const rest = [...items.slice(at + 1), ...items.slice(0, at + 1)];
    rest.find((item) => item.textContent.trim().toLowerCase().startsWith(event.key.toLowerCase()))?.focus();
  }
}
