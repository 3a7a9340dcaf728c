// Sticky notes and coloured groups: edited in place as Markdown and rendered by the server.

import { computeBounds, getSelectedNodes, createNodeId, isNote, getNodeName, getOnlySelectedNode, getParent, getScope, getVisibleScope } from "../graph_queries.js";
import { getVisibleMiddle, toScope } from "./add_nodes.js";
import { findFreePlace } from "./room.js";
import { t } from "../../common/translations.js";

const SIZE = { width: 240, height: 128 };
const PAD = 32;
const HEAD = 40; // space for the title of a group

export function install(editor) {
  const isNoteSelected = (e) => Boolean(getOnlySelectedNode(e)) && isNote(getOnlySelectedNode(e));
  editor.commands.add(
    { id: "add-note", label: t("Add note"), keys: "N", group: "add", edits: true, menu: ["canvas"], words: t("sticky comment"), run: addNote },
    { id: "group", label: t("Group nodes"), keys: "Mod+G", group: "edit", edits: true, menu: ["several", "node"], words: t("frame group color"), when: (e) => getSelectedNodes(e).some((node) => !isNote(node)), run: addGroup },
    { id: "edit-note", label: t("Edit note"), keys: "F2", group: "edit", edits: true, quiet: true, menu: ["note"], when: isNoteSelected, run: (e) => editNote(e, getOnlySelectedNode(e)) },
  );
  // F2 renames nodes and opens notes; opening a note means editing it.
  const rename = editor.commands.get("rename");
  if (!rename) return;
  editor.commands.add(
    { ...rename, when: (e) => Boolean(getOnlySelectedNode(e)), run: (e) => (isNote(getOnlySelectedNode(e)) ? editNote(e, getOnlySelectedNode(e)) : rename.run(e)) },
  );
  editor.addEventListener("open", ({ detail }) => {
    const node = editor.model.nodes.get(detail.id);
    if (node && isNote(node)) editNote(editor, node);
  });
}

async function addNote(editor, detail) {
  const scope = getVisibleScope(editor);
  const point = toScope(editor, scope, detail?.x === undefined ? getVisibleMiddle(editor) : detail);
  const position = findFreePlace(editor, scope, { x: point.x - SIZE.width / 2, y: point.y - SIZE.height / 2 }, { w: SIZE.width, h: SIZE.height });
  const note = { id: createNodeId(editor, "note"), ...position, ...SIZE, parent: getParent(scope), data: { text: "", theme: "yellow" } };
  const label = t("Added a note");
  if (!(await editor.edits.send([{ op: "note", note }], { label }))) return;
  editor.say(label);
  const node = editor.model.nodes.get(note.id);
  if (!node) return;
  editor.canvas.pick([note.id]);
  await editNote(editor, node);
}

/** Add a note with a frame that takes its content along when it is moved. */
async function addGroup(editor) {
  const nodes = getSelectedNodes(editor).filter((node) => !isNote(node));
  const box = computeBounds(nodes.filter((node) => getScope(node) === getScope(nodes[0])));
  const title = await editor.ask({ title: t("Group nodes"), label: t("Group name"), action: t("Group nodes"), around: getScreenBox(editor, nodes) });
  if (title === null) return;
  const note = {
    id: createNodeId(editor, "group"),
    x: Math.round(box.x - PAD),
    y: Math.round(box.y - PAD - HEAD),
    width: Math.round(box.w + 2 * PAD),
    height: Math.round(box.h + 2 * PAD + HEAD),
    parent: getParent(getScope(nodes[0])),
    data: { text: title.trim() ? `### ${title.trim()}` : "", title: title.trim(), theme: "blue", group: true },
  };
  const label = t("Grouped nodes: {n}", { n: nodes.length });
  if (await editor.edits.send([{ op: "note", note }], { label })) editor.say(label);
}

function getScreenBox({ canvas, model }, nodes) {
  const box = computeBounds(nodes.map((node) => model.box(node)));
  const [left, top] = canvas.toClient(box.x, box.y);
  const [right, bottom] = canvas.toClient(box.x + box.w, box.y + box.h);
  return { left, top, right, bottom };
}

/** Fetch the source text from the server, since the card shows only the rendering. */
async function editNote(editor, node) {
  const response = await fetch(`${editor.urls.note}?${new URLSearchParams({ id: node.id })}`);
  if (!response.ok) return editor.say(t("The note could not be loaded"));
  const stored = await response.json();
  const box = document.getElementById("note-edit");
  const form = box.querySelector("form");
  const field = form.elements.text;
  field.value = stored.text;
  form.elements.theme.value = stored.theme;
  box.dataset.theme = stored.theme;
  box.showPopover();
  positionEditor(box, node);
  field.focus();
  const controller = new AbortController();
  const { signal } = controller;
  const close = (save) => {
    controller.abort();
    box.hidePopover();
    if (save) send(editor, node, stored, { text: field.value, theme: form.elements.theme.value });
    if (editor.model.nodes.has(node.id)) editor.canvas.focus(node.id);
  };
  form.addEventListener("submit", (event) => (event.preventDefault(), close(true)), { signal });
  form.addEventListener("change", () => (box.dataset.theme = form.elements.theme.value), { signal });
  box.addEventListener("keydown", (event) => {
    if (event.key === "Escape" || (event.key === "Enter" && (event.ctrlKey || event.metaKey))) {
      event.preventDefault();
      event.stopPropagation();
      close(true);
    }
  }, { signal });
  // A click elsewhere saves the text.
  window.addEventListener("pointerdown", (event) => !box.contains(event.target) && close(true), { signal, capture: true });
}

/** Place the editor over the note, in a size large enough to write. */
function positionEditor(box, node) {
  const noteBox = node.el.getBoundingClientRect();
  const [w, h] = [document.documentElement.clientWidth, document.documentElement.clientHeight];
  const width = Math.min(Math.max(noteBox.width, 260), 480, w - 16);
  const height = Math.min(Math.max(noteBox.height, 160), 360, h - 16);
  Object.assign(box.style, { width: `${width}px`, height: `${height}px`, left: `${Math.max(8, Math.min(noteBox.left, w - width - 8))}px`, top: `${Math.max(8, Math.min(noteBox.top, h - height - 8))}px` });
}

function send(editor, node, previous, current) {
  const ops = Object.keys(current).filter((name) => current[name] !== previous[name]).map((name) => ({ op: "set", id: node.id, path: [name], value: current[name] }));
  if (!ops.length) return;
  const label = t("Changed {name}", { name: getNodeName(editor, node.id) });
  editor.edits.send(ops, { label, texts: ["text"] }).then((change) => change && editor.say(label));
}
