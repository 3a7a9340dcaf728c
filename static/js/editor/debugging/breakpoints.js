// Breakpoints belong to one person, are stored in this browser and are sent with each run from the editor.

import { getSelectedNodes, isNote } from "../graph_queries.js";
import { storeValue, loadValue } from "../../common/storage.js";
import { t } from "../../common/translations.js";

export class Breakpoints {
  constructor(editor) {
    this.editor = editor;
    this.key = `breakpoints:${editor.root.dataset.workflow}`;
    this.all = new Set(loadBreakpoints(this.key));
    for (const id of this.all) editor.canvas.paintNode(id, { breakpoint: true });
    this.line = editor.root.querySelector("[data-breakpoints]");
    editor.addEventListener("change", () => this.all.size && this.#showCount()); // a node may have been deleted or restored
    this.#showCount();
  }

  /** Return whether all selected nodes have a breakpoint. */
  has(nodes) {
    return nodes.length > 0 && nodes.every((node) => this.all.has(node.id));
  }

  /** Show the number of breakpoints beside the run button. */
  #showCount() {
    if (!this.line) return;
    const n = this.list().length;
    this.line.hidden = n === 0;
    this.line.querySelector("[data-breakpoints-words]").textContent = n === 1 ? t("1 breakpoint") : t("{n} breakpoints", { n });
  }

  /** Return the breakpoints whose node still exists. */
  list() {
    return [...this.all].filter((id) => this.editor.model.nodes.has(id));
  }

  toggle() {
    const nodes = getSelectedNodes(this.editor).filter((node) => !isNote(node));
    if (!nodes.length) return;
    const on = !nodes.every((node) => this.all.has(node.id));
    for (const { id } of nodes) {
      if (on) this.all.add(id);
      else this.all.delete(id);
      this.editor.canvas.paintNode(id, { breakpoint: on });
    }
    this.#store();
    this.editor.say(on ? t("Breakpoint set") : t("Breakpoint removed"));
  }

  clear() {
    for (const id of this.all) this.editor.canvas.paintNode(id, { breakpoint: false });
    this.all.clear();
    this.#store();
  }

  #store() {
    storeValue(this.key, [...this.all]);
    this.#showCount();
    this.editor.emit("breakpoints", { all: this.list() });
  }
}

function loadBreakpoints(key) {
  const stored = loadValue(key, []);
  return Array.isArray(stored) ? stored.filter((id) => typeof id === "string") : [];
}
