// The list of keyboard shortcuts, generated from the table of commands.

import { GROUPS } from "./commands.js";
import { t } from "../../common/translations.js";

export function install(editor) {
  const dialog = document.getElementById("shortcuts");
  editor.commands.add({ id: "shortcuts", label: t("Keyboard shortcuts"), keys: "?", group: "find", words: t("shortcuts keyboard help"), run: () => openSheet(editor, dialog) });
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
}

function openSheet(editor, dialog) {
  const group = document.getElementById("sheet-group").content.firstElementChild;
  const line = document.getElementById("sheet-row").content.firstElementChild;
  const cap = document.getElementById("key-cap").content.firstElementChild;
  const commands = editor.commands.list().filter((command) => editor.commands.keysOf(command).length && !command.hidden);
  const sections = Object.entries(GROUPS()).map(([name, title]) => {
    const rows = mergeByLabel(editor, commands.filter((command) => command.group === name));
    if (!rows.length) return null;
    const section = group.cloneNode(true);
    section.querySelector("h3").textContent = title;
    section.querySelector("dl").append(...rows.map(([label, keys]) => createRow(line, cap, label, keys)));
    return section;
  });
  dialog.querySelector("[data-sheet]").replaceChildren(...sections.filter(Boolean));
  dialog.showModal();
}

/** Commands with the same label (such as four arrows) share a line. */
function mergeByLabel(editor, commands) {
  const lines = new Map();
  for (const command of commands) {
    const label = editor.commands.label(command);
    lines.set(label, [...(lines.get(label) ?? []), ...editor.commands.keysOf(command)]);
  }
  return [...lines];
}

function createRow(line, cap, label, keys) {
  const element = line.cloneNode(true);
  element.querySelector("dt").textContent = label;
  element.querySelector("dd").append(
    ...keys.map((key) => {
      const capElement = cap.cloneNode(true);
      capElement.textContent = key;
      return capElement;
    }),
  );
  return element;
}
