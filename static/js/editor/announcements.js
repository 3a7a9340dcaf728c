// Announces the selection, undo and redo, and changes by others to screen readers, and shows the same sentences for a
// moment at the foot of the canvas.

import { getSelectedNodes, getOutgoingEdges, getIncomingEdges, getNodeName } from "./graph_queries.js";
import { t } from "../common/translations.js";

const SELECTION_DELAY = 350;
const ANNOUNCEMENT_TIME = 2500; // ms before the selection may replace another announcement
const DISPLAY_TIME = 4000; // ms, and more for a text that takes longer to read
const READING_TIME = 90; // ms for each character
const BOTTOM_OFFSET = 12; // px above the zoom buttons
const TOP_OFFSET = 12; // px below the upper edge of the canvas
const PHONE = matchMedia("(max-width: 700px)");
const STATE_HEIGHT = 28; // of the state of a run below a card, in graph units

export function install(editor) {
  installVisibleMessages(editor);
  let timer;
  let lastAnnouncement = 0;
  const say = editor.say;
  // An action must not be talked over by the selection that it causes.
  editor.say = (text) => {
    clearTimeout(timer);
    lastAnnouncement = performance.now();
    say(text);
  };
  editor.addEventListener("selection", () => {
    clearTimeout(timer);
    timer = setTimeout(() => announceSelection(editor), Math.max(SELECTION_DELAY, lastAnnouncement + ANNOUNCEMENT_TIME - performance.now()));
  });
  // Not on "change": a page that was read anew in the meantime contains the step already, and then there is no such event.
  editor.edits.addEventListener("accepted", ({ detail: { kind, label: what = "" } }) => {
    const message = { undo: t("Undone: {what}", { what }), redo: t("Redone: {what}", { what }) }[kind];
    if (message) editor.say(message);
  });
  editor.addEventListener("change", ({ detail }) => {
    const isOwn = detail.client === editor.edits.client;
    const label = detail.label || "";
    if (!isOwn && detail.author?.name) editor.say(label ? t("{name}: {what}", { name: detail.author.name, what: label }) : t("{name} changed the draft", { name: detail.author.name }));
  });
}

/** Announce the selection: the focus already announces the name, so this adds the edges of a single node. */
function announceSelection(editor) {
  const nodes = getSelectedNodes(editor);
  if (nodes.length > 1) return editor.say(t("{n} selected", { n: nodes.length }));
  const edge = editor.model.edges.get([...editor.selection][0]);
  if (edge) return editor.say(t("Edge from {from} to {to}", { from: getNodeName(editor, edge.from), to: getNodeName(editor, edge.to) }));
  if (!nodes.length) return;
  const [before, after] = [getIncomingEdges(editor, nodes[0].id).length, getOutgoingEdges(editor, nodes[0].id).length];
  editor.hint(t("{name}. Incoming edges: {before}, outgoing edges: {after}", { name: getNodeName(editor, nodes[0].id), before, after }));
}

/** Let editor.say also show its text at the foot of the canvas; editor.hint speaks to screen readers only. */
function installVisibleMessages(editor) {
  const speak = editor.say.bind(editor);
  const element = document.getElementById("canvas-message");
  editor.hint = speak;
  if (!element) return;
  let timer;
  editor.say = (text) => {
    speak(text);
    clearTimeout(timer);
    element.textContent = text;
    element.hidden = !text;
    positionMessage(element, editor.canvas);
    timer = setTimeout(() => (element.hidden = true), Math.max(DISPLAY_TIME, text.length * READING_TIME));
  };
}

/**
 * Place the message where it covers neither a node nor the state below it: above the buttons of the canvas, or else at its
 * upper edge. It is never over the dock, which has fields of its own. On a phone the style sheet places it at the top.
 */
function positionMessage(element, canvas) {
  element.style.left = element.style.bottom = "";
  if (PHONE.matches) return;
  const area = canvas.root.getBoundingClientRect();
  const isVisible = area.width > 0;
  element.style.left = isVisible ? `${area.left + area.width / 2}px` : "";
  const { height } = element.getBoundingClientRect();
  const tools = canvas.root.querySelector(".wf-tools").getBoundingClientRect();
  const bottoms = [innerHeight - tools.top + BOTTOM_OFFSET, innerHeight - area.top - TOP_OFFSET - height];
  const place = (bottom) => (element.style.bottom = `${bottom}px`);
  if (!isVisible) element.style.bottom = "";
  else if (!bottoms.some((bottom) => (place(bottom), !coversNode(element, canvas)))) place(bottoms[0]);
}

function coversNode(element, canvas) {
  const { left, top, right, bottom } = element.getBoundingClientRect();
  const { model } = canvas;
  return [...model.nodes.values()].some((node) => {
    if (node.isNote || !canvas.hitTester.isShown(node.scope)) return false;
    const box = model.box(node);
    const [x0, y0] = canvas.toClient(box.x, box.y);
    const [x1, y1] = canvas.toClient(box.x + box.w, box.y + box.h + STATE_HEIGHT);
    return x0 < right && x1 > left && y0 < bottom && y1 > top;
  });
}
