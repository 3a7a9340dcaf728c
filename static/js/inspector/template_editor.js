// Texts with references: shown as pills in a layer behind the text and completed after "/", "{{" and "{{#". The text stays in
// a native textarea, so that undo, spelling and input methods work as usual.

import { getPath } from "./controls.js";
import { VariableList, pickVariable } from "./variable_picker.js";
import { tokenize } from "./highlighting.js";
import { createPill, describePills, findPills, installPillKeys } from "./pills.js";
import { buildReference } from "./variables.js";

const OPEN_REFERENCE = /\{\{#?([\w.]*)$/;
// A slash opens the list at the start of a text or line and after a space, a CJK character or their punctuation, not in "and/or".
const SLASH = /(?<=^|[\s\p{Script=Han}，。；：！？、（])\/([^\s/]{0,30})$/u;

export function enhance(part, inspector) {
  for (const box of queryAll(part, "[data-writing]")) setUp(box, inspector);
  for (const box of queryAll(part, "[data-grow]")) installGrowing(box);
  for (const input of queryAll(part, "[data-completes]")) new Completion(input, inspector);
}

/** Highlight all texts again, since the available variables may have changed. */
export function repaint(root, variables) {
  for (const box of root.querySelectorAll("[data-writing]")) paint(box, variables);
}

function setUp(box, inspector) {
  const area = box.querySelector("textarea");
  const draw = () => paint(box, inspector.variables);
  area.addEventListener("input", draw);
  area.addEventListener("shown", draw);
  if (box.dataset.writing === "template") {
    new Completion(area, inspector, { hasSlash: true });
    acceptDrops(area);
    installPillKeys(area);
    area.addEventListener("keydown", (event) => event.key === "Enter" && replaceSelectedPill(event, area, inspector));
    describeBy(area, box.querySelector("[data-pill-words]"));
  }
  box.querySelector("[data-insert-variable]")?.addEventListener("click", (event) => insertFromList(event.currentTarget, area, inspector));
  draw();
}

function installGrowing(box) {
  const area = box.querySelector("textarea");
  const draw = () => (box.querySelector("pre").textContent = `${area.value}\n`);
  area.addEventListener("input", draw);
  area.addEventListener("shown", draw);
  draw();
}

function paint(box, variables) {
  const area = box.querySelector("textarea");
  const pieces = tokenize(area.value, box.dataset.writing).map(([text, kind], index, all) => {
    if (!kind) return text;
    if (kind === "reference") return createPill(text, variables, { isLastInLine: (all[index + 1]?.[0] ?? "\n").startsWith("\n") });
    const mark = document.createElement("mark");
    mark.textContent = text;
    mark.className = `is-${kind}`;
    return mark;
  });
  box.querySelector("pre").replaceChildren(...pieces, "\n");
  area.classList.toggle("has-unknown", box.querySelector("mark.is-unknown") !== null);
  const words = box.querySelector("[data-pill-words]");
  if (!words) return;
  words.textContent = describePills(area.value, variables);
  area.title = words.textContent;
}

/** Let screen readers read the variables of the text after its other descriptions. */
function describeBy(area, words) {
  if (!words) return;
  words.id = `pills-${++serial}`;
  area.setAttribute("aria-describedby", [area.getAttribute("aria-describedby"), words.id].filter(Boolean).join(" "));
}

let serial = 0;

/** Enter on a selected pill opens the list to replace it. */
function replaceSelectedPill(event, area, inspector) {
  const { selectionStart: start, selectionEnd: end } = area;
  if (event.defaultPrevented || event.isComposing || area.readOnly || !findPills(area.value).some((pill) => pill.start === start && pill.end === end)) return;
  event.preventDefault();
  event.stopPropagation();
  insertFromList(area, area, inspector);
}

/** Insert a text as if it were typed, so that native undo works. */
export function insertText(area, text, replaced = 0) {
  area.focus();
  const start = area.selectionStart;
  area.setSelectionRange(start - replaced, area.selectionEnd);
  if (!document.execCommand("insertText", false, text)) {
    area.setRangeText(text, area.selectionStart, area.selectionEnd, "end");
    area.dispatchEvent(new InputEvent("input", { bubbles: true }));
  }
}

const listVariables = (inspector, area) => inspector.variables.list({ field: getPath(area)[0] });

function insertFromList(button, area, inspector) {
  const start = [area.selectionStart, area.selectionEnd];
  pickVariable(button, listVariables(inspector, area), {
    needsReference: true,
    onPick: (variable) => {
      area.focus();
      area.setSelectionRange(...start);
      insertText(area, variable.reference);
    },
  });
}

function acceptDrops(area) {
  area.addEventListener("dragover", (event) => {
    if (event.dataTransfer.types.includes("application/x-variable")) event.preventDefault();
  });
  area.addEventListener("drop", (event) => {
    const reference = event.dataTransfer.getData("application/x-variable");
    if (!reference || area.readOnly) return;
    event.preventDefault();
    insertText(area, reference);
  });
}

class Completion {
  #dismissed = -1; // start of the trigger whose list was closed with Escape

  constructor(area, inspector, { hasSlash = false } = {}) {
    this.area = area;
    this.inspector = inspector;
    this.hasSlash = hasSlash;
    this.list = new VariableList();
    this.list.onClose = () => (this.#dismissed = this.start);
    area.setAttribute("aria-autocomplete", "list");
    area.addEventListener("input", (event) => !event.isComposing && this.#update());
    area.addEventListener("compositionend", () => this.#update());
    area.addEventListener("keydown", (event) => this.list.isOpen && this.list.handleKey(event));
    area.addEventListener("blur", () => this.list.close());
    area.addEventListener("click", () => this.list.isOpen && this.#update());
  }

  #update() {
    const { area } = this;
    const textBefore = area.value.slice(0, area.selectionStart);
    const slash = this.hasSlash && SLASH.exec(textBefore);
    const open = area.selectionStart === area.selectionEnd && (OPEN_REFERENCE.exec(textBefore) ?? slash);
    if (!open) this.#dismissed = -1;
    this.start = open?.index;
    if (!open || area.readOnly || open.index === this.#dismissed) return this.list.close();
    const textAfter = area.value.slice(area.selectionStart);
    const onPick = (variable) => {
      // Replace the part of the reference that was typed, and an existing end of it.
      const ending = /^[\w.]*#\}\}/.exec(textAfter)?.[0].length ?? 0;
      area.setSelectionRange(area.selectionStart, area.selectionStart + ending);
      insertText(area, buildReference(variable.at), open[0].length);
    };
    if (!this.list.isOpen) this.list.open(getCaretBox(area), listVariables(this.inspector, area), { onPick, needsReference: true });
    this.list.onPick = onPick;
    this.list.setOwner(area);
    this.list.filter(open[1]);
    if (open === slash && this.list.isEmpty) this.list.close(); // a path or a fraction
  }
}

/** Return the position of the caret in the window, measured in the layer behind the text. */
function getCaretBox(area) {
  const box = area.getBoundingClientRect();
  const mirror = area.closest(".insp-paper")?.querySelector("pre");
  if (!mirror) return { x: box.x, y: box.y, height: box.height };
  const range = document.createRange();
  let remaining = area.selectionStart;
  const walker = document.createTreeWalker(mirror, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (remaining <= node.data.length) {
      range.setStart(node, remaining);
      range.collapse(true);
      const rect = range.getBoundingClientRect();
      if (rect.height) return { x: rect.x, y: rect.y, height: rect.height };
      break;
    }
    remaining -= node.data.length;
  }
  return { x: box.x + 12, y: box.y, height: 24 };
}

const queryAll = (part, selector) => [...(part.matches?.(selector) ? [part] : []), ...part.querySelectorAll(selector)];

export const getPathText = (box) => getPath(box.querySelector("textarea")).join(".");
