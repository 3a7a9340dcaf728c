// The list of variables, for a field that takes one and for completion in a text. Both use one popover, driven from the
// focused control.

import { t } from "../common/translations.js";
import { isCompatible } from "./variables.js";

let serial = 0;

export class VariableList {
  #rows = [];
  #index = -1;

  constructor() {
    this.el = document.createElement("div");
    this.el.className = "insp-picker";
    this.el.popover = "manual";
    this.box = document.createElement("div");
    this.box.className = "insp-picker-list";
    this.box.id = `insp-picker-${++serial}`;
    this.box.setAttribute("role", "listbox");
    this.box.setAttribute("aria-label", t("Variables"));
    this.el.append(this.box);
    this.box.addEventListener("pointerdown", (event) => event.preventDefault());
    this.box.addEventListener("click", (event) => this.#choose(event.target.closest("[role=option]")));
  }

  get isOpen() {
    return this.el.isConnected && this.el.matches(":popover-open");
  }

  get isEmpty() {
    return this.#rows.length === 0;
  }

  /** @param {{x: number, y: number, height: number, width?: number}} anchor in the window */
  open(anchor, entries, { onPick, wants = [], needsReference = false }) {
    Object.assign(this, { entries, onPick, wants, needsReference });
    document.body.append(this.el);
    if (!this.isOpen) this.el.showPopover();
    this.#setPosition(anchor);
    this.filter("");
  }

  close() {
    if (!this.el.isConnected || this.isClosing) return;
    this.isClosing = true; // removing the focused box triggers its focusout event
    if (this.isOpen) this.el.hidePopover();
    this.el.remove();
    this.isClosing = false;
    this.owner?.setAttribute("aria-expanded", "false");
    this.owner?.removeAttribute("aria-activedescendant");
  }

  /** Connect the list to the control that receives the keys. */
  setOwner(control) {
    this.owner = control;
    control.setAttribute("aria-controls", this.box.id);
    control.setAttribute("aria-expanded", "true");
    this.#mark();
  }

  filter(words) {
    const terms = words.toLowerCase().split(/[\s.]+/).filter(Boolean);
    const matches = this.entries.filter(({ source, variable }) => {
      const text = `${source.title} ${variable.at.join(" ")} ${variable.type} ${variable.help}`.toLowerCase();
      return terms.every((word) => text.includes(word));
    });
    this.#draw(matches);
  }

  /** @returns {boolean} whether the list handled the key */
  handleKey(event) {
    if (event.isComposing) return false;
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 }[event.key];
    if (step) {
      this.#index = Math.max(0, Math.min(this.#rows.length - 1, this.#index + step));
      this.#mark(true);
    } else if (["Enter", "Tab"].includes(event.key) && this.#rows[this.#index]) {
      this.#choose(this.#rows[this.#index].el);
    } else if (event.key === "Escape") {
      this.close();
      this.onClose?.();
    } else return false;
    event.preventDefault();
    event.stopPropagation();
    return true;
  }

  #draw(matches) {
    const allowed = matches.filter((entry) => this.#isAllowed(entry));
    const others = matches.filter((entry) => !this.#isAllowed(entry));
    this.box.replaceChildren();
    this.#rows = [];
    this.#appendEntries(allowed);
    if (others.length) {
      this.box.append(createHeading(t("Other types")));
      this.#appendEntries(others, true);
    }
    if (matches.length === 0) this.box.append(createHeading(t("No matching variables.")));
    this.#index = this.#rows.length ? 0 : -1;
    this.#mark();
  }

  #isAllowed({ variable }) {
    return isCompatible(this.wants, variable.type) && !(this.needsReference && !variable.reference);
  }

  #appendEntries(entries, isDimmed = false) {
    let lastSource = null;
    for (const entry of entries) {
      if (entry.source !== lastSource) this.box.append(createSourceHeading((lastSource = entry.source)));
      const el = createOption(entry, `${this.box.id}-${this.#rows.length}`, isDimmed);
      this.#rows.push({ el, entry });
      this.box.append(el);
    }
  }

  #choose(el) {
    const row = this.#rows.find((entry) => entry.el === el);
    if (!row) return;
    if (this.needsReference && !row.entry.variable.reference) return;
    this.close();
    this.onPick(row.entry.variable);
  }

  #mark(isScrolling = false) {
    this.#rows.forEach(({ el }, index) => el.setAttribute("aria-selected", String(index === this.#index)));
    const el = this.#rows[this.#index]?.el;
    if (el) this.owner?.setAttribute("aria-activedescendant", el.id);
    else this.owner?.removeAttribute("aria-activedescendant");
    if (isScrolling) el?.scrollIntoView({ block: "nearest" });
  }

  #setPosition({ x, y, height, width = 300 }) {
    const boxWidth = Math.min(Math.max(width, 280), innerWidth - 16);
    const spaceBelow = innerHeight - y - height - 12;
    const isBelow = spaceBelow > 220 || spaceBelow > y;
    const { style } = this.el;
    style.width = `${boxWidth}px`;
    style.left = `${Math.max(8, Math.min(x, innerWidth - boxWidth - 8))}px`;
    style.maxHeight = `${Math.min(340, (isBelow ? spaceBelow : y) - 12)}px`;
    style.top = isBelow ? `${y + height + 4}px` : "auto";
    style.bottom = isBelow ? "auto" : `${innerHeight - y + 4}px`;
  }
}

/** Show the list below a button, with a search field. */
export function pickVariable(button, entries, options) {
  const list = new VariableList();
  const search = document.createElement("input");
  search.className = "input insp-picker-search";
  search.type = "text";
  search.placeholder = t("Search variables");
  search.setAttribute("role", "combobox");
  search.setAttribute("aria-label", t("Search variables"));
  search.setAttribute("aria-autocomplete", "list");
  list.el.prepend(search);
  const closeAndFocus = () => {
    list.close();
    button.setAttribute("aria-expanded", "false");
    button.focus();
  };
  const { left: x, top: y, height, width } = button.getBoundingClientRect();
  list.open({ x, y, height, width }, entries, {
    ...options,
    onPick: (variable) => {
      closeAndFocus();
      options.onPick(variable);
    },
  });
  list.onClose = closeAndFocus;
  list.setOwner(search);
  button.setAttribute("aria-expanded", "true");
  if (options.canBeEmpty) {
    const noneButton = document.createElement("button");
    noneButton.type = "button";
    noneButton.className = "button button-quiet button-s insp-picker-none";
    noneButton.textContent = t("No variable");
    noneButton.addEventListener("click", () => {
      closeAndFocus();
      options.onPick(null);
    });
    list.el.append(noneButton);
  }
  search.addEventListener("input", () => list.filter(search.value));
  search.addEventListener("keydown", (event) => list.handleKey(event));
  list.el.addEventListener("focusout", (event) => {
    if (!list.el.contains(event.relatedTarget)) {
      list.close();
      button.setAttribute("aria-expanded", "false");
    }
  });
  search.focus();
}

function createOption({ variable }, id, isDimmed) {
  const el = document.createElement("div");
  el.id = id;
  el.setAttribute("role", "option");
  el.className = isDimmed ? "insp-option is-dim" : "insp-option";
  el.style.paddingInlineStart = `${12 + (variable.at.length - 2) * 14}px`;
  const name = document.createElement("span");
  name.className = "insp-option-name";
  name.textContent = variable.at.slice(1).join(".");
  const help = document.createElement("span");
  help.className = "insp-option-help";
  help.textContent = variable.help;
  const type = document.createElement("span");
  type.className = "insp-type";
  type.textContent = variable.type;
  el.append(name, help, type);
  return el;
}

function createSourceHeading(source) {
  const el = createHeading(source.title);
  el.dataset.family = source.family;
  if (source.place === "around") el.append(` · ${t("Parent container")}`);
  return el;
}

function createHeading(text) {
  const el = document.createElement("div");
  el.className = "insp-picker-head";
  el.setAttribute("role", "presentation");
  el.textContent = text;
  return el;
}
