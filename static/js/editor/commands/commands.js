// The table of all commands, which the keyboard, the command palette, the context menu and the list of shortcuts read.

import { t } from "../../common/translations.js";

const isMac = /Mac|iPhone|iPad/.test(navigator.platform);

const NAMES = { ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓", Escape: "Esc", Delete: "Del", " ": "Space", Enter: "↵", ContextMenu: "Menu" };
const MAC = { Mod: "⌘", Shift: "⇧", Alt: "⌥", Ctrl: "⌃" };

/**
 * @typedef {object} Command
 * @property {string} id
 * @property {string | (() => string)} label what the command does, in the words of a person
 * @property {string} [group] heading in the list of shortcuts: "edit", "select", "view", …
 * @property {string | string[]} [keys] such as "Mod+Shift+Z" (Mod: Ctrl, on a Mac ⌘), "?", "Alt+ArrowUp"
 * @property {string} [shown] keys that work without this table, such as the browser's own for pasting
 * @property {(editor: object, detail?: any) => unknown} run
 * @property {(editor: object) => boolean} [when] whether the command is available now
 * @property {boolean} [edits] whether it changes the draft and is hidden from people who can only view it
 * @property {boolean} [anywhere] whether its keys work in text fields too
 * @property {string[]} [menu] its context menus: "node", "edge", "canvas", "note", "several"
 * @property {boolean} [lone] in the menu of one node, but not in that of several
 * @property {boolean} [quiet] not in the command palette
 * @property {boolean} [hidden] not in the list of shortcuts
 * @property {string} [words] other names to search for
 */

export class Commands {
  #all = new Map();
  #keys = new Map();

  constructor(editor) {
    this.editor = editor;
  }

  /** @param {...Command} commands */
  add(...commands) {
    for (const definition of commands) {
      if (definition.edits && !this.editor.canEdit) continue;
      const command = { group: "other", menu: [], ...definition, keys: [definition.keys ?? []].flat() };
      this.#all.set(command.id, command);
      for (const keys of command.keys) this.#keys.set(normalizeKeys(keys), command);
    }
  }

  get(id) {
    return this.#all.get(id);
  }

  list() {
    return [...this.#all.values()];
  }

  /** Return the key labels to print beside a command. */
  keysOf(command) {
    return [...command.keys, command.shown ?? []].flat().map(formatKeys);
  }

  can(command) {
    return !command.when || Boolean(command.when(this.editor));
  }

  /**
   * Run a command.
   * @returns {boolean} whether it could run
   */
  run(id, detail) {
    const command = this.#all.get(id);
    if (!command || !this.can(command)) return false;
    const result = command.run(this.editor, detail);
    // The edit queue reports a failed edit already; the console is enough here.
    if (result instanceof Promise) result.catch((error) => console.warn(`command ${id}:`, error));
    return true;
  }

  label(command) {
    return typeof command.label === "function" ? command.label() : command.label;
  }

  /** Return the command for a key press, or null. */
  of(event) {
    for (const keys of listPressedKeys(event)) {
      const command = this.#keys.get(keys);
      if (command) return command;
    }
    return null;
  }
}

function normalizeKeys(keys) {
  const parts = keys === "+" ? ["+"] : keys.split("+");
  const key = parts.pop();
  const modifiers = parts.map((part) => (part === "Mod" ? (isMac ? "Meta" : "Ctrl") : part)).sort();
  return [...modifiers, key.length === 1 ? key.toLowerCase() : key].join("+");
}

/**
 * Return what was pressed, most exact first: by character, then by the position of the key for other alphabets and shifted
 * digits.
 */
function listPressedKeys(event) {
  const modifiers = [event.ctrlKey && "Ctrl", event.metaKey && "Meta", event.altKey && "Alt"].filter(Boolean);
  const allModifiers = event.shiftKey ? [...modifiers, "Shift"] : modifiers;
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const combinations = [[...allModifiers].sort().concat(key).join("+")];
  // "?" and "+" count as such, whichever keys they need.
  if (event.shiftKey && key.length === 1 && !/[a-z]/.test(key)) combinations.push([...modifiers].sort().concat(key).join("+"));
  const physicalKey = /^(?:Key|Digit)(\w)$/.exec(event.code)?.[1].toLowerCase();
  if (physicalKey && physicalKey !== key) combinations.push([...allModifiers].sort().concat(physicalKey).join("+"));
  return combinations;
}

/** Return the label of "Mod+Shift+Z" on this machine. */
function formatKeys(keys) {
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
  walk: t("Navigate"),
  view: t("View"),
  run: t("Run"),
  find: t("Find"),
  other: t("More"),
});
