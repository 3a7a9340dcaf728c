// The outline beside the canvas: a tree with keyboard navigation that follows the draft and shares the selection with the
// canvas.

import { isNarrow } from "./panels.js";
import { t } from "../common/translations.js";

const REFRESH_DELAY = 250;

export function install(editor) {
  const root = document.getElementById("outline");
  if (!root) return;
  const panel = root.closest("[role=tabpanel]");
  let stale = root.dataset.outline === "later";
  let timer = 0;
  let request = null;

  const isShown = () => panel.checkVisibility();

  async function refresh() {
    if (!isShown()) {
      stale = true;
      return;
    }
    stale = false;
    request?.abort();
    request = new AbortController();
    try {
      const response = await fetch(`${editor.urls.outline}?fragment=1`, { signal: request.signal });
      if (response.ok) showList(await response.text());
    } catch (error) {
      if (error.name !== "AbortError") stale = true;
    }
  }

  /** Replace the list and keep the focus and the folded rows. */
  function showList(html) {
    const focusedId = root.contains(document.activeElement) ? document.activeElement.closest("[data-row]")?.dataset.row : null;
    const folded = [...root.querySelectorAll("[aria-expanded=false]")].map((item) => item.dataset.row);
    root.replaceChildren(document.createRange().createContextualFragment(html));
    enhanceTree(root);
    for (const id of folded) findRow(root, id)?.setAttribute("aria-expanded", "false");
    markSelection(editor, root);
    if (focusedId === null) return;
    const nextRow = findRow(root, focusedId) ?? findSelectedRow(editor, root) ?? root.querySelector("[role=treeitem]");
    if (nextRow) focusRow(root, nextRow);
  }

  enhanceTree(root);
  editor.addEventListener("change", () => {
    clearTimeout(timer);
    timer = setTimeout(refresh, REFRESH_DELAY);
  });
  editor.addEventListener("panel", () => stale && refresh());
  editor.addEventListener("layout", () => stale && refresh());
  editor.addEventListener("selection", () => markSelection(editor, root));
  root.addEventListener("click", (event) => onClick(editor, root, event));
  root.addEventListener("dblclick", (event) => {
    const row = event.target.closest("[data-row]");
    if (row) editor.emit("open", { id: row.dataset.row, field: null });
  });
  root.addEventListener("contextmenu", (event) => {
    const row = event.target.closest("[data-row]");
    if (!row) return;
    event.preventDefault();
    selectRow(editor, root, row);
    editor.openMenu(row.querySelector(".ol-row"));
  });
  root.addEventListener("keydown", (event) => onKey(editor, root, event));
  root.addEventListener("focusin", (event) => {
    const row = event.target.closest("[role=treeitem]");
    if (row && event.target === row && !editor.selection.has(row.dataset.row)) selectRow(editor, root, row);
  });
  if (stale && isShown()) refresh();
  goToRequestedNode(editor);
  editor.commands.add({
    id: "outline",
    label: t("Show outline"),
    keys: "Shift+O",
    group: "view",
    run: (e) => {
      e.panel("outline");
      const row = findSelectedRow(e, root) ?? root.querySelector("[role=treeitem]");
      if (row) focusRow(root, row);
    },
  });
}

/** Go to the node, and to the field in it, that ?node=…&field=… in the address name, once the editor is ready. */
function goToRequestedNode(editor) {
  const parameters = new URLSearchParams(location.search);
  const id = parameters.get("node");
  if (!id || !editor.model.nodes.has(id)) return;
  const goWhenReady = () => {
    if (editor.root.dataset.ready !== "yes") return requestAnimationFrame(goWhenReady);
    editor.canvas.focus(id);
    editor.emit("open", { id, field: parameters.get("field") || null });
  };
  goWhenReady();
}

const findRow = (root, id) => root.querySelector(`[data-row="${CSS.escape(id)}"]`);
const findSelectedRow = (editor, root) => [...editor.selection].map((id) => findRow(root, id)).find(Boolean);
const listVisibleRows = (root) => [...root.querySelectorAll("[role=treeitem]")].filter((row) => row.checkVisibility());

/** Turn the nested list of links into a tree with one tab stop. */
function enhanceTree(root) {
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

function markSelection(editor, root) {
  for (const row of root.querySelectorAll("[role=treeitem]")) {
    const isSelected = editor.selection.has(row.dataset.row);
    row.setAttribute("aria-selected", String(isSelected));
    row.querySelector(":scope > .ol-row").classList.toggle("is-selected", isSelected);
  }
  const row = findSelectedRow(editor, root);
  if (!row) return;
  setTabStop(root, row);
  if (!root.contains(document.activeElement)) row.querySelector(".ol-row").scrollIntoView({ block: "nearest" });
}

function setTabStop(root, row) {
  for (const other of root.querySelectorAll("[role=treeitem][tabindex='0']")) other.tabIndex = -1;
  row.tabIndex = 0;
}

function focusRow(root, row) {
  setTabStop(root, row);
  row.focus();
}

function selectRow(editor, root, row, add = false) {
  const id = row.dataset.row;
  if (add && editor.selection.has(id)) editor.canvas.pick([...editor.selection].filter((other) => other !== id));
  else editor.canvas.pick([id], add);
  setTabStop(root, row);
  if (editor.model.nodes.has(id) && editor.canvas.root.checkVisibility()) editor.canvas.reveal(id);
}

function onClick(editor, root, event) {
  const row = event.target.closest("[data-row]");
  if (!row || event.button) return;
  event.preventDefault();
  if (event.target.closest("[data-more]")) {
    selectRow(editor, root, row);
    return editor.openMenu(event.target.closest("[data-more]"));
  }
  const isAdding = event.ctrlKey || event.metaKey || event.shiftKey;
  selectRow(editor, root, row, isAdding);
  // On a narrow screen a touch opens the settings.
  if (!isAdding && isNarrow()) return editor.emit("open", { id: row.dataset.row, field: null });
  row.focus({ preventScroll: true });
}

function onKey(editor, root, event) {
  const row = event.target.closest("[role=treeitem]");
  if (!row || event.target !== row || event.altKey || event.ctrlKey || event.metaKey) return;
  const rows = listVisibleRows(root);
  const index = rows.indexOf(row);
  const inner = row.querySelector(":scope > [role=group]");
  const open = row.getAttribute("aria-expanded") === "true";
  const actions = {
    ArrowDown: () => rows[index + 1],
    ArrowUp: () => rows[index - 1],
    Home: () => rows[0],
    End: () => rows.at(-1),
    ArrowRight: () => (inner && !open ? row.setAttribute("aria-expanded", "true") : inner?.querySelector("[role=treeitem]")),
    ArrowLeft: () => (inner && open ? row.setAttribute("aria-expanded", "false") : row.parentElement.closest("[role=treeitem]")),
    Enter: () => editor.emit("open", { id: row.dataset.row, field: null, focus: true }),
    " ": () => selectRow(editor, root, row, true),
  };
  const action = actions[event.key];
  if (!action) return;
  event.preventDefault();
  const next = action();
  if (next instanceof Element) focusRow(root, next);
}
