// Pinning from a node's menu and from its tab of outputs: both lead to the one form, and the card says at once what became of it.

import { nameOf, only } from "./graph.js";
import { t } from "./words.js";

const PATIENCE = 5000; // ms until the form must be there

export function install(editor) {
  const panel = editor.root.querySelector("#panel-node");
  if (!panel || !editor.canEdit) return;
  const isPinned = (node) => Boolean(node?.el.hasAttribute("data-pinned") || node?.el.querySelector(":scope > .wf-card > .wf-head > .wf-pin"));

  editor.commands.add({
    id: "pin-node",
    label: () => (isPinned(only(editor)) ? t("Change or remove the pin…") : t("Pin its outputs…")),
    keys: "P",
    group: "run",
    edits: true,
    menu: ["node"],
    lone: true,
    words: t("pin mock freeze hold outputs"),
    when: (e) => Boolean(only(e)) && !only(e).isNote && !only(e).isEntry,
    run: (e) => open(e, panel, only(e).id),
  });

  // The pin's form comes back from the server saying whether there is a pin now.
  new MutationObserver(() => {
    for (const { dataset } of panel.querySelectorAll("[data-pin-of]")) {
      const isSo = dataset.isPinned === "yes";
      editor.canvas.paintNode(dataset.pinOf, { pinned: isSo });
      showChip(editor, dataset.pinOf, isSo);
    }
  }).observe(panel, { childList: true, subtree: true });
}

/** The form stands in the tab of the last run, whose outputs it offers. */
function open(editor, panel, id) {
  editor.emit("open", { id, tab: "last" });
  const shown = () => {
    const form = panel.querySelector(`[data-pin-of="${CSS.escape(id)}"]`);
    if (!form?.checkVisibility()) return false;
    form.querySelector("details").open = true;
    form.scrollIntoView({ block: "nearest" });
    form.querySelector("textarea")?.focus();
    editor.say(t("Pin the outputs of {name}", { name: nameOf(editor, id) }));
    return true;
  };
  if (shown()) return;
  const watcher = new MutationObserver(() => shown() && watcher.disconnect());
  watcher.observe(panel, { childList: true, subtree: true, attributes: true, attributeFilter: ["hidden"] });
  setTimeout(() => watcher.disconnect(), PATIENCE);
}

/** As the server will draw it from the next time on. */
function showChip(editor, id, on) {
  const head = editor.model.nodes.get(id)?.el.querySelector(":scope > .wf-card > .wf-head");
  const chip = head?.querySelector(":scope > .wf-pin");
  if (!head || Boolean(chip) === on) return;
  if (!on) return chip.remove();
  const made = document.createElement("span");
  made.className = "wf-chip wf-pin wf-i-pin";
  made.title = t("pinned");
  head.append(made);
}
