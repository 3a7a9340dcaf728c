// Texts with references: coloured behind the text, completed while "{{#" is typed. The text itself stays the browser's, so that
// its undo, its spelling and every input method work as anywhere.

import { t } from "../editor/words.js";
import { pathOf } from "./controls.js";
import { VariableList, pickFor } from "./picker.js";
import { tokens } from "./tokens.js";
import { SPECIAL, referenceOf } from "./variables.js";

const OPENED = /\{\{#([\w.]*)$/;

export function enhance(part, inspector) {
  for (const box of all(part, "[data-writing]")) setUp(box, inspector);
  for (const box of all(part, "[data-grow]")) grow(box);
  for (const input of all(part, "[data-completes]")) new Completion(input, inspector);
}

/** Colour again: what is reachable may have changed. */
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
    takeDrops(area);
  }
  box.querySelector("[data-insert-variable]")?.addEventListener("click", (event) => insertByList(event.currentTarget, area, inspector));
  draw();
}

function grow(box) {
  const area = box.querySelector("textarea");
  const draw = () => (box.querySelector("pre").textContent = `${area.value}\n`);
  area.addEventListener("input", draw);
  area.addEventListener("shown", draw);
  draw();
}

function paint(box, variables) {
  const area = box.querySelector("textarea");
  const pieces = tokens(area.value, box.dataset.writing).map(([text, kind]) => {
    if (!kind) return text;
    const mark = document.createElement("mark");
    mark.textContent = text;
    mark.className = kind === "reference" ? stateOf(text, variables) : `is-${kind}`;
    return mark;
  });
  box.querySelector("pre").replaceChildren(...pieces, "\n");
  const unknown = [...box.querySelectorAll("mark.is-unknown")].map((mark) => mark.textContent);
  area.classList.toggle("has-unknown", unknown.length > 0);
  area.title = unknown.length ? t("Not reachable here: {names}", { names: unknown.join(", ") }) : "";
}

function stateOf(text, variables) {
  const inside = text.slice(3, -3);
  if (SPECIAL.has(inside)) return "is-known";
  if (!/^\w{1,50}(\.[A-Za-z_]\w{0,29}){1,10}$/.test(inside)) return "is-literal";
  const selector = inside.split(".");
  return variables.find(selector) ? "is-known" : "is-unknown";
}

/** As if typed, so that the browser's undo takes it back. */
export function insert(area, text, replaced = 0) {
  area.focus();
  const at = area.selectionStart;
  area.setSelectionRange(at - replaced, area.selectionEnd);
  if (!document.execCommand("insertText", false, text)) {
    area.setRangeText(text, area.selectionStart, area.selectionEnd, "end");
    area.dispatchEvent(new InputEvent("input", { bubbles: true }));
  }
}

function insertByList(button, area, inspector) {
  const at = [area.selectionStart, area.selectionEnd];
  pickFor(button, inspector.variables.list(), {
    needsReference: true,
    onPick: (variable) => {
      area.focus();
      area.setSelectionRange(...at);
      insert(area, variable.reference);
    },
  });
}

function takeDrops(area) {
  area.addEventListener("dragover", (event) => {
    if (event.dataTransfer.types.includes("application/x-variable")) event.preventDefault();
  });
  area.addEventListener("drop", (event) => {
    const reference = event.dataTransfer.getData("application/x-variable");
    if (!reference || area.readOnly) return;
    event.preventDefault();
    insert(area, reference);
  });
}

class Completion {
  constructor(area, inspector) {
    this.area = area;
    this.inspector = inspector;
    this.list = new VariableList();
    area.setAttribute("aria-autocomplete", "list");
    area.addEventListener("input", (event) => !event.isComposing && this.#look());
    area.addEventListener("compositionend", () => this.#look());
    area.addEventListener("keydown", (event) => this.list.isOpen && this.list.key(event));
    area.addEventListener("blur", () => this.list.close());
    area.addEventListener("click", () => this.list.isOpen && this.#look());
  }

  #look() {
    const { area } = this;
    const before = area.value.slice(0, area.selectionStart);
    const opened = area.selectionStart === area.selectionEnd && OPENED.exec(before);
    if (!opened || area.readOnly) return this.list.close();
    const rest = area.value.slice(area.selectionStart);
    const onPick = (variable) => {
      // what was typed of a reference goes, and so does an ending that stands there already
      const ending = /^[\w.]*#\}\}/.exec(rest)?.[0].length ?? 0;
      area.setSelectionRange(area.selectionStart, area.selectionStart + ending);
      insert(area, referenceOf(variable.at), opened[0].length);
    };
    if (!this.list.isOpen) this.list.open(caretOf(area), this.inspector.variables.list(), { onPick, needsReference: true });
    this.list.onPick = onPick;
    this.list.ownedBy(area);
    this.list.filter(opened[1]);
  }
}

/** Where the caret is in the window, measured in the mirror behind the text. */
function caretOf(area) {
  const box = area.getBoundingClientRect();
  const mirror = area.closest(".insp-paper")?.querySelector("pre");
  if (!mirror) return { x: box.x, y: box.y, height: box.height };
  const range = document.createRange();
  let left = area.selectionStart;
  const walker = document.createTreeWalker(mirror, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (left <= node.data.length) {
      range.setStart(node, left);
      range.collapse(true);
      const rect = range.getBoundingClientRect();
      if (rect.height) return { x: rect.x, y: rect.y, height: rect.height };
      break;
    }
    left -= node.data.length;
  }
  return { x: box.x + 12, y: box.y, height: 24 };
}

const all = (part, selector) => [...(part.matches?.(selector) ? [part] : []), ...part.querySelectorAll(selector)];

export const pathText = (box) => pathOf(box.querySelector("textarea")).join(".");
