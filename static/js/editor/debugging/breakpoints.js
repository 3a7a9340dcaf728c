// Breakpoints: each person's own, kept in this browser, sent along with every run from the editor.

import { chosenNodes, isNote } from "./graph.js";
import { keep, kept } from "./kept.js";
import { t } from "./words.js";

export class Breakpoints {
  constructor(editor) {
    this.editor = editor;
    this.key = `breakpoints:${editor.root.dataset.workflow}`;
    this.all = new Set(read(this.key));
    for (const id of this.all) editor.canvas.paintNode(id, { breakpoint: true });
    this.line = editor.root.querySelector("[data-breakpoints]");
    editor.addEventListener("change", () => this.all.size && this.#tell()); // a node may be gone, or have come back
    this.#tell();
  }

  /** Whether all that is chosen has one. */
  has(nodes) {
    return nodes.length > 0 && nodes.every((node) => this.all.has(node.id));
  }

  /** Beside the button that runs: how many, and whose they are. */
  #tell() {
    if (!this.line) return;
    const n = this.list().length;
    this.line.hidden = n === 0;
    this.line.querySelector("[data-breakpoints-words]").textContent = t("Breakpoints: {n}. Runs from this editor pause there. They are yours alone and kept in this browser.", { n });
  }

  /** Only those whose node is still there. */
  list() {
    return [...this.all].filter((id) => this.editor.model.nodes.has(id));
  }

  toggle() {
    const nodes = chosenNodes(this.editor).filter((node) => !isNote(node));
    if (!nodes.length) return;
    const on = !nodes.every((node) => this.all.has(node.id));
    for (const { id } of nodes) {
      if (on) this.all.add(id);
      else this.all.delete(id);
      this.editor.canvas.paintNode(id, { breakpoint: on });
    }
    this.#keep();
    this.editor.say(on ? t("Breakpoint set") : t("Breakpoint removed"));
  }

  clear() {
    for (const id of this.all) this.editor.canvas.paintNode(id, { breakpoint: false });
    this.all.clear();
    this.#keep();
  }

  #keep() {
    keep(this.key, [...this.all]);
    this.#tell();
    this.editor.emit("breakpoints", { all: this.list() });
  }
}

function read(key) {
  const found = kept(key, []);
  return Array.isArray(found) ? found.filter((id) => typeof id === "string") : [];
}
