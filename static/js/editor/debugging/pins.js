// Pins from the menu of a node and from its tab of outputs use the same form; the card shows the result at once.

import { getNodeName, getOnlySelectedNode } from "../graph_queries.js";
import { t } from "../../common/translations.js";

const FORM_TIMEOUT = 5000; // ms to wait for the form

export function install(editor) {
  const panel = editor.root.querySelector("#panel-node");
  if (!panel || !editor.canEdit) return;
  const isPinned = (node) => Boolean(node?.el.hasAttribute("data-pinned") || node?.el.querySelector(":scope > .wf-card > .wf-head > .wf-pin"));

  editor.commands.add({
    id: "pin-node",
    label: () => (isPinned(getOnlySelectedNode(editor)) ? t("Edit pin…") : t("Pin output…")),
    keys: "P",
    group: "run",
    edits: true,
    menu: ["node"],
    lone: true,
    words: t("pin mock freeze hold outputs"),
    when: (e) => Boolean(getOnlySelectedNode(e)) && !getOnlySelectedNode(e).isNote && !getOnlySelectedNode(e).isEntry,
    run: (e) => openPinForm(e, panel, getOnlySelectedNode(e).id),
  });

  // The form comes back from the server with the information whether a pin exists.
  new MutationObserver(() => {
    for (const { dataset } of panel.querySelectorAll("[data-pin-of]")) {
      const hasPin = dataset.isPinned === "yes";
      editor.canvas.paintNode(dataset.pinOf, { pinned: hasPin });
      showChip(editor, dataset.pinOf, hasPin);
    }
  }).observe(panel, { childList: true, subtree: true });
}

/** Open the form in the tab of the last run, whose outputs it offers. */
function openPinForm(editor, panel, id) {
  editor.emit("open", { id, tab: "last" });
  const showForm = () => {
    const form = panel.querySelector(`[data-pin-of="${CSS.escape(id)}"]`);
    if (!form?.checkVisibility()) return false;
    form.querySelector("details").open = true;
    form.scrollIntoView({ block: "nearest" });
    form.querySelector("textarea")?.focus();
    editor.say(t("Pin the output of {name}", { name: getNodeName(editor, id) }));
    return true;
  };
  if (showForm()) return;
  const watcher = new MutationObserver(() => showForm() && watcher.disconnect());
  watcher.observe(panel, { childList: true, subtree: true, attributes: true, attributeFilter: ["hidden"] });
  setTimeout(() => watcher.disconnect(), FORM_TIMEOUT);
}

/** Show the pin on the card as the server will render it later. */
function showChip(editor, id, on) {
  const head = editor.model.nodes.get(id)?.el.querySelector(":scope > .wf-card > .wf-head");
  const chip = head?.querySelector(":scope > .wf-pin");
  if (!head || Boolean(chip) === on) return;
  if (!on) return chip.remove();
  const pin = document.createElement("span");
  pin.className = "wf-chip wf-pin wf-i-pin";
  pin.title = t("Pinned");
  head.append(pin);
}
