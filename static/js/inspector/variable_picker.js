// The list of variables: for a field that takes one, and while "{{#" is typed. One popover for both, driven from where one types.

import { t } from "../editor/words.js";
import { fits } from "./variables.js";

let serial = 0;

export class VariableList {
  #rows = [];
  #at = -1;

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

  /** @param {{x: number, y: number, height: number, width?: number}} anchor in the window */
  open(anchor, entries, { onPick, wants = [], needsReference = false }) {
    Object.assign(this, { entries, onPick, wants, needsReference });
    document.body.append(this.el);
    if (!this.isOpen) this.el.showPopover();
    this.#place(anchor);
    this.filter("");
  }

  close() {
    if (!this.el.isConnected || this.closes) return;
    this.closes = true; // taking the focused box away makes it say that it lost its focus
    if (this.isOpen) this.el.hidePopover();
    this.el.remove();
    this.closes = false;
    this.owner?.setAttribute("aria-expanded", "false");
    this.owner?.removeAttribute("aria-activedescendant");
  }

  /** Owned by the control the keys go to. */
  ownedBy(control) {
    this.owner = control;
    control.setAttribute("aria-controls", this.box.id);
    control.setAttribute("aria-expanded", "true");
    this.#mark();
  }

  filter(words) {
    const wanted = words.toLowerCase().split(/[\s.]+/).filter(Boolean);
    const found = this.entries.filter(({ source, variable }) => {
      const text = `${source.title} ${variable.at.join(" ")} ${variable.type} ${variable.help}`.toLowerCase();
      return wanted.every((word) => text.includes(word));
    });
    this.#draw(found);
  }

  /** @returns {boolean} whether the key was for the list */
  key(event) {
    if (event.isComposing) return false;
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 }[event.key];
    if (step) {
      this.#at = Math.max(0, Math.min(this.#rows.length - 1, this.#at + step));
      this.#mark(true);
    } else if (["Enter", "Tab"].includes(event.key) && this.#rows[this.#at]) {
      this.#choose(this.#rows[this.#at].el);
    } else if (event.key === "Escape") {
      this.close();
      this.onClose?.();
    } else return false;
    event.preventDefault();
    event.stopPropagation();
    return true;
  }

  #draw(found) {
    const fitting = found.filter((one) => this.#can(one));
    const others = found.filter((one) => !this.#can(one));
    this.box.replaceChildren();
    this.#rows = [];
    this.#group(fitting);
    if (others.length) {
      this.box.append(heading(t("Of another type")));
      this.#group(others, true);
    }
    if (found.length === 0) this.box.append(heading(t("Nothing by that name is reachable here.")));
    this.#at = this.#rows.length ? 0 : -1;
    this.#mark();
  }

  #can({ variable }) {
    return fits(this.wants, variable.type) && !(this.needsReference && !variable.reference);
  }

  #group(entries, isDim = false) {
    let last = null;
    for (const entry of entries) {
      if (entry.source !== last) this.box.append(sourceHeading((last = entry.source)));
      const el = option(entry, `${this.box.id}-${this.#rows.length}`, isDim);
      this.#rows.push({ el, entry });
      this.box.append(el);
    }
  }

  #choose(el) {
    const row = this.#rows.find((one) => one.el === el);
    if (!row) return;
    if (this.needsReference && !row.entry.variable.reference) return;
    this.close();
    this.onPick(row.entry.variable);
  }

  #mark(scrolls = false) {
    this.#rows.forEach(({ el }, at) => el.setAttribute("aria-selected", String(at === this.#at)));
    const el = this.#rows[this.#at]?.el;
    if (el) this.owner?.setAttribute("aria-activedescendant", el.id);
    else this.owner?.removeAttribute("aria-activedescendant");
    if (scrolls) el?.scrollIntoView({ block: "nearest" });
  }

  #place({ x, y, height, width = 300 }) {
    const wide = Math.min(Math.max(width, 280), innerWidth - 16);
    const below = innerHeight - y - height - 12;
    const isBelow = below > 220 || below > y;
    const { style } = this.el;
    style.width = `${wide}px`;
    style.left = `${Math.max(8, Math.min(x, innerWidth - wide - 8))}px`;
    style.maxHeight = `${Math.min(340, (isBelow ? below : y) - 12)}px`;
    style.top = isBelow ? `${y + height + 4}px` : "auto";
    style.bottom = isBelow ? "auto" : `${innerHeight - y + 4}px`;
  }
}

/** The list under a button, with a box to search in. */
export function pickFor(button, entries, options) {
  const list = new VariableList();
  const search = document.createElement("input");
  search.className = "input insp-picker-search";
  search.type = "text";
  search.placeholder = t("Search variables");
  search.setAttribute("role", "combobox");
  search.setAttribute("aria-label", t("Search variables"));
  search.setAttribute("aria-autocomplete", "list");
  list.el.prepend(search);
  const back = () => {
    list.close();
    button.setAttribute("aria-expanded", "false");
    button.focus();
  };
  const { left: x, top: y, height, width } = button.getBoundingClientRect();
  list.open({ x, y, height, width }, entries, {
    ...options,
    onPick: (variable) => {
      back();
      options.onPick(variable);
    },
  });
  list.onClose = back;
  list.ownedBy(search);
  button.setAttribute("aria-expanded", "true");
  if (options.canBeEmpty) {
    const none = document.createElement("button");
    none.type = "button";
    none.className = "button button-quiet button-s insp-picker-none";
    none.textContent = t("No variable");
    none.addEventListener("click", () => {
      back();
      options.onPick(null);
    });
    list.el.append(none);
  }
  search.addEventListener("input", () => list.filter(search.value));
  search.addEventListener("keydown", (event) => list.key(event));
  list.el.addEventListener("focusout", (event) => {
    if (!list.el.contains(event.relatedTarget)) {
      list.close();
      button.setAttribute("aria-expanded", "false");
    }
  });
  search.focus();
}

function option({ variable }, id, isDim) {
  const el = document.createElement("div");
  el.id = id;
  el.setAttribute("role", "option");
  el.className = isDim ? "insp-option is-dim" : "insp-option";
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

function sourceHeading(source) {
  const el = heading(source.title);
  el.dataset.family = source.family;
  if (source.place === "around") el.append(` · ${t("around this node")}`);
  return el;
}

function heading(text) {
  const el = document.createElement("div");
  el.className = "insp-picker-head";
  el.setAttribute("role", "presentation");
  el.textContent = text;
  return el;
}
