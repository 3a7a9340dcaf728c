// The history of versions and edits: fetched when it is visible, and again after each change while it is.

import { showPublished } from "./publishing.js";
import { t } from "../../common/translations.js";
import { replaceAroundTypedTexts } from "../../common/typed_texts.js";

export function install(editor) {
  const panel = editor.root.querySelector("#panel-history");
  const tab = editor.root.querySelector("#tab-history");
  if (!panel || !editor.urls.history) return;

  let isStale = true;
  let request = null;

  async function refresh() {
    request?.abort();
    request = new AbortController();
    isStale = false; // what changes from now on may be missing in the answer
    try {
      const response = await fetch(editor.urls.history, { signal: request.signal, headers: { "HX-Request": "true" } });
      if (!response.ok) throw new Error(String(response.status));
      const html = await response.text();
      replaceAroundTypedTexts(panel, () => (panel.innerHTML = html));
    } catch (error) {
      if (error.name === "AbortError") return;
      isStale = true;
      panel.textContent = t("The history could not be loaded");
    }
  }

  const refreshIfVisible = () => isStale && !panel.hidden && refresh();
  new MutationObserver(refreshIfVisible).observe(panel, { attributes: true, attributeFilter: ["hidden"] });
  tab?.addEventListener("click", () => setTimeout(refreshIfVisible));
  let timer;
  editor.addEventListener("change", () => {
    isStale = true;
    clearTimeout(timer);
    timer = setTimeout(refreshIfVisible, 600);
  });

  editor.addEventListener("published", () => {
    isStale = true;
    refreshIfVisible();
  });

  panel.addEventListener("submit", async (event) => {
    const form = event.target.closest("form[data-history]");
    if (!form) return;
    event.preventDefault();
    const button = form.querySelector("button");
    button.disabled = true;
    try {
      const response = await fetch(form.action, { method: "POST", body: new FormData(form), headers: { "HX-Request": "true" } });
      if (response.ok) form.reset();
      const isPublished = response.headers.get("Content-Type")?.includes("json");
      if (isPublished) showPublished(editor, await response.json(), false);
      else editor.say(response.ok || response.status === 409 ? await response.text() : t("Something went wrong"));
      if (response.ok) await editor.edits.catchUp();
    } catch {
      editor.say(t("Something went wrong"));
    }
    button.disabled = false;
    await refresh();
  });

  editor.commands.add({ id: "history", label: t("Show history"), group: "view", words: "versions edits log restore", run: () => editor.panel("history") });
  refreshIfVisible();
}
