// Copy, cut, paste and duplicate as the workflow language's own text: it fits into other workflows, chats and issues.

import { chosenNodes, outermost, parentOf, scopeOf, shownScope } from "./graph.js";
import { middle, toScope } from "./adding.js";
import { remove } from "./select.js";
import { toast } from "./toasts.js";
import { t } from "./words.js";

const LOOKS_LIKE_NODES = /(^|\n)\s*["']?(nodes|workflow|kind|app|graph)["']?\s*:|^\s*\{[\s\S]*"(nodes|workflow|graph)"/;
const LONGEST = 5_000_000;
const SHIFT = 32;

export function install(editor) {
  const some = (e) => chosenNodes(e).length > 0;
  editor.commands.add(
    { id: "copy", label: t("Copy"), keys: "Mod+C", group: "edit", menu: ["node", "several"], when: (e) => some(e) && nothingMarked(), run: (e) => copy(e) },
    { id: "copy-yaml", label: t("Copy the selection as YAML"), group: "edit", menu: ["node", "several"], words: "yaml dsl text", when: some, run: (e) => copy(e, "yaml") },
    { id: "copy-json", label: t("Copy the selection as JSON"), group: "edit", words: "json dsl text", when: some, run: (e) => copy(e, "json") },
    { id: "cut", label: t("Cut"), keys: "Mod+X", group: "edit", edits: true, menu: ["node", "several"], when: (e) => some(e) && nothingMarked(), run: cut },
    { id: "paste", label: t("Paste"), shown: "Mod+V", group: "edit", edits: true, menu: ["canvas"], when: () => Boolean(navigator.clipboard?.readText), run: pasteFromMenu },
    { id: "duplicate", label: t("Duplicate"), keys: "Mod+D", group: "edit", edits: true, menu: ["node", "several"], when: some, run: duplicate },
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

/** Marked words on the page are what Ctrl+C copies, as everywhere. */
const nothingMarked = () => !String(document.getSelection() ?? "").trim();

async function fragment(editor, format) {
  const query = new URLSearchParams(chosenNodes(editor).map(({ id }) => ["id", id]));
  if (format === "json") query.set("format", "json");
  const answer = await fetch(`${editor.urls.copy}?${query}`);
  if (!answer.ok) throw new Error(String(answer.status));
  return answer.text();
}

async function copy(editor, format = "yaml", words = null) {
  const count = chosenNodes(editor).length;
  try {
    await write(() => fragment(editor, format));
  } catch {
    editor.say(t("Could not be copied"));
    return false;
  }
  editor.say(words ?? t("Copied as text: {n}", { n: count }));
  return true;
}

/** The text comes from the server; browsers want to be asked for the clipboard before that. */
async function write(text) {
  if (!navigator.clipboard) return writeThroughField(await text());
  if (!window.ClipboardItem) return navigator.clipboard.writeText(await text());
  const blob = text().then((words) => new Blob([words], { type: "text/plain" }));
  return navigator.clipboard.write([new ClipboardItem({ "text/plain": blob })]);
}

/** Without https there is no clipboard but the old way. */
function writeThroughField(text) {
  const field = document.createElement("textarea");
  field.value = text;
  field.className = "visually-hidden";
  document.body.append(field);
  const focused = document.activeElement;
  field.select();
  const done = document.execCommand("copy");
  field.remove();
  focused?.focus();
  if (!done) throw new Error("refused");
}

async function cut(editor) {
  const count = chosenNodes(editor).length;
  if (await copy(editor, "yaml", t("Cut: {n}", { n: count }))) await remove(editor, true);
}

async function pasteFromMenu(editor, detail) {
  try {
    await paste(editor, await navigator.clipboard.readText(), detail);
  } catch {
    editor.say(t("The browser keeps the clipboard to itself. Press Ctrl+V instead."));
  }
}

export async function paste(editor, text, at = null, words = null) {
  if (!text.trim()) return editor.say(t("The clipboard holds no text"));
  if (text.length > LONGEST) return editor.say(t("That is too much to paste"));
  if (!LOOKS_LIKE_NODES.test(text)) return editor.say(t("The clipboard holds no nodes: “{start}”", { start: text.trim().slice(0, 40) }));
  const scope = shownScope(editor);
  const place = toScope(editor, scope, at ?? middle(editor));
  return put(editor, text, place, scope, words);
}

async function put(editor, text, { x, y }, scope, words) {
  const op = { op: "paste", text, x: Math.round(x), y: Math.round(y) };
  if (parentOf(scope)) op.parent = parentOf(scope);
  const before = new Set(editor.model.nodes.keys());
  const change = await editor.edits.send([op], { label: words ?? t("Paste") });
  if (!change) return null;
  const added = [...editor.model.nodes.keys()].filter((id) => !before.has(id));
  const top = outermost(editor, added);
  // the keyboard goes on at what came: Ctrl+Z means this, not what was typed somewhere before
  if (top.length) editor.canvas.focus(top[0]);
  editor.canvas.pick(top);
  const said = words ?? t("Pasted: {n}", { n: top.length });
  const left = change.left_start ? t("Start was left out: the workflow has one") : "";
  editor.say([said, left].filter(Boolean).join(". "));
  if (left) toast(left); // for longer than what is said
  return change;
}

/** Beside where the originals stand, in their own container. */
async function duplicate(editor) {
  const nodes = chosenNodes(editor);
  const scope = scopeOf(nodes[0]);
  const place = { x: Math.min(...nodes.map((n) => n.x)) + SHIFT, y: Math.min(...nodes.map((n) => n.y)) + SHIFT };
  const text = await fragment(editor, "yaml");
  await put(editor, text, place, scope, t("Duplicated: {n}", { n: nodes.length }));
}
