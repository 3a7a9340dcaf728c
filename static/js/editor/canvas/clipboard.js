// Copies, cuts, pastes and duplicates nodes as text in the workflow language, which also fits into other workflows, chats
// and issues.

import { getSelectedNodes, filterOutermost, getParent, getScope, getVisibleScope } from "../graph_queries.js";
import { getVisibleMiddle, toScope } from "./add_nodes.js";
import { remove } from "./selection_commands.js";
import { showToast } from "../../common/toasts.js";
import { t } from "../../common/translations.js";

const LOOKS_LIKE_NODES = /(^|\n)\s*["']?(nodes|workflow|kind|app|graph)["']?\s*:|^\s*\{[\s\S]*"(nodes|workflow|graph)"/;
const MAX_LENGTH = 5_000_000;
const OFFSET = 32;

export function install(editor) {
  const hasSelectedNodes = (e) => getSelectedNodes(e).length > 0;
  editor.commands.add(
    { id: "copy", label: t("Copy"), keys: "Mod+C", group: "edit", menu: ["node", "several"], when: (e) => hasSelectedNodes(e) && isNoTextMarked(), run: (e) => copy(e) },
    { id: "copy-yaml", label: t("Copy as YAML"), group: "edit", menu: ["node", "several"], words: "yaml dsl text", when: hasSelectedNodes, run: (e) => copy(e, "yaml") },
    { id: "copy-json", label: t("Copy as JSON"), group: "edit", words: "json dsl text", when: hasSelectedNodes, run: (e) => copy(e, "json") },
    { id: "cut", label: t("Cut"), keys: "Mod+X", group: "edit", edits: true, menu: ["node", "several"], when: (e) => hasSelectedNodes(e) && isNoTextMarked(), run: cut },
    { id: "paste", label: t("Paste"), shown: "Mod+V", group: "edit", edits: true, menu: ["canvas"], when: () => Boolean(navigator.clipboard?.readText), run: pasteFromMenu },
    { id: "duplicate", label: t("Duplicate"), keys: "Mod+D", group: "edit", edits: true, menu: ["node", "several"], when: hasSelectedNodes, run: duplicate },
  );
  const canvas = editor.root.querySelector("[data-canvas]");
  let pointer = null;
  canvas.addEventListener("pointermove", (event) => (pointer = { x: event.clientX, y: event.clientY }), { passive: true });
  canvas.addEventListener("pointerleave", () => (pointer = null));
  document.addEventListener("paste", (event) => {
    if (!editor.canEdit || event.target.closest?.("input, textarea, select, [contenteditable], dialog, [popover]")) return;
    event.preventDefault();
    paste(editor, event.clipboardData.getData("text/plain"), pointer);
  });
}

/** Marked text on the page takes precedence for Ctrl+C. */
const isNoTextMarked = () => !String(document.getSelection() ?? "").trim();

async function fetchFragment(editor, format) {
  const query = new URLSearchParams(getSelectedNodes(editor).map(({ id }) => ["id", id]));
  if (format === "json") query.set("format", "json");
  const response = await fetch(`${editor.urls.copy}?${query}`);
  if (!response.ok) throw new Error(String(response.status));
  return response.text();
}

async function copy(editor, format = "yaml", label = null) {
  const count = getSelectedNodes(editor).length;
  try {
    await writeToClipboard(() => fetchFragment(editor, format));
  } catch {
    editor.say(t("Copy failed"));
    return false;
  }
  editor.say(label ?? t("Copied nodes: {n}", { n: count }));
  return true;
}

/** Write a text that the server provides; browsers need the call to the clipboard before the request. */
async function writeToClipboard(text) {
  if (!navigator.clipboard) return writeThroughField(await text());
  if (!window.ClipboardItem) return navigator.clipboard.writeText(await text());
  const blob = text().then((content) => new Blob([content], { type: "text/plain" }));
  return navigator.clipboard.write([new ClipboardItem({ "text/plain": blob })]);
}

/** Copy with the old command, since there is no clipboard API without https. */
function writeThroughField(text) {
  const field = document.createElement("textarea");
  field.value = text;
  field.className = "visually-hidden";
  document.body.append(field);
  const focused = document.activeElement;
  field.select();
  const isCopied = document.execCommand("copy");
  field.remove();
  focused?.focus();
  if (!isCopied) throw new Error("refused");
}

async function cut(editor) {
  const count = getSelectedNodes(editor).length;
  if (await copy(editor, "yaml", t("Cut nodes: {n}", { n: count }))) await remove(editor, true);
}

async function pasteFromMenu(editor, detail) {
  try {
    await paste(editor, await navigator.clipboard.readText(), detail);
  } catch {
    editor.say(t("The browser blocks clipboard access. Press Ctrl+V instead."));
  }
}

export async function paste(editor, text, at = null, label = null) {
  if (!text.trim()) return editor.say(t("No text in the clipboard"));
  if (text.length > MAX_LENGTH) return editor.say(t("Too large to paste"));
  if (!LOOKS_LIKE_NODES.test(text)) return editor.say(t("No nodes in the clipboard: “{start}”", { start: text.trim().slice(0, 40) }));
  const scope = getVisibleScope(editor);
  const position = toScope(editor, scope, at ?? getVisibleMiddle(editor));
  return insertFragment(editor, text, position, scope, label);
}

async function insertFragment(editor, text, { x, y }, scope, label) {
  const op = { op: "paste", text, x: Math.round(x), y: Math.round(y) };
  if (getParent(scope)) op.parent = getParent(scope);
  const previousIds = new Set(editor.model.nodes.keys());
  const change = await editor.edits.send([op], { label: label ?? t("Paste") });
  if (!change) return null;
  const added = [...editor.model.nodes.keys()].filter((id) => !previousIds.has(id));
  const top = filterOutermost(editor, added);
  // The focus moves to the pasted nodes, so that Ctrl+Z undoes the paste.
  if (top.length) editor.canvas.focus(top[0]);
  editor.canvas.pick(top);
  editor.canvas.revealAll(top);
  const message = label ?? t("Pasted nodes: {n}", { n: top.length });
  const note = change.left_start ? t("Start node skipped (only one allowed)") : "";
  if (note) showToast(`${message}. ${note}`); // visible longer than the announcement, and read aloud, too
  else editor.say(message);
  return change;
}

/** Duplicate the selected nodes next to the originals, in the same container. */
async function duplicate(editor) {
  const nodes = getSelectedNodes(editor);
  const scope = getScope(nodes[0]);
  const position = { x: Math.min(...nodes.map((n) => n.x)) + OFFSET, y: Math.min(...nodes.map((n) => n.y)) + OFFSET };
  const text = await fetchFragment(editor, "yaml").catch(() => null);
  if (text === null) return editor.say(t("Duplicating needs the server. Try again when you are online."));
  await insertFragment(editor, text, position, scope, t("Duplicated nodes: {n}", { n: nodes.length }));
}
