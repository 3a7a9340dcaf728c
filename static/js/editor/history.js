// Versions and edits at the bottom: fetched when they are looked at, and again after each change while they are.

import { nowPublic } from "./publishing.js";
import { t } from "./words.js";

export function install(editor) {
  const panel = editor.root.querySelector("#panel-history");
  const tab = editor.root.querySelector("#tab-history");
  if (!panel || !editor.urls.history) return;

  let isStale = true;
  let asked = null;

  async function refresh() {
    asked?.abort();
    asked = new AbortController();
    try {
      const answer = await fetch(editor.urls.history, { signal: asked.signal, headers: { "HX-Request": "true" } });
      if (!answer.ok) throw new Error(String(answer.status));
      panel.innerHTML = await answer.text();
      isStale = false;
    } catch (error) {
      if (error.name !== "AbortError") panel.textContent = t("The history could not be loaded");
    }
  }

  const look = () => isStale && !panel.hidden && refresh();
  new MutationObserver(look).observe(panel, { attributes: true, attributeFilter: ["hidden"] });
  tab?.addEventListener("click", () => setTimeout(look));
  let waiting;
  editor.addEventListener("change", () => {
    isStale = true;
    clearTimeout(waiting);
    waiting = setTimeout(look, 600);
  });

  editor.addEventListener("published", () => {
    isStale = true;
    look();
  });

  panel.addEventListener("submit", async (event) => {
    const form = event.target.closest("form[data-history]");
    if (!form) return;
    event.preventDefault();
    const button = form.querySelector("button");
    button.disabled = true;
    try {
      const answer = await fetch(form.action, { method: "POST", body: new FormData(form), headers: { "HX-Request": "true" } });
      const isPublished = answer.headers.get("Content-Type")?.includes("json");
      if (isPublished) nowPublic(editor, await answer.json(), false);
      else editor.say(answer.ok || answer.status === 409 ? await answer.text() : t("That did not work"));
      if (answer.ok) await editor.edits.catchUp();
    } catch {
      editor.say(t("That did not work"));
    }
    button.disabled = false;
    await refresh();
  });

  editor.commands.add({ id: "history", label: t("Show the history"), group: "view", words: "versions edits log restore", run: () => editor.panel("history") });
  look();
}
