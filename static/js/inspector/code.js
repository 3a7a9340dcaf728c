// The code editor: a textarea with colours and line numbers behind it. Tab indents what is being written, Esc then Tab leaves.

import { ask } from "../editor/wire.js";
import { t } from "../editor/words.js";
import { insert } from "./writing.js";
import { tokens } from "./tokens.js";

const REST = 500;
const INDENT = { python: "    ", json: "  " };

export function enhance(part, inspector) {
  const boxes = part.querySelectorAll("[data-code]");
  for (const box of boxes) new Code(box, inspector);
}

class Code {
  #leaves = false;

  constructor(box, inspector) {
    this.box = box;
    this.language = box.dataset.code;
    this.area = box.querySelector("textarea");
    this.url = "checks" in box.dataset && inspector.editor.canEdit ? inspector.root.firstElementChild?.dataset.check : null;
    this.bad = new Map(); // line → message
    this.area.addEventListener("input", () => this.#changed());
    this.area.addEventListener("shown", () => this.#changed());
    this.area.addEventListener("keydown", (event) => this.#key(event));
    // who only passes through by Tab goes on, and changes nothing; who has begun to write indents
    this.area.addEventListener("focus", () => (this.#leaves = true));
    this.area.addEventListener("click", () => (this.#leaves = false));
    this.area.addEventListener("compositionstart", () => box.classList.add("is-composing"));
    this.area.addEventListener("compositionend", () => box.classList.remove("is-composing"));
    this.#draw();
    if (this.url) this.#check();
  }

  #changed() {
    this.#draw();
    if (!this.url) return;
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.#check(), REST);
  }

  #draw() {
    const pieces = tokens(this.area.value, this.language).map(([text, kind]) => {
      if (!kind) return text;
      const span = document.createElement("span");
      span.className = `tok-${kind}`;
      span.textContent = text;
      return span;
    });
    this.box.querySelector("pre").replaceChildren(...pieces, "\n");
    const count = this.area.value.split("\n").length;
    const lines = Array.from({ length: count }, (_one, at) => {
      const line = document.createElement("span");
      line.textContent = String(at + 1);
      if (this.bad.has(at + 1)) {
        line.className = "is-bad";
        line.title = this.bad.get(at + 1);
      }
      return line;
    });
    this.box.querySelector(".insp-lines").replaceChildren(...lines);
  }

  async #check() {
    const source = this.area.value;
    const { kind, body } = await ask(this.url, { method: "POST", body: { source, language: "python3" } });
    if (kind !== "done" || source !== this.area.value) return;
    this.bad = new Map(body.problems.map(({ line, message }) => [line, message]));
    this.#draw();
    const place = this.box.querySelector("[data-code-problems]");
    place.replaceChildren(...body.problems.map((problem) => this.#line(problem)));
    this.area.setAttribute("aria-invalid", String(body.problems.length > 0));
  }

  #line({ line, column, message }) {
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
    const before = this.area.value.split("\n").slice(0, line - 1).join("\n");
    const at = Math.min(this.area.value.length, before.length + (line > 1 ? 1 : 0) + Math.max(0, column - 1));
    this.area.focus();
    this.area.setSelectionRange(at, at);
  }

  #key(event) {
    if (event.isComposing) return;
    if (event.key === "Escape") {
      this.#leaves = true;
      return event.stopPropagation();
    }
    if (event.key === "Tab" && !this.#leaves && !this.area.readOnly) {
      event.preventDefault();
      if (event.shiftKey || this.#spansLines()) this.#shift(event.shiftKey);
      else insert(this.area, INDENT[this.language] ?? "    ");
    } else if (event.key === "Enter" && !event.ctrlKey && !event.metaKey && !this.area.readOnly) {
      event.preventDefault();
      insert(this.area, `\n${this.#indentNow()}`);
    }
    if (event.key !== "Shift") this.#leaves = false;
  }

  #spansLines() {
    return this.area.value.slice(this.area.selectionStart, this.area.selectionEnd).includes("\n");
  }

  #indentNow() {
    const line = this.area.value.slice(0, this.area.selectionStart).split("\n").at(-1);
    const held = /^\s*/.exec(line)[0];
    return /[:{[(]\s*$/.test(line) ? held + (INDENT[this.language] ?? "    ") : held;
  }

  /** The lines of the selection, in or out. */
  #shift(out) {
    const { area } = this;
    const unit = INDENT[this.language] ?? "    ";
    const from = area.value.lastIndexOf("\n", area.selectionStart - 1) + 1;
    const until = area.selectionEnd;
    const lines = area.value.slice(from, until).split("\n");
    const moved = lines.map((line) => (out ? line.replace(new RegExp(`^ {1,${unit.length}}|^\t`), "") : line && unit + line)).join("\n");
    area.setSelectionRange(from, until);
    insert(area, moved || "");
    area.setSelectionRange(from, from + moved.length);
  }
}
