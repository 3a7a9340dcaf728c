// Ctrl+F: names, types, values and problems, found by the server; each hit leads to its node and field.

import { t } from "./words.js";

const REST = 160;

export function install(editor) {
  const box = document.getElementById("find");
  const field = box.querySelector("#find-query");
  const list = box.querySelector("#find-hits");
  const count = box.querySelector("#find-count");
  editor.root.querySelector(".ed-main").append(box);
  let at = -1;
  let asked = null;
  let waiting = 0;
  let from = null;

  const hits = () => [...list.querySelectorAll(".find-hit")];

  function open() {
    if (box.hidden) from = document.activeElement;
    box.hidden = false;
    editor.panels?.view?.("canvas");
    field.focus();
    field.select();
    // what closes at this very moment may still give the focus back to where it was
    setTimeout(() => !box.hidden && document.activeElement === document.body && field.focus());
  }

  function close() {
    box.hidden = true;
    for (const node of editor.model.nodes.values()) node.el.classList.remove("is-found");
    if (from?.isConnected) from.focus();
  }

  async function ask() {
    asked?.abort();
    asked = new AbortController();
    const query = field.value.trim();
    if (!query) return show(document.createDocumentFragment());
    try {
      const answer = await fetch(`${editor.urls.find}?${new URLSearchParams({ q: query })}`, { signal: asked.signal });
      if (answer.ok) show(document.createRange().createContextualFragment(await answer.text()));
    } catch (error) {
      if (error.name !== "AbortError") count.textContent = t("Can't ask the server");
    }
  }

  function show(fragment) {
    list.replaceChildren(fragment);
    at = -1;
    const found = new Set(hits().map((hit) => hit.dataset.node));
    for (const node of editor.model.nodes.values()) node.el.classList.toggle("is-found", found.has(node.id));
    tell();
  }

  function tell() {
    const total = hits().length;
    count.textContent = !field.value.trim() ? "" : total ? t("{at} of {n}", { at: at + 1, n: total }) : t("None");
  }

  function step(by) {
    const all = hits();
    if (!all.length) return;
    go((at + by + all.length) % all.length);
  }

  /** Who walks from hit to hit by key goes on doing so; a click leads into the field. */
  function go(to, { keepFocus = true } = {}) {
    const all = hits();
    all[at]?.removeAttribute("aria-current");
    at = to;
    const hit = all[at];
    hit.setAttribute("aria-current", "true");
    hit.scrollIntoView({ block: "nearest" });
    tell();
    if (!editor.model.nodes.has(hit.dataset.node)) return;
    editor.canvas.pick([hit.dataset.node]);
    editor.canvas.reveal(hit.dataset.node);
    if (hit.dataset.field) editor.emit("open", { id: hit.dataset.node, field: hit.dataset.field, keepFocus });
    editor.say(hit.textContent.replaceAll(/\s+/g, " ").trim());
  }

  field.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(ask, REST);
  });
  box.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      event.preventDefault();
      event.stopPropagation();
      close();
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp" || (event.key === "Enter" && event.target === field && !event.isComposing)) {
      event.preventDefault();
      step(event.key === "ArrowUp" || event.shiftKey ? -1 : 1);
    }
  });
  box.addEventListener("click", (event) => {
    const by = event.target.closest("[data-find-step]")?.dataset.findStep;
    if (by) step(Number(by));
    if (event.target.closest("[data-find-close]")) close();
    const hit = event.target.closest(".find-hit");
    if (hit) go(hits().indexOf(hit), { keepFocus: false });
  });
  editor.addEventListener("change", () => {
    if (box.hidden || !field.value.trim()) return;
    clearTimeout(waiting);
    waiting = setTimeout(ask, 4 * REST);
  });
  editor.commands.add({ id: "find", label: t("Find in this workflow"), keys: "Mod+F", group: "find", anywhere: true, menu: ["canvas"], run: open });
}
