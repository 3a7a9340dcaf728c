// The list of problems: counted in the bar, and each one leads to its node and field.

import { t } from "./words.js";

// What is only moved about is as right or wrong as before.
const HARMLESS = new Set(["move", "resize", "note"]);

export function install(editor) {
  const { root } = editor;
  const panel = root.querySelector("#panel-problems");
  const button = root.querySelector("#problems-button");

  panel.addEventListener("click", (event) => {
    const jump = event.target.closest("[data-jump]")?.dataset;
    if (!jump?.jump) return;
    editor.canvas.pick([jump.jump]);
    editor.canvas.reveal(jump.jump);
    editor.emit("open", { id: jump.jump, field: jump.field || null });
  });

  let asked = null;
  async function refresh() {
    asked?.abort();
    asked = new AbortController();
    try {
      const answer = await fetch(editor.urls.problems, { signal: asked.signal, headers: { "HX-Request": "true" } });
      if (!answer.ok) return;
      editor.emit("differs", answer.headers.get("X-Draft-Differs") === "yes");
      show(await answer.text());
    } catch (error) {
      if (error.name !== "AbortError") console.warn(error);
    }
  }

  function show(html) {
    const focused = panel.contains(document.activeElement);
    panel.replaceChildren(document.createRange().createContextualFragment(html));
    const marks = [...panel.querySelectorAll("[data-jump] .pill")];
    const errors = marks.filter((mark) => mark.classList.contains("pill-bad")).length;
    button.classList.toggle("is-bad", errors > 0);
    button.classList.toggle("is-warn", errors === 0 && marks.length > 0);
    const icon = button.querySelector("use");
    icon.setAttribute("href", icon.getAttribute("href").replace(/#.*/, marks.length ? "#warning" : "#check"));
    const words = button.querySelector("[data-problem-words]");
    words.textContent = marks.length === 0 ? t("No problems") : marks.length === 1 ? t("One problem") : t("{n} problems", { n: marks.length });
    for (const count of root.querySelectorAll("[data-problem-count]")) {
      count.hidden = marks.length === 0;
      count.textContent = String(marks.length);
    }
    if (focused) panel.querySelector("[data-jump]")?.focus();
  }

  // After an edit, once typing rests: the whole list is asked for, whatever the edit touched.
  let waiting;
  editor.addEventListener("change", ({ detail: { ops, kind } }) => {
    // what is taken back may be what was published again, also where it only moves
    const isBack = kind !== "edit" && root.querySelector("#published[data-differs]");
    if (!isBack && ops?.length && ops.every(({ op }) => HARMLESS.has(op))) return;
    clearTimeout(waiting);
    waiting = setTimeout(refresh, 400);
  });
}
