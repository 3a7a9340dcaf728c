// The code editor: a textarea with highlighting and line numbers behind it. Tab indents while typing; Esc and then Tab
// leaves.

import { sendRequest } from "../editor/collaboration/requests.js";
import { t } from "../common/translations.js";
import { insertText } from "./template_editor.js";
import { tokenize } from "./highlighting.js";

const CHECK_DELAY = 500;
const INDENT = { python: "    ", json: "  " };

export function enhance(part, inspector) {
  const boxes = part.querySelectorAll("[data-code]");
  for (const box of boxes) new Code(box, inspector);
}

class Code {
  #leavesOnTab = false;

  constructor(box, inspector) {
    this.box = box;
    this.language = box.dataset.code;
    this.area = box.querySelector("textarea");
    this.url = "checks" in box.dataset && inspector.editor.canEdit ? inspector.root.firstElementChild?.dataset.check : null;
    this.problems = new Map(); // line → message
    this.area.addEventListener("input", () => this.#onInput());
    this.area.addEventListener("shown", () => this.#onInput());
    this.area.addEventListener("keydown", (event) => this.#onKey(event));
    // Tab leaves the field until somebody types in it; then Tab indents.
    this.area.addEventListener("focus", () => (this.#leavesOnTab = true));
    this.area.addEventListener("click", () => (this.#leavesOnTab = false));
    this.area.addEventListener("compositionstart", () => box.classList.add("is-composing"));
    this.area.addEventListener("compositionend", () => box.classList.remove("is-composing"));
    this.#draw();
    if (this.url) this.#check();
  }

  #onInput() {
    this.#draw();
    if (!this.url) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.#check(), CHECK_DELAY);
  }

  #draw() {
    const pieces = tokenize(this.area.value, this.language).map(([text, kind]) => {
      if (!kind) return text;
      const span = document.createElement("span");
      span.className = `tok-${kind}`;
      span.textContent = text;
      return span;
    });
    this.box.querySelector("pre").replaceChildren(...pieces, "\n");
    const count = this.area.value.split("\n").length;
    const lines = Array.from({ length: count }, (_item, index) => {
      const line = document.createElement("span");
      line.textContent = String(index + 1);
      if (this.problems.has(index + 1)) {
        line.className = "is-bad";
        line.title = this.problems.get(index + 1);
      }
      return line;
    });
    this.box.querySelector(".insp-lines").replaceChildren(...lines);
  }

  async #check() {
    const source = this.area.value;
    const { kind, body } = await sendRequest(this.url, { method: "POST", body: { source, language: "python3" } });
    if (kind !== "done" || source !== this.area.value) return;
    this.problems = new Map(body.problems.map(({ line, message }) => [line, message]));
    this.#draw();
    const list = this.box.querySelector("[data-code-problems]");
    list.replaceChildren(...body.problems.map((problem) => this.#createProblem(problem)));
    this.area.setAttribute("aria-invalid", String(body.problems.length > 0));
  }

  #createProblem({ line, column, message }) {
    const item = document.createElement("li");
    item.className = "is-error";
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = t("Line {line}: {message}", { line, message });
    button.addEventListener("click", () => this.#goTo(line, column));
    item.append(button);
    return item;
  }

  #goTo(line, column) {
    const linesBefore = this.area.value.split("\n").slice(0, line - 1).join("\n");
    const index = Math.min(this.area.value.length, linesBefore.length + (line > 1 ? 1 : 0) + Math.max(0, column - 1));
    this.area.focus();
    this.area.setSelectionRange(index, index);
  }

  #onKey(event) {
    if (event.isComposing) return;
    if (event.key === "Escape") {
      this.#leavesOnTab = true;
      return event.stopPropagation();
    }
    if (event.key === "Tab" && !this.#leavesOnTab && !this.area.readOnly) {
      event.preventDefault();
      if (event.shiftKey || this.#spansLines()) this.#indentLines(event.shiftKey);
      else insertText(this.area, INDENT[this.language] ?? "    ");
    } else if (event.key === "Enter" && !event.ctrlKey && !event.metaKey && !this.area.readOnly) {
      event.preventDefault();
      insertText(this.area, `\n${this.#getIndent()}`);
    }
    if (event.key !== "Shift") this.#leavesOnTab = false;
  }

  #spansLines() {
    return this.area.value.slice(this.area.selectionStart, this.area.selectionEnd).includes("\n");
  }

  #getIndent() {
    const line = this.area.value.slice(0, this.area.selectionStart).split("\n").at(-1);
    const indent = /^\s*/.exec(line)[0];
    return /[:{[(]\s*$/.test(line) ? indent + (INDENT[this.language] ?? "    ") : indent;
  }

  /** Indent or outdent the selected lines. */
  #indentLines(isOutdent) {
    const { area } = this;
    const unit = INDENT[this.language] ?? "    ";
    const from = area.value.lastIndexOf("\n", area.selectionStart - 1) + 1;
    const until = area.selectionEnd;
    const lines = area.value.slice(from, until).split("\n");
    const shifted = lines.map((line) => (isOutdent ? line.replace(new RegExp(`^ {1,${unit.length}}|^\t`), "") : line && unit + line)).join("\n");
    area.setSelectionRange(from, until);
    insertText(area, shifted || "");
    area.setSelectionRange(from, from + shifted.length);
  }
}
