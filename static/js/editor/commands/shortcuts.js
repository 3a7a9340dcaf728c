// The sheet of keys, drawn from the table of commands: what it says is what the keys do.

import { GROUPS } from "./commands.js";
import { t } from "./words.js";

export function install(editor) {
  const dialog = document.getElementById("shortcuts");
  editor.commands.add({ id: "shortcuts", label: t("Keyboard shortcuts"), keys: "?", group: "find", words: t("shortcuts keyboard help"), run: () => open(editor, dialog) });
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
}

function open(editor, dialog) {
  const group = document.getElementById("sheet-group").content.firstElementChild;
  const line = document.getElementById("sheet-row").content.firstElementChild;
  const cap = document.getElementById("key-cap").content.firstElementChild;
  const commands = editor.commands.list().filter((command) => editor.commands.keysOf(command).length && !command.hidden);
  const sections = Object.entries(GROUPS()).map(([name, title]) => {
    const rows = merged(editor, commands.filter((command) => command.group === name));
    if (!rows.length) return null;
    const section = group.cloneNode(true);
    section.querySelector("h3").textContent = title;
    section.querySelector("dl").append(...rows.map(([label, keys]) => row(line, cap, label, keys)));
    return section;
  });
  dialog.querySelector("[data-sheet]").replaceChildren(...sections.filter(Boolean));
  dialog.showModal();
}

/** Commands that say the same (four arrows) share a line. */
function merged(editor, commands) {
  const lines = new Map();
  for (const command of commands) {
    const label = editor.commands.label(command);
    lines.set(label, [...(lines.get(label) ?? []), ...editor.commands.keysOf(command)]);
  }
  return [...lines];
}

function row(line, cap, label, keys) {
  const made = line.cloneNode(true);
  made.querySelector("dt").textContent = label;
  made.querySelector("dd").append(
    ...keys.map((key) => {
      const shown = cap.cloneNode(true);
      shown.textContent = key;
      return shown;
    }),
  );
  return made;
}
