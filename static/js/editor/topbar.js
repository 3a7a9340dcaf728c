// The bar at the top: the state of saving, the next undo and redo, and buttons that run commands.

import * as publishing from "./history/publishing.js";
import { t } from "../common/translations.js";

const SAVED = {
  saved: () => t("Saved"),
  saving: () => t("Saving…"),
  offline: () => t("Offline. Edits are saved here and sent when you are back online"),
  conflict: () => t("Conflicting edits"),
};

export function install(editor) {
  const { root, edits } = editor;
  const status = root.querySelector("#saved");
  const offlineStatus = root.querySelector("#away");
  const buttons = { undo: root.querySelector('[data-command="undo"]'), redo: root.querySelector('[data-command="redo"]') };

  function showState() {
    if (!editor.canEdit) return;
    const state = edits.state === "saved" && !navigator.onLine ? "offline" : edits.state;
    status.textContent = (SAVED[state] ?? SAVED.saved)();
    status.dataset.state = state;
    showOffline();
  }

  /** Show the number of waiting edits in a line of its own while offline. */
  function showOffline() {
    const n = edits.waiting.length;
    offlineStatus.hidden = edits.state !== "offline";
    if (!offlineStatus.hidden) offlineStatus.textContent = edits.offlineReason === "signed-out" ? t("Signed out. Unsent edits: {n}", { n }) : t("Offline. Unsent edits: {n}", { n });
  }

  function showUndo({ undo, redo }) {
    for (const [name, step] of Object.entries({ undo, redo })) {
      const button = buttons[name];
      if (!button || step === undefined) continue;
      button.disabled = !step;
      const what = step?.label;
      const label = name === "undo" ? (what ? t("Undo {what}", { what }) : t("Undo")) : what ? t("Redo {what}", { what }) : t("Redo");
      button.title = label;
      button.setAttribute("aria-label", label);
    }
  }

  function showName({ ops }) {
    const name = ops?.findLast(({ op, field }) => op === "header" && field === "name")?.value;
    const heading = root.querySelector("#workflow-name");
    if (!name || !heading) return;
    document.title = document.title.replace(heading.textContent, name);
    heading.textContent = name;
  }

  /**
   * Show that the draft differs from the published version. Any edit may cause it; the server tells when an edit removes
   * the difference.
   */
  function showDiffers(on) {
    root.querySelector("#published.pill-ok")?.toggleAttribute("data-differs", on);
  }

  edits.addEventListener("state", showState);
  for (const name of ["online", "offline"]) window.addEventListener(name, showState);
  edits.addEventListener("waiting", showOffline);
  editor.addEventListener("change", (event) => showName(event.detail));
  editor.addEventListener("change", (event) => showUndo(event.detail));
  editor.addEventListener("change", ({ detail }) => detail.ops?.length && showDiffers(true));
  editor.addEventListener("differs", ({ detail }) => showDiffers(detail));
  root.addEventListener("click", (event) => {
    const button = event.target.closest("[data-command]");
    if (button) {
      button.closest("details[data-dismiss]")?.removeAttribute("open");
      editor.commands.run(button.dataset.command);
    }
    const opener = event.target.closest("[data-open-panel]");
    if (!opener) return;
    opener.closest("details")?.removeAttribute("open");
    editor.panel(opener.dataset.openPanel);
  });
  publishing.install(editor);
  showState();
}
