// Sticky notes and coloured groups: written in place, as Markdown; what is shown is the server's rendering.

import { bounds, chosenNodes, freshId, isNote, nameOf, only, parentOf, scopeOf, shownScope } from "./graph.js";
import { freePlace, middle, toScope } from "./adding.js";
import { t } from "./words.js";

const SIZE = { width: 240, height: 128 };
const PAD = 32;
const HEAD = 40; // room for a group's title

export function install(editor) {
  const noteChosen = (e) => Boolean(only(e)) && isNote(only(e));
  editor.commands.add(
    { id: "add-note", label: t("Add a note"), keys: "N", group: "add", edits: true, menu: ["canvas"], words: t("sticky comment"), run: addNote },
    { id: "group", label: t("Put a frame around the selection"), keys: "Mod+G", group: "edit", edits: true, menu: ["several", "node"], words: t("group colour"), when: (e) => chosenNodes(e).some((node) => !isNote(node)), run: addGroup },
    { id: "edit-note", label: t("Edit the note"), keys: "F2", group: "edit", edits: true, quiet: true, menu: ["note"], when: noteChosen, run: (e) => edit(e, only(e)) },
  );
  // F2 renames nodes and opens notes: one key, whatever is chosen. Opening a note is writing in it.
  const rename = editor.commands.get("rename");
  if (!rename) return;
  editor.commands.add(
    { ...rename, when: (e) => Boolean(only(e)), run: (e) => (isNote(only(e)) ? edit(e, only(e)) : rename.run(e)) },
  );
  editor.addEventListener("open", ({ detail }) => {
    const node = editor.model.nodes.get(detail.id);
    if (node && isNote(node)) edit(editor, node);
  });
}

async function addNote(editor, detail) {
  const scope = shownScope(editor);
  const at = toScope(editor, scope, detail?.x === undefined ? middle(editor) : detail);
  const place = freePlace(editor, scope, { x: at.x - SIZE.width / 2, y: at.y - SIZE.height / 2 }, { w: SIZE.width, h: SIZE.height });
  const note = { id: freshId(editor, "note"), ...place, ...SIZE, parent: parentOf(scope), data: { text: "", theme: "yellow" } };
  const words = t("Added a note");
  if (!(await editor.edits.send([{ op: "note", note }], { label: words }))) return;
  editor.say(words);
  const node = editor.model.nodes.get(note.id);
  if (!node) return;
  editor.canvas.pick([note.id]);
  await edit(editor, node);
}

/** A note with a frame: moved, it takes along what lies in it. */
async function addGroup(editor) {
  const nodes = chosenNodes(editor).filter((node) => !isNote(node));
  const box = bounds(nodes.filter((node) => scopeOf(node) === scopeOf(nodes[0])));
  const title = await editor.ask({ title: t("Put a frame around the selection"), label: t("What is in it?"), at: nodes[0].el });
  if (title === null) return;
  const note = {
    id: freshId(editor, "group"),
    x: Math.round(box.x - PAD),
    y: Math.round(box.y - PAD - HEAD),
    width: Math.round(box.w + 2 * PAD),
    height: Math.round(box.h + 2 * PAD + HEAD),
    parent: parentOf(scopeOf(nodes[0])),
    data: { text: title.trim() ? `### ${title.trim()}` : "", title: title.trim(), theme: "blue", group: true },
  };
  const words = t("Framed nodes: {n}", { n: nodes.length });
  if (await editor.edits.send([{ op: "note", note }], { label: words })) editor.say(words);
}

/** The text as it was written comes from the server: the card shows what became of it. */
async function edit(editor, node) {
  const answer = await fetch(`${editor.urls.note}?${new URLSearchParams({ id: node.id })}`);
  if (!answer.ok) return editor.say(t("The note can't be read"));
  const kept = await answer.json();
  const box = document.getElementById("note-edit");
  const form = box.querySelector("form");
  const field = form.elements.text;
  field.value = kept.text;
  form.elements.theme.value = kept.theme;
  box.dataset.theme = kept.theme;
  box.showPopover();
  settle(box, node);
  field.focus();
  const stop = new AbortController();
  const { signal } = stop;
  const done = (save) => {
    stop.abort();
    box.hidePopover();
    if (save) send(editor, node, kept, { text: field.value, theme: form.elements.theme.value });
    if (editor.model.nodes.has(node.id)) editor.canvas.focus(node.id);
  };
  form.addEventListener("submit", (event) => (event.preventDefault(), done(true)), { signal });
  form.addEventListener("change", () => (box.dataset.theme = form.elements.theme.value), { signal });
  box.addEventListener("keydown", (event) => {
    if (event.key === "Escape" || (event.key === "Enter" && (event.ctrlKey || event.metaKey))) {
      event.preventDefault();
      event.stopPropagation();
      done(true);
    }
  }, { signal });
  // what is written is never lost to a click elsewhere
  window.addEventListener("pointerdown", (event) => !box.contains(event.target) && done(true), { signal, capture: true });
}

/** Over the note itself where it is large enough to write in. */
function settle(box, node) {
  const at = node.el.getBoundingClientRect();
  const [w, h] = [document.documentElement.clientWidth, document.documentElement.clientHeight];
  const width = Math.min(Math.max(at.width, 260), 480, w - 16);
  const height = Math.min(Math.max(at.height, 160), 360, h - 16);
  Object.assign(box.style, { width: `${width}px`, height: `${height}px`, left: `${Math.max(8, Math.min(at.left, w - width - 8))}px`, top: `${Math.max(8, Math.min(at.top, h - height - 8))}px` });
}

function send(editor, node, old, now) {
  const ops = Object.keys(now).filter((name) => now[name] !== old[name]).map((name) => ({ op: "set", id: node.id, path: [name], value: now[name] }));
  if (!ops.length) return;
  const words = t("Changed {name}", { name: nameOf(editor, node.id) });
  editor.edits.send(ops, { label: words, texts: ["text"] }).then((done) => done && editor.say(words));
}
