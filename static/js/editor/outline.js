// The outline beside the canvas: a tree one walks by keys, kept as the draft is; what is chosen here is chosen there.

import { isNarrow } from "./panels.js";
import { t } from "./words.js";

const REST = 250;

export function install(editor) {
  const root = document.getElementById("outline");
  if (!root) return;
  const panel = root.closest("[role=tabpanel]");
  let stale = root.dataset.outline === "later";
  let waiting = 0;
  let asked = null;

  const isShown = () => panel.checkVisibility();

  async function refresh() {
    if (!isShown()) {
      stale = true;
      return;
    }
    stale = false;
    asked?.abort();
    asked = new AbortController();
    try {
      const answer = await fetch(`${editor.urls.outline}?fragment=1`, { signal: asked.signal });
      if (answer.ok) show(await answer.text());
    } catch (error) {
      if (error.name !== "AbortError") stale = true;
    }
  }

  /** Focus, and what was folded, outlive the new list. */
  function show(html) {
    const held = root.contains(document.activeElement) ? document.activeElement.closest("[data-row]")?.dataset.row : null;
    const folded = [...root.querySelectorAll("[aria-expanded=false]")].map((item) => item.dataset.row);
    root.replaceChildren(document.createRange().createContextualFragment(html));
    dress(root);
    for (const id of folded) rowOf(root, id)?.setAttribute("aria-expanded", "false");
    mark(editor, root);
    if (held === null) return;
    const heir = rowOf(root, held) ?? chosenRow(editor, root) ?? root.querySelector("[role=treeitem]");
    if (heir) land(root, heir);
  }

  dress(root);
  editor.addEventListener("change", () => {
    clearTimeout(waiting);
    waiting = setTimeout(refresh, REST);
  });
  editor.addEventListener("panel", () => stale && refresh());
  editor.addEventListener("layout", () => stale && refresh());
  editor.addEventListener("selection", () => mark(editor, root));
  root.addEventListener("click", (event) => click(editor, root, event));
  root.addEventListener("dblclick", (event) => {
    const row = event.target.closest("[data-row]");
    if (row) editor.emit("open", { id: row.dataset.row, field: null });
  });
  root.addEventListener("contextmenu", (event) => {
    const row = event.target.closest("[data-row]");
    if (!row) return;
    event.preventDefault();
    choose(editor, root, row);
    editor.openMenu(row.querySelector(".ol-row"));
  });
  root.addEventListener("keydown", (event) => key(editor, root, event));
  root.addEventListener("focusin", (event) => {
    const row = event.target.closest("[role=treeitem]");
    if (row && event.target === row && !editor.selection.has(row.dataset.row)) choose(editor, root, row);
  });
  if (stale && isShown()) refresh();
  goToAsked(editor);
  editor.commands.add({
    id: "outline",
    label: t("Show the outline"),
    keys: "Shift+O",
    group: "view",
    run: (e) => {
      e.panel("outline");
      const row = chosenRow(e, root) ?? root.querySelector("[role=treeitem]");
      if (row) land(root, row);
    },
  });
}

/** ?node=… in the address: a link from elsewhere leads to the node, once everything stands. */
function goToAsked(editor) {
  const id = new URLSearchParams(location.search).get("node");
  if (!id || !editor.model.nodes.has(id)) return;
  const look = () => {
    if (editor.root.dataset.ready !== "yes") return requestAnimationFrame(look);
    editor.canvas.focus(id);
    editor.emit("open", { id, field: null });
  };
  look();
}

const rowOf = (root, id) => root.querySelector(`[data-row="${CSS.escape(id)}"]`);
const chosenRow = (editor, root) => [...editor.selection].map((id) => rowOf(root, id)).find(Boolean);
const rowsOf = (root) => [...root.querySelectorAll("[role=treeitem]")].filter((row) => row.checkVisibility());

/** With JavaScript the nested list is a tree with one tab stop; without, a list of links. */
function dress(root) {
  const list = root.querySelector(".ol-tree");
  if (!list) return;
  list.setAttribute("role", "tree");
  list.setAttribute("aria-multiselectable", "true");
  const more = document.getElementById("outline-more")?.content.firstElementChild;
  for (const row of list.querySelectorAll("[data-row]")) {
    row.setAttribute("role", "treeitem");
    row.tabIndex = -1;
    const link = row.querySelector(":scope > .ol-row > .ol-link");
    link.tabIndex = -1;
    link.setAttribute("role", "presentation");
    row.setAttribute("aria-label", link.textContent.replaceAll(/\s+/g, " ").trim());
    const inner = row.querySelector(":scope > ul");
    if (inner) {
      inner.setAttribute("role", "group");
      row.setAttribute("aria-expanded", "true");
    }
    if (more) row.querySelector(":scope > .ol-row").append(more.cloneNode(true));
  }
  list.querySelector("[role=treeitem]").tabIndex = 0;
}

function mark(editor, root) {
  for (const row of root.querySelectorAll("[role=treeitem]")) {
    const chosen = editor.selection.has(row.dataset.row);
    row.setAttribute("aria-selected", String(chosen));
    row.querySelector(":scope > .ol-row").classList.toggle("is-chosen", chosen);
  }
  const row = chosenRow(editor, root);
  if (!row) return;
  roving(root, row);
  if (!root.contains(document.activeElement)) row.querySelector(".ol-row").scrollIntoView({ block: "nearest" });
}

function roving(root, row) {
  for (const other of root.querySelectorAll("[role=treeitem][tabindex='0']")) other.tabIndex = -1;
  row.tabIndex = 0;
}

function land(root, row) {
  roving(root, row);
  row.focus();
}

function choose(editor, root, row, add = false) {
  const id = row.dataset.row;
  if (add && editor.selection.has(id)) editor.canvas.pick([...editor.selection].filter((other) => other !== id));
  else editor.canvas.pick([id], add);
  roving(root, row);
  if (editor.model.nodes.has(id) && editor.canvas.root.checkVisibility()) editor.canvas.reveal(id);
}

function click(editor, root, event) {
  const row = event.target.closest("[data-row]");
  if (!row || event.button) return;
  event.preventDefault();
  if (event.target.closest("[data-more]")) {
    choose(editor, root, row);
    return editor.openMenu(event.target.closest("[data-more]"));
  }
  const adds = event.ctrlKey || event.metaKey || event.shiftKey;
  choose(editor, root, row, adds);
  // where one thing is seen at a time, a touch leads on to the settings
  if (!adds && isNarrow()) return editor.emit("open", { id: row.dataset.row, field: null });
  row.focus({ preventScroll: true });
}

function key(editor, root, event) {
  const row = event.target.closest("[role=treeitem]");
  if (!row || event.target !== row || event.altKey || event.ctrlKey || event.metaKey) return;
  const rows = rowsOf(root);
  const at = rows.indexOf(row);
  const inner = row.querySelector(":scope > [role=group]");
  const open = row.getAttribute("aria-expanded") === "true";
  const acts = {
    ArrowDown: () => rows[at + 1],
    ArrowUp: () => rows[at - 1],
    Home: () => rows[0],
    End: () => rows.at(-1),
    ArrowRight: () => (inner && !open ? row.setAttribute("aria-expanded", "true") : inner?.querySelector("[role=treeitem]")),
    ArrowLeft: () => (inner && open ? row.setAttribute("aria-expanded", "false") : row.parentElement.closest("[role=treeitem]")),
    Enter: () => editor.emit("open", { id: row.dataset.row, field: null, focus: true }),
    " ": () => choose(editor, root, row, true),
  };
  const act = acts[event.key];
  if (!act) return;
  event.preventDefault();
  const next = act();
  if (next instanceof Element) land(root, next);
}
