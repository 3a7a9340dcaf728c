// Publishing without leaving the page: what is chosen, how far it is zoomed and what can be undone stay.

import { toast } from "./toasts.js";
import { t } from "./words.js";

export function install(editor) {
  const form = editor.root.querySelector("form[data-publish]");
  document.addEventListener("click", (event) => {
    if (!event.target.closest("[data-published-close]")) return;
    event.preventDefault();
    close();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && event.target.closest?.("[data-published]")) close();
  });
  editor.addEventListener("published-somewhere", () => showNow(editor));
  // whoever opens it is about to write what changed
  form?.closest("details").addEventListener("toggle", ({ target }) => target.open && form.elements.note.focus());
  form?.addEventListener("submit", async (event) => {
    event.preventDefault();
    const button = form.querySelector("[type=submit]");
    if (button.disabled) return;
    button.disabled = true;
    await publish(editor, form);
    button.disabled = false;
  });
}

async function publish(editor, form) {
  if (!(await allSent(editor.edits))) return toast(t("Not published: some edits haven't reached the server yet"));
  try {
    const answer = await fetch(form.action, { method: "POST", body: new FormData(form), headers: { "HX-Request": "true" } });
    const told = await answer.json();
    form.closest("details").open = false;
    if (answer.ok) {
      form.reset();
      return nowPublic(editor, told);
    }
    if (told.problems) editor.panel("problems");
    return toast(told.refused ?? t("That did not work"));
  } catch {
    return toast(t("That did not work"));
  }
}

/** What the server says of a version that is the published one now. `shows`: how to call it, too. */
export function nowPublic(editor, { said, chip, dialog }, shows = true) {
  editor.root.querySelector("#published")?.replaceWith(fragmentOf(chip));
  for (const link of editor.root.querySelectorAll("[data-needs-version]")) link.hidden = false;
  if (shows && dialog) open(dialog);
  editor.emit("published");
  toast(said);
}

/** Somebody published, here or elsewhere: the chip says what others run from now on. */
async function showNow(editor) {
  try {
    const answer = await fetch(editor.urls.published_chip, { headers: { "HX-Request": "true" } });
    if (!answer.ok) return;
    editor.root.querySelector("#published")?.replaceWith(fragmentOf(await answer.text()));
    for (const link of editor.root.querySelectorAll("[data-needs-version]")) link.hidden = false;
    editor.emit("published");
  } catch {
    // what is shown stays, until the page is loaded or the next one is heard of
  }
}

function open(html) {
  document.querySelector("[data-published]")?.remove();
  editorEnd().after(fragmentOf(html));
  document.querySelector("[data-published-close]").focus();
}

function close() {
  const dialog = document.querySelector("[data-published]");
  const hadFocus = dialog?.contains(document.activeElement);
  dialog?.remove();
  // a page that was asked to show it doesn't show it again when it is loaded anew
  const place = new URL(location.href);
  place.searchParams.delete("published");
  history.replaceState(history.state, "", place);
  if (hadFocus) document.querySelector("[data-tour=publish]")?.focus();
}

/** Nothing on its way any more; false: it can't get through now. */
function allSent(edits) {
  if (!edits.waiting.length) return Promise.resolve(true);
  if (edits.state === "offline") return Promise.resolve(false);
  return new Promise((resolve) => {
    edits.addEventListener("state", () => resolve(allSent(edits)), { once: true });
  });
}

const editorEnd = () => document.getElementById("editor");
const fragmentOf = (html) => document.createRange().createContextualFragment(html.trim());
