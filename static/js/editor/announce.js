// In words, for who doesn't see it: what is chosen, what undo undid, what somebody else did. And for who does: the same
// sentence, shortly, at the foot of the canvas.

import { chosenNodes, edgesFrom, edgesInto, nameOf } from "./graph.js";
import { t } from "./words.js";

const REST = 350;
const NEWS = 2500; // ms a sentence has for itself
const SHOWN_FOR = 4000;
const ABOVE = 64; // px: over the zoom's buttons

export function install(editor) {
  showWords(editor);
  let waiting;
  let lately = 0;
  const say = editor.say;
  // what was done is news, and mustn't be talked over by what is chosen because of it
  editor.say = (text) => {
    clearTimeout(waiting);
    lately = performance.now();
    say(text);
  };
  editor.addEventListener("selection", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => tell(editor), Math.max(REST, lately + NEWS - performance.now()));
  });
  editor.addEventListener("change", ({ detail }) => {
    const own = detail.client === editor.edits.client;
    const label = detail.label || "";
    const said = own && { undo: t("Undone: {what}", { what: label }), redo: t("Redone: {what}", { what: label }) }[detail.kind];
    if (said) editor.say(said);
    else if (!own && detail.author?.name) editor.say(label ? t("{name}: {what}", { name: detail.author.name, what: label }) : t("{name} changed the draft", { name: detail.author.name }));
  });
}

/** Focus alone says the name; its neighbours are what one can't see. */
function tell(editor) {
  const nodes = chosenNodes(editor);
  if (nodes.length > 1) return editor.say(t("{n} selected", { n: nodes.length }));
  const edge = editor.model.edges.get([...editor.selection][0]);
  if (edge) return editor.say(t("Edge from {from} to {to}", { from: nameOf(editor, edge.from), to: nameOf(editor, edge.to) }));
  if (!nodes.length) return;
  const [before, after] = [edgesInto(editor, nodes[0].id).length, edgesFrom(editor, nodes[0].id).length];
  editor.hint(t("{name}. Edges in: {before}, out: {after}", { name: nameOf(editor, nodes[0].id), before, after }));
}

/** editor.say for eyes too: quiet words at the foot; editor.hint: for the screen reader alone. */
function showWords(editor) {
  const heard = editor.say.bind(editor);
  const shown = document.getElementById("said");
  editor.hint = heard;
  if (!shown) return;
  let waiting;
  editor.say = (text) => {
    heard(text);
    clearTimeout(waiting);
    shown.textContent = text;
    shown.hidden = !text;
    stand(shown, editor.canvas.root.getBoundingClientRect());
    waiting = setTimeout(() => (shown.hidden = true), SHOWN_FOR);
  };
}

/** At the foot of the canvas, above its buttons; not over the dock, which has fields of its own. */
function stand(shown, canvas) {
  const isSeen = canvas.width > 0;
  shown.style.bottom = isSeen ? `${innerHeight - canvas.bottom + ABOVE}px` : "";
  shown.style.left = isSeen ? `${canvas.left + canvas.width / 2}px` : "";
}
