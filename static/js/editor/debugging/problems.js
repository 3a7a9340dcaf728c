// The list of problems: counted in the bar; each one leads to its node and field.

import { t } from "../../common/translations.js";
import { paintBadges } from "./problem_badges.js";

// Operations that cannot change the list of problems.
const HARMLESS = new Set(["move", "resize", "note"]);

export function install(editor) {
  const { root } = editor;
  const panel = root.querySelector("#panel-problems");
  const button = root.querySelector("#problems-button");

  root.addEventListener("click", (event) => {
    const target = event.target.closest("[data-jump]")?.dataset;
    if (!target?.jump) return;
    editor.canvas.pick([target.jump]);
    editor.canvas.reveal(target.jump);
    editor.emit("open", { id: target.jump, field: target.field || null, isEdge: "isEdge" in target });
  });

  let request = null;
  async function refresh() {
    request?.abort();
    request = new AbortController();
    try {
      const response = await fetch(editor.urls.problems, { signal: request.signal, headers: { "HX-Request": "true" } });
      if (!response.ok) return;
      editor.emit("differs", response.headers.get("X-Draft-Differs") === "yes");
      show(await response.text());
    } catch (error) {
      if (error.name !== "AbortError") console.warn(error);
    }
  }

  function show(html) {
    const hadFocus = panel.contains(document.activeElement);
    panel.replaceChildren(document.createRange().createContextualFragment(html));
    const pills = [...panel.querySelectorAll("[data-jump] .pill")];
    const errors = pills.filter((mark) => mark.classList.contains("pill-bad")).length;
    button.classList.toggle("is-bad", errors > 0);
    button.classList.toggle("is-warn", errors === 0 && pills.length > 0);
    const icon = button.querySelector("use");
    icon.setAttribute("href", icon.getAttribute("href").replace(/#.*/, pills.length ? "#warning" : "#check"));
    const label = button.querySelector("[data-problem-words]");
    label.textContent = pills.length === 0 ? t("No problems") : pills.length === 1 ? t("1 problem") : t("{n} problems", { n: pills.length });
    for (const count of root.querySelectorAll("[data-problem-count]")) {
      count.hidden = pills.length === 0;
      count.textContent = String(pills.length);
    }
    paintBadges(root, panel);
    if (hadFocus) panel.querySelector("[data-jump]")?.focus();
    if (errors === 0) refusal?.replaceChildren(); // a run would start now
  }

  // A run that was not started lists the errors above the run's buttons, and the first one is shown on the canvas.
  const refusal = root.querySelector("#run-refused");
  if (refusal) {
    new MutationObserver(() => {
      const first = refusal.querySelector("[data-jump]");
      if (!first) return;
      editor.panel("run");
      if (editor.model.nodes.has(first.dataset.jump)) editor.canvas.reveal(first.dataset.jump);
      first.focus();
    }).observe(refusal, { childList: true });
  }

  // A run tells whether its models can be reached: the list, and the cards of which it says something else than before.
  const listModelProblems = () => new Set([...panel.querySelectorAll("[data-jump][data-field=model]")].map(({ dataset }) => dataset.jump));
  editor.addEventListener("run-over", async () => {
    const previous = listModelProblems();
    await refresh();
    const current = listModelProblems();
    const changed = [...new Set([...previous, ...current])].filter((id) => previous.has(id) !== current.has(id));
    if (changed.length) editor.edits.restore(changed);
  });

  // After an edit, once typing pauses, fetch the whole list.
  let timer;
  editor.addEventListener("change", ({ detail: { ops, kind } }) => {
    // Undo may return to the published version, also when it only moves nodes.
    const mayMatchPublished = kind !== "edit" && root.querySelector("#published[data-differs]");
    if (!mayMatchPublished && ops?.length && ops.every(({ op }) => HARMLESS.has(op))) return;
    clearTimeout(timer);
    timer = setTimeout(refresh, 400);
  });
}
