// The bar at the top: whether everything is saved, what undo would undo, and buttons that run commands.

import * as publishing from "./publishing.js";
import { t } from "./words.js";

const SAVED = {
  saved: () => t("Saved"),
  saving: () => t("Saving…"),
  offline: () => t("Offline: kept here, sent when the server answers"),
  clash: () => t("The same thing was changed twice"),
};

export function install(editor) {
  const { root, edits } = editor;
  const saved = root.querySelector("#saved");
  const away = root.querySelector("#away");
  const buttons = { undo: root.querySelector('[data-command="undo"]'), redo: root.querySelector('[data-command="redo"]') };

  function showState() {
    if (!editor.canEdit) return;
    saved.textContent = (SAVED[edits.state] ?? SAVED.saved)();
    saved.dataset.state = edits.state;
    showAway();
  }

  /** Where there is no room for the state beside the name, a line of its own says that edits wait. */
  function showAway() {
    const n = edits.waiting.length;
    away.hidden = edits.state !== "offline";
    if (!away.hidden) away.textContent = edits.away === "signed-out" ? t("Signed out. Edits that wait: {n}", { n }) : t("Offline. Edits that wait: {n}", { n });
  }

  function showUndo({ undo, redo }) {
    for (const [name, step] of Object.entries({ undo, redo })) {
      const button = buttons[name];
      if (!button || step === undefined) continue;
      button.disabled = !step;
      const words = step?.label ? t(name === "undo" ? "Undo {what}" : "Redo {what}", { what: step.label }) : t(name === "undo" ? "Undo" : "Redo");
      button.title = words;
      button.setAttribute("aria-label", words);
    }
  }

  function showName({ ops }) {
    const name = ops?.findLast(({ op, field }) => op === "header" && field === "name")?.value;
    const shown = root.querySelector("#workflow-name");
    if (!name || !shown) return;
    document.title = document.title.replace(shown.textContent, name);
    shown.textContent = name;
  }

  /** From what is published: at once by any edit; whether one led back to it the server tells. */
  function showDiffers(on) {
    root.querySelector("#published.pill-ok")?.toggleAttribute("data-differs", on);
  }

  edits.addEventListener("state", showState);
  edits.addEventListener("waiting", showAway);
  editor.addEventListener("change", (event) => showName(event.detail));
  editor.addEventListener("change", (event) => showUndo(event.detail));
  editor.addEventListener("change", ({ detail }) => detail.ops?.length && showDiffers(true));
  editor.addEventListener("differs", ({ detail }) => showDiffers(detail));
  root.addEventListener("click", (event) => {
    const button = event.target.closest("[data-command]");
    if (button) editor.commands.run(button.dataset.command);
    const opener = event.target.closest("[data-open-panel]");
    if (opener) editor.panel(opener.dataset.openPanel);
  });
  publishing.install(editor);
  showState();
}
