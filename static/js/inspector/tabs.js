// The tabs of a node: its settings, what it reads, what it gives, its last run, and the page about its kind.

import { t } from "../editor/words.js";
import { fragment, put } from "./looks.js";

export class Tabs {
  #last = null; // the address whose last run is shown
  #kept = "settings";

  constructor(inspector) {
    this.inspector = inspector;
    const { root } = inspector;
    root.addEventListener("click", (event) => {
      const tab = event.target.closest("[data-tab]");
      if (tab) this.open(tab.dataset.tab);
    });
    root.addEventListener("keydown", (event) => this.#walk(event));
    root.addEventListener("dragstart", (event) => {
      const chip = event.target.closest?.("[data-reference]");
      if (!chip) return;
      event.dataTransfer.setData("application/x-variable", chip.dataset.reference);
      event.dataTransfer.setData("text/plain", chip.dataset.reference);
      event.dataTransfer.effectAllowed = "copy";
    });
    root.addEventListener("click", (event) => {
      const chip = event.target.closest("[data-reference]");
      if (!chip) return;
      navigator.clipboard?.writeText(chip.dataset.reference).then(() => inspector.editor.say(t("Copied: {what}", { what: chip.dataset.reference })), () => {});
    });
  }

  setUp() {
    this.#last = null;
    this.#listVariables();
    this.open(this.#kept);
  }

  open(name) {
    const { root } = this.inspector;
    this.#kept = name; // also where there are no tabs yet: what is on its way may have it
    if (!root.querySelector(`[data-tab="${name}"]`)) name = "settings";
    for (const tab of root.querySelectorAll("[data-tab]")) {
      const chosen = tab.dataset.tab === name;
      tab.setAttribute("aria-selected", String(chosen));
      tab.tabIndex = chosen ? 0 : -1;
    }
    for (const body of root.querySelectorAll("[data-tab-body]")) body.hidden = body.dataset.tabBody !== name;
    if (["input", "output", "last"].includes(name)) this.#showLast();
  }

  refresh() {
    this.#listVariables();
    this.open(this.#kept);
  }

  /** A run went on: what is shown of the last one is old. */
  stale() {
    this.#last = null;
    if (this.inspector.panel?.dataset.inspector === "node") this.open(this.#kept);
  }

  #walk(event) {
    const tab = event.target.closest("[data-tab]");
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!tab || !by) return;
    event.preventDefault();
    event.stopPropagation();
    const tabs = [...tab.parentElement.querySelectorAll("[data-tab]")];
    const next = tabs[(tabs.indexOf(tab) + by + tabs.length) % tabs.length];
    this.open(next.dataset.tab);
    next.focus();
  }

  /** One fragment for three tabs: its inputs, its outputs, and all of it. */
  async #showLast() {
    const address = this.inspector.panel.dataset.last;
    const run = this.inspector.editor.runs?.run; // the one on the canvas, else the newest
    const url = address && run ? `${address}?run=${run}` : address;
    if (!url || this.#last === url) return;
    this.#last = url;
    const html = await fragment(url).catch(() => null);
    if (!html || this.#last !== url) return;
    const { root } = this.inspector;
    put(root.querySelector('[data-last-part="all"]'), html);
    root.querySelector("[data-last-none]").hidden = true;
    for (const name of ["inputs", "outputs"]) {
      const part = root.querySelector(`[data-last-part="all"] [data-part="${name}"]`);
      if (part) root.querySelector(`[data-last-part="${name}"]`).replaceChildren(part.cloneNode(true));
    }
  }

  #listVariables() {
    const place = this.inspector.root.querySelector("[data-variables]");
    const groups = this.inspector.variables.sources.map((source) => group(source));
    place.replaceChildren(...groups);
  }
}

function group(source) {
  const box = document.createElement("details");
  box.className = "insp-source";
  box.open = source.place !== "built-in";
  const head = document.createElement("summary");
  head.textContent = source.title;
  head.dataset.family = source.family;
  const list = document.createElement("ul");
  list.className = "insp-gives";
  list.append(...source.variables.flatMap((variable) => rows(variable, 0)));
  box.append(head, list);
  return box;
}

function rows(variable, depth) {
  const row = document.createElement("li");
  row.style.paddingInlineStart = `${depth * 14}px`;
  const name = document.createElement(variable.reference ? "button" : "span");
  name.className = "insp-chip";
  name.textContent = variable.at.slice(1).join(".");
  if (variable.reference) {
    name.type = "button";
    name.draggable = true;
    name.dataset.reference = variable.reference;
    name.title = variable.reference;
  }
  const type = document.createElement("span");
  type.className = "insp-type";
  type.textContent = variable.type;
  const help = document.createElement("span");
  help.className = "hint";
  help.textContent = variable.help;
  row.append(name, type, help);
  return [row, ...variable.parts.flatMap((part) => rows(part, depth + 1))];
}
