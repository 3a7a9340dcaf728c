// The tabs of a node: settings, last run, and the documentation of its kind.

import { t } from "../common/translations.js";
import { fetchFragment, setContent } from "./previews.js";

export class Tabs {
  #shownUrl = null; // address of the last run that is shown
  #selected = "settings";

  constructor(inspector) {
    this.inspector = inspector;
    const { root } = inspector;
    root.addEventListener("click", (event) => {
      const tab = event.target.closest("[data-tab]");
      if (tab) this.open(tab.dataset.tab);
    });
    root.addEventListener("keydown", (event) => this.#onKey(event));
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

  /** Begin with the settings: a node that was just added has nothing else to show yet. */
  beginWithSettings() {
    this.#selected = "settings";
  }

  setUp() {
    this.#shownUrl = null;
    this.#listVariables();
    this.open(this.#selected);
  }

  open(name) {
    const { root } = this.inspector;
    this.#selected = name; // also before the tabs exist: the fragment that is being fetched may have it
    if (!root.querySelector(`[data-tab="${name}"]`)) name = "settings";
    for (const tab of root.querySelectorAll("[data-tab]")) {
      const isSelected = tab.dataset.tab === name;
      tab.setAttribute("aria-selected", String(isSelected));
      tab.tabIndex = isSelected ? 0 : -1;
    }
    for (const body of root.querySelectorAll("[data-tab-body]")) body.hidden = body.dataset.tabBody !== name;
    if (name === "last") this.#showLast();
  }

  refresh() {
    this.#listVariables();
    this.open(this.#selected);
  }

  /** Update the tabs after a run went on. */
  invalidate() {
    this.#shownUrl = null;
    if (this.inspector.panel?.dataset.inspector === "node") this.open(this.#selected);
  }

  #onKey(event) {
    const tab = event.target.closest("[data-tab]");
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!tab || !step) return;
    event.preventDefault();
    event.stopPropagation();
    const tabs = [...tab.parentElement.querySelectorAll("[data-tab]")];
    const next = tabs[(tabs.indexOf(tab) + step + tabs.length) % tabs.length];
    this.open(next.dataset.tab);
    next.focus();
  }

  /** Show the last run of the node: its inputs and outputs, and what happened between them. */
  async #showLast() {
    const address = this.inspector.panel.dataset.last;
    const run = this.inspector.editor.runs?.run; // the run on the canvas, otherwise the newest
    const { root } = this.inspector;
    const none = root.querySelector("[data-last-none]");
    none.textContent = this.inspector.editor.runs?.isLive ? none.dataset.whileRunning : none.dataset.never;
    const url = address && run ? `${address}?run=${run}` : address;
    if (!url || this.#shownUrl === url) return;
    this.#shownUrl = url;
    const html = await fetchFragment(url).catch(() => null);
    const container = root.querySelector("[data-last-run]");
    if (!html || !container || this.#shownUrl !== url) return;
    setContent(container, html);
    root.querySelector("[data-last-none]").hidden = true;
  }

  #listVariables() {
    const container = this.inspector.root.querySelector("[data-variables]");
    const groups = this.inspector.variables.sources.filter((source) => !source.field).map((source) => createGroup(source));
    container.replaceChildren(...groups);
  }
}

function createGroup(source) {
  const box = document.createElement("details");
  box.className = "insp-source";
  box.open = source.place !== "built-in";
  const head = document.createElement("summary");
  head.textContent = source.title;
  head.dataset.family = source.family;
  const list = document.createElement("ul");
  list.className = "insp-gives";
  list.append(...source.variables.flatMap((variable) => createRows(variable, 0)));
  box.append(head, list);
  return box;
}

function createRows(variable, depth) {
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
  return [row, ...variable.parts.flatMap((part) => createRows(part, depth + 1))];
}
