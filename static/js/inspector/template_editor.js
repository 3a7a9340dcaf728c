// Texts with references: highlighted in a layer behind the text and completed after "{{#". The text stays in a native
// textarea, so that undo, spelling and input methods work as usual.

import { t } from "../common/translations.js";
import { getPath } from "./controls.js";
import { VariableList, pickVariable } from "./variable_picker.js";
import { tokenize } from "./highlighting.js";
import { SPECIAL, buildReference } from "./variables.js";

const OPEN_REFERENCE = /\{\{#([\w.]*)$/;

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
    new Completion(area, inspector);
    acceptDrops(area);
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
  const pieces = tokenize(area.value, box.dataset.writing).map(([text, kind]) => {
    if (!kind) return text;
    const mark = document.createElement("mark");
    mark.textContent = text;
    mark.className = kind === "reference" ? getReferenceClass(text, variables) : `is-${kind}`;
    return mark;
  });
  box.querySelector("pre").replaceChildren(...pieces, "\n");
  const unknown = [...box.querySelectorAll("mark.is-unknown")].map((mark) => mark.textContent);
  area.classList.toggle("has-unknown", unknown.length > 0);
  area.title = unknown.length ? t("Not available here: {names}", { names: unknown.join(", ") }) : "";
}

function getReferenceClass(text, variables) {
  const content = text.slice(3, -3);
  if (SPECIAL.has(content)) return "is-resolved";
  if (!/^\w{1,50}(\.[A-Za-z_]\w{0,29}){1,10}$/.test(content)) return "is-literal";
  const selector = content.split(".");
  return variables.find(selector) ? "is-resolved" : "is-unknown";
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

function insertFromList(button, area, inspector) {
  const start = [area.selectionStart, area.selectionEnd];
  pickVariable(button, inspector.variables.list(), {
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
  constructor(area, inspector) {
    this.area = area;
    this.inspector = inspector;
    this.list = new VariableList();
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
    const open = area.selectionStart === area.selectionEnd && OPEN_REFERENCE.exec(textBefore);
    if (!open || area.readOnly) return this.list.close();
    const textAfter = area.value.slice(area.selectionStart);
    const onPick = (variable) => {
      // Replace the part of the reference that was typed, and an existing end of it.
      const ending = /^[\w.]*#\}\}/.exec(textAfter)?.[0].length ?? 0;
      area.setSelectionRange(area.selectionStart, area.selectionStart + ending);
      insertText(area, buildReference(variable.at), open[0].length);
    };
    if (!this.list.isOpen) this.list.open(getCaretBox(area), this.inspector.variables.list(), { onPick, needsReference: true });
    this.list.onPick = onPick;
    this.list.setOwner(area);
    this.list.filter(open[1]);
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
