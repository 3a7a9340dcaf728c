// Publishes without leaving the page, so that selection, zoom and undo stay.

import { showToast } from "../../common/toasts.js";
import { t } from "../../common/translations.js";

export function install(editor) {
  const form = editor.root.querySelector("form[data-publish]");
  document.addEventListener("click", (event) => {
    if (!event.target.closest("[data-published-close]")) return;
    event.preventDefault();
    closeDialog();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && event.target.closest?.("[data-published]")) closeDialog();
  });
  editor.addEventListener("published-somewhere", () => refreshChip(editor));
  const menu = form?.closest("details");
  // opening the menu leads to the field for the note
  menu?.addEventListener("toggle", ({ target }) => {
    if (target.open) {
      form.elements.note.focus();
      showErrors(editor, form);
    } else form.querySelector("[data-publish-refused]").replaceChildren();
  });
  // a link to a problem leads out of the menu
  form?.addEventListener("click", ({ target }) => target.closest("[data-jump], [data-open-panel]") && (menu.open = false));
  form?.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (form.hasAttribute("aria-busy")) return;
    form.setAttribute("aria-busy", "true");
    await publish(editor, form, event.submitter);
    form.removeAttribute("aria-busy");
  });
}

/** Show at once what keeps the draft from being published, instead of after the button. */
async function showErrors(editor, form) {
  try {
    if (!(await waitUntilSent(editor.edits))) return;
    const response = await fetch(`${editor.urls.problems}?publishing`, { headers: { "HX-Request": "true" } });
    const refusal = form.querySelector("[data-publish-refused]");
    if (response.ok && form.closest("details").open && !form.hasAttribute("aria-busy")) refusal.replaceChildren(parseFragment(await response.text()) ?? "");
  } catch {
    // the button tells them
  }
}

async function publish(editor, form, submitter) {
  if (!(await waitUntilSent(editor.edits))) return showToast(t("Not published: some edits are not saved yet"));
  try {
    const response = await fetch(form.action, { method: "POST", body: new FormData(form, submitter), headers: { "HX-Request": "true" } });
    const result = await response.json();
    const refusal = form.querySelector("[data-publish-refused]");
    refusal.replaceChildren(result.html ? parseFragment(result.html) : "");
    if (result.html) return refusal.querySelector("[data-jump]")?.focus();
    form.closest("details").open = false;
    if (response.ok) {
      refusal.replaceChildren();
      form.reset();
      return showPublished(editor, result);
    }
    return showToast(result.refused ?? t("Something went wrong"));
  } catch {
    return showToast(t("Something went wrong"));
  }
}

/** Show that a version is published now. `opensDialog`: whether to explain how to call it, too. */
export function showPublished(editor, { said: message, chip, dialog }, opensDialog = true) {
  editor.root.querySelector("#published")?.replaceWith(parseFragment(chip));
  for (const link of editor.root.querySelectorAll("[data-needs-version]")) link.hidden = false;
  if (opensDialog && dialog) openDialog(dialog);
  editor.emit("published");
  showToast(message);
}

/** Update the chip after somebody published elsewhere. */
async function refreshChip(editor) {
  try {
    const response = await fetch(editor.urls.published_chip, { headers: { "HX-Request": "true" } });
    if (!response.ok) return;
    editor.root.querySelector("#published")?.replaceWith(parseFragment(await response.text()));
    for (const link of editor.root.querySelectorAll("[data-needs-version]")) link.hidden = false;
    editor.emit("published");
  } catch {
    // the present chip stays until the next update
  }
}

function openDialog(html) {
  document.querySelector("[data-published]")?.remove();
  getEditorElement().after(parseFragment(html));
  window.htmx.process(document.querySelector("[data-published]"));
  document.querySelector("[data-published-close]").focus();
}

function closeDialog() {
  const dialog = document.querySelector("[data-published]");
  const hadFocus = dialog?.contains(document.activeElement);
  dialog?.remove();
  // a reload must not show the dialog again
  const url = new URL(location.href);
  url.searchParams.delete("published");
  history.replaceState(history.state, "", url);
  if (hadFocus) document.querySelector("[data-tour=publish]")?.focus();
}

/** Wait until all edits are sent; resolves to false when that is not possible now. */
function waitUntilSent(edits) {
  if (!edits.waiting.length) return Promise.resolve(true);
  if (edits.state === "offline") return Promise.resolve(false);
  return new Promise((resolve) => {
    edits.addEventListener("state", () => resolve(waitUntilSent(edits)), { once: true });
  });
}

const getEditorElement = () => document.getElementById("editor");
const parseFragment = (html) => document.createRange().createContextualFragment(html.trim());
