// Ctrl+K: every command that makes sense now, every node to go to, and (after a few letters) whatever Find finds.

import { goTo } from "./keyboard.js";
import { GROUPS } from "./commands.js";
import { isNote, kindName, nameOf } from "./graph.js";
import { keep, kept } from "./kept.js";
import { t } from "./words.js";

const RECENT = "editor-recent-commands";

export function install(editor) {
  editor.commands.add({ id: "command-palette", label: t("Search and commands"), keys: ["Mod+K", "Mod+P"], group: "find", anywhere: true, quiet: true, run: open });
}

async function open(editor) {
  const before = document.activeElement;
  const chosen = await editor.choose({ title: t("Search and commands"), placeholder: t("Do something, or go to a node…"), choices: [...commands(editor), ...nodes(editor)] });
  if (!chosen) return;
  const [what, id] = [chosen.slice(0, chosen.indexOf(":")), chosen.slice(chosen.indexOf(":") + 1)];
  if (what === "go") {
    editor.panels?.view?.("canvas");
    return goTo(editor, id);
  }
  remember(id);
  if (before?.isConnected && before !== document.body) before.focus({ preventScroll: true });
  editor.commands.run(id);
}

function commands(editor) {
  const groups = GROUPS();
  const recent = read();
  const names = Object.keys(groups);
  // a group nobody named here is one of the others
  const rank = (group) => (names.includes(group) ? names.indexOf(group) : names.length);
  return editor.commands
    .list()
    .filter((command) => !command.quiet && editor.commands.can(command))
    .map((command) => ({
      id: `do:${command.id}`,
      name: editor.commands.label(command),
      group: recent.includes(command.id) ? t("Used lately") : (groups[command.group] ?? groups.other),
      place: recent.includes(command.id) ? recent.indexOf(command.id) : 100 + rank(command.group),
      keys: editor.commands.keysOf(command).slice(0, 1),
      words: [command.words ?? "", command.id.replaceAll("-", " ")],
    }))
    .sort((a, b) => a.place - b.place);
}

function nodes(editor) {
  return [...editor.model.nodes.values()]
    .filter((node) => !isNote(node) && !node.isEntry)
    .sort((a, b) => a.x - b.x || a.y - b.y)
    .map((node) => ({ id: `go:${node.id}`, name: nameOf(editor, node.id), hint: t("Go to · {kind}", { kind: kindName(editor, node.kind) }), group: t("Go to"), icon: node.el.querySelector(".icon"), words: [node.id, t("go to {name}", { name: nameOf(editor, node.id) })] }));
}

const read = () => kept(RECENT, []);
const remember = (id) => keep(RECENT, [id, ...read().filter((other) => other !== id)].slice(0, 5));
