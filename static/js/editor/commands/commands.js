// Everything that can be done, once: the keyboard, the palette of commands, the context menu and the sheet of keys read this table.

import { t } from "./words.js";

const isMac = /Mac|iPhone|iPad/.test(navigator.platform);

const NAMES = { ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓", Escape: "Esc", Delete: "Del", " ": "Space", Enter: "↵", ContextMenu: "Menu" };
const MAC = { Mod: "⌘", Shift: "⇧", Alt: "⌥", Ctrl: "⌃" };

/**
 * @typedef {object} Command
 * @property {string} id
 * @property {string | (() => string)} label what it does, as a person would say it
 * @property {string} [group] heading of the sheet: "edit", "select", "view", …
 * @property {string | string[]} [keys] such as "Mod+Shift+Z" (Mod: Ctrl, on a Mac ⌘), "?", "Alt+ArrowUp"
 * @property {string} [shown] keys that work without this table, such as the browser's own for pasting
 * @property {(editor: object, detail?: any) => unknown} run
 * @property {(editor: object) => boolean} [when] whether it makes sense now
 * @property {boolean} [edits] changes the draft: not offered to who only looks
 * @property {boolean} [anywhere] its keys work in text fields too
 * @property {string[]} [menu] context menus it is in: "node", "edge", "canvas", "note", "several"
 * @property {boolean} [lone] in the menu of one node, and not in that of several
 * @property {boolean} [quiet] not in the palette of commands
 * @property {boolean} [hidden] not on the sheet of keys
 * @property {string} [words] what else people call it
 */

export class Commands {
  #all = new Map();
  #keys = new Map();

  constructor(editor) {
    this.editor = editor;
  }

  /** @param {...Command} commands */
  add(...commands) {
    for (const given of commands) {
      if (given.edits && !this.editor.canEdit) continue;
      const command = { group: "other", menu: [], ...given, keys: [given.keys ?? []].flat() };
      this.#all.set(command.id, command);
      for (const keys of command.keys) this.#keys.set(normal(keys), command);
    }
  }

  get(id) {
    return this.#all.get(id);
  }

  list() {
    return [...this.#all.values()];
  }

  /** What to print beside a command. */
  keysOf(command) {
    return [...command.keys, command.shown ?? []].flat().map(keysInWords);
  }

  can(command) {
    return !command.when || Boolean(command.when(this.editor));
  }

  /** @returns {boolean} whether it was done */
  run(id, detail) {
    const command = this.#all.get(id);
    if (!command || !this.can(command)) return false;
    const done = command.run(this.editor, detail);
    // Whoever waits for the answer of an edit has seen to it; nobody else needs the failure twice.
    if (done instanceof Promise) done.catch((error) => console.warn(`command ${id}:`, error));
    return true;
  }

  label(command) {
    return typeof command.label === "function" ? command.label() : command.label;
  }

  /** The command a key press means, or nothing. */
  of(event) {
    for (const keys of pressed(event)) {
      const command = this.#keys.get(keys);
      if (command) return command;
    }
    return null;
  }
}

function normal(keys) {
  const parts = keys === "+" ? ["+"] : keys.split("+");
  const key = parts.pop();
  const held = parts.map((part) => (part === "Mod" ? (isMac ? "Meta" : "Ctrl") : part)).sort();
  return [...held, key.length === 1 ? key.toLowerCase() : key].join("+");
}

/** What was pressed, most exact first: by character, then by the key's place for other alphabets and shifted digits. */
function pressed(event) {
  const held = [event.ctrlKey && "Ctrl", event.metaKey && "Meta", event.altKey && "Alt"].filter(Boolean);
  const shifted = event.shiftKey ? [...held, "Shift"] : held;
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const found = [[...shifted].sort().concat(key).join("+")];
  // "?" and "+" are themselves, however many keys it takes to type them
  if (event.shiftKey && key.length === 1 && !/[a-z]/.test(key)) found.push([...held].sort().concat(key).join("+"));
  const place = /^(?:Key|Digit)(\w)$/.exec(event.code)?.[1].toLowerCase();
  if (place && place !== key) found.push([...shifted].sort().concat(place).join("+"));
  return found;
}

/** "Mod+Shift+Z" as it stands on this machine's keys. */
function keysInWords(keys) {
  const parts = keys === "+" ? ["+"] : keys.split("+");
  const key = parts.pop();
  const names = parts.map((part) => (isMac ? MAC[part] : part === "Mod" ? "Ctrl" : part));
  const last = NAMES[key] ?? (key.length === 1 ? key.toUpperCase() : key);
  return [...names, last].join(isMac ? "" : "+");
}

export const GROUPS = () => ({
  add: t("Add and connect"),
  edit: t("Edit"),
  select: t("Select"),
  move: t("Move and arrange"),
  walk: t("Walk the graph"),
  view: t("View"),
  run: t("Run"),
  find: t("Find"),
  other: t("More"),
});
