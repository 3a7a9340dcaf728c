// References in a text are shown as pills with the title of the node and the name of the variable. A pill lies over the text of
// its reference in the layer behind the textarea, so that the text stays plain: it is stored, copied, undone and read as such.
// For the caret a pill is one character.

import { t } from "../common/translations.js";
import { SPECIAL } from "./variables.js";

const PILL = /\{\{#[^#{}\n]{1,200}#\}\}/g;
const VALID = /^(\w{1,50}|\$output)(\.[A-Za-z_]\w{0,29}){1,10}$/;

/** Return the pills of a text: {start, end, content}. */
export function findPills(text) {
  return [...text.matchAll(PILL)].map((match) => ({ start: match.index, end: match.index + match[0].length, content: match[0].slice(3, -3) }));
}

/** Return the mark of a reference, with the label that is shown over its text. The last one in a line may be wider than its text. */
export function createPill(text, variables, { isLastInLine = false } = {}) {
  const { title, name, family, state } = describeReference(text.slice(3, -3), variables);
  const mark = document.createElement("mark");
  mark.textContent = text;
  mark.className = `is-pill is-${state}`;
  mark.classList.toggle("is-last-in-line", isLastInLine);
  if (family) mark.dataset.family = family;
  const label = document.createElement("span"); // without text: positions in the layer are those of the textarea
  label.className = "pill-label";
  Object.assign(label.dataset, { title, name: title ? ` › ${name}` : name });
  mark.append(label);
  return mark;
}

/** Return how a reference is shown; `state` is literal for a text that is no reference. */
function describeReference(content, variables) {
  if (SPECIAL.has(content) || !VALID.test(content)) return { title: "", name: content, state: SPECIAL.has(content) ? "resolved" : "literal" };
  const selector = content.split(".");
  const match = variables.find(selector);
  const title = match?.source.title ?? variables.getTitle(selector[0]) ?? selector[0];
  return { title, name: selector.slice(1).join("."), family: match?.source.family, state: match ? "resolved" : "unknown" };
}

/** Return the variables of a text in words, for screen readers and as the field's tooltip. */
export function describePills(text, variables) {
  const lines = new Set();
  for (const { content } of findPills(text)) {
    const { title, name, state } = describeReference(content, variables);
    const label = title ? `${title} › ${name}` : name;
    if (state === "resolved") lines.add(label);
    if (state === "unknown") lines.add(t("{name} (not available here)", { name: label }));
  }
  return lines.size ? t("Variables: {names}", { names: [...lines].join(", ") }) : "";
}

/** Make the caret and the selection treat each pill as one character. */
export function installPillKeys(area) {
  area.addEventListener("keydown", (event) => !event.defaultPrevented && !event.isComposing && onKey(event, area));
  area.addEventListener("keyup", () => settle(area));
  area.addEventListener("pointerup", () => setTimeout(() => settle(area, { isPressed: true })));
}

function onKey(event, area) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const { selectionStart: start, selectionEnd: end } = area;
  const pills = findPills(area.value);
  const before = pills.find((pill) => pill.end === start);
  const after = pills.find((pill) => pill.start === end);
  if (start === end && event.key === "Backspace" && before) remove(event, area, before);
  else if (start === end && event.key === "Delete" && after) remove(event, area, after);
  else if (!event.shiftKey && start === end && event.key === "ArrowLeft" && before) moveCaret(event, area, before.start);
  else if (!event.shiftKey && start === end && event.key === "ArrowRight" && after) moveCaret(event, area, after.end);
}

function remove(event, area, pill) {
  event.preventDefault();
  if (area.readOnly) return;
  area.setSelectionRange(pill.start, pill.end);
  document.execCommand("delete"); // as if typed, so that native undo works
}

function moveCaret(event, area, position) {
  event.preventDefault();
  area.setSelectionRange(position, position);
}

/** Keep the ends of the selection out of pills; a pill that is pressed is selected as a whole. */
function settle(area, { isPressed = false } = {}) {
  const { selectionStart: start, selectionEnd: end, selectionDirection } = area;
  const pills = findPills(area.value);
  const around = (position) => pills.find((pill) => pill.start < position && position < pill.end);
  const [first, last] = [around(start), around(end)];
  if (!first && !last) return;
  if (start !== end || isPressed) return area.setSelectionRange(first?.start ?? start, last?.end ?? end, selectionDirection);
  const nearest = start - first.start < first.end - start ? first.start : first.end;
  return area.setSelectionRange(nearest, nearest);
}
