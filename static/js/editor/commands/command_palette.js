// The command palette (Ctrl+K) offers all available commands, all nodes to go to, and what the search of every page finds.

import { goTo } from "./keyboard.js";
import { GROUPS } from "./commands.js";
import { createCommandIcon } from "./command_icons.js";
import { findOffer, isNote, getKindName, getNodeName } from "../graph_queries.js";
import { storeValue, loadValue } from "../../common/storage.js";
import { t } from "../../common/translations.js";
import { fetchResults } from "../../search/results.js";

const RECENT_KEY = "editor-recent-commands";

export function install(editor) {
  editor.commands.add({ id: "command-palette", label: t("Search and commands"), keys: ["Mod+K", "Mod+P"], group: "find", anywhere: true, quiet: true, run: openPalette });
}

async function openPalette(editor) {
  const previousFocus = document.activeElement;
  const selected = await editor.choose({ title: t("Search and commands"), placeholder: t("Run a command or go to a node…"), choices: [...listCommands(editor), ...listNodes(editor)], again: (query) => searchEverything(editor, query) });
  if (!selected) return;
  const [kind, id] = [selected.slice(0, selected.indexOf(":")), selected.slice(selected.indexOf(":") + 1)];
  if (kind === "open") return location.assign(id);
  if (kind === "go") {
    editor.panels?.view?.("canvas");
    return goTo(editor, id);
  }
  storeRecent(id);
  if (previousFocus?.isConnected && previousFocus !== document.body) previousFocus.focus({ preventScroll: true });
  editor.commands.run(id);
}

/** Find workflows, runs, memories, people and pages. This draft's own nodes and the editor's commands are there already. */
async function searchEverything(editor, query) {
  const results = await fetchResults(editor.urls.search, query);
  return results
    .filter(({ href }) => href && !href.startsWith(`${location.pathname}?node=`))
    .map(({ href, name, detail, group, icon }) => ({ id: `open:${href}`, name, hint: detail, group, isGrouped: true, icon }));
}

function listCommands(editor) {
  const groups = GROUPS();
  const recent = loadRecent();
  const names = Object.keys(groups);
  // an unknown group goes last
  const getRank = (group) => (names.includes(group) ? names.indexOf(group) : names.length);
  return editor.commands
    .list()
    .filter((command) => !command.quiet && editor.commands.can(command))
    .map((command) => ({
      id: `do:${command.id}`,
      name: editor.commands.label(command),
      group: recent.includes(command.id) ? t("Recently used") : (groups[command.group] ?? groups.other),
      place: recent.includes(command.id) ? recent.indexOf(command.id) : 100 + getRank(command.group),
      keys: editor.commands.keysOf(command).slice(0, 1),
      icon: createCommandIcon(editor, command),
      words: [command.words ?? "", command.id.replaceAll("-", " ")],
    }))
    .sort((a, b) => a.place - b.place);
}

function listNodes(editor) {
  return [...editor.model.nodes.values()]
    .filter((node) => !isNote(node) && !node.isEntry)
    .sort((a, b) => a.x - b.x || a.y - b.y)
    .map((node) => ({ id: `go:${node.id}`, name: getNodeName(editor, node.id), hint: t("Go to · {kind}", { kind: getKindName(editor, node.kind) }), group: t("Go to"), icon: findOffer(editor, node.kind)?.icon, family: findOffer(editor, node.kind)?.family, words: [node.id, t("go to {name}", { name: getNodeName(editor, node.id) })] }));
}

const loadRecent = () => loadValue(RECENT_KEY, []);
const storeRecent = (id) => storeValue(RECENT_KEY, [id, ...loadRecent().filter((other) => other !== id)].slice(0, 5));
