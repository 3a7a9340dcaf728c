// Find (Ctrl+F): the server searches names, types, values and problems; each hit leads to its node and field.

import { t } from "../../common/translations.js";

const INPUT_DELAY = 160;

export function install(editor) {
  const box = document.getElementById("find");
  const field = box.querySelector("#find-query");
  const list = box.querySelector("#find-hits");
  const count = box.querySelector("#find-count");
  editor.root.querySelector(".ed-main").append(box);
  let index = -1;
  let request = null;
  let timer = 0;
  let previousFocus = null;

  const listHits = () => [...list.querySelectorAll(".find-hit")];

  function openFind() {
    if (box.hidden) previousFocus = document.activeElement;
    box.hidden = false;
    editor.panels?.view?.("canvas");
    field.focus();
    field.select();
    // A closing popover may still return the focus to its earlier place.
    setTimeout(() => !box.hidden && document.activeElement === document.body && field.focus());
  }

  function close() {
    box.hidden = true;
    for (const node of editor.model.nodes.values()) node.el.classList.remove("is-hit");
    if (previousFocus?.isConnected) previousFocus.focus();
  }

  async function search() {
    request?.abort();
    request = new AbortController();
    const query = field.value.trim();
    if (!query) return showHits(document.createDocumentFragment());
    try {
      const response = await fetch(`${editor.urls.find}?${new URLSearchParams({ q: query })}`, { signal: request.signal });
      if (response.ok) showHits(document.createRange().createContextualFragment(await response.text()));
    } catch (error) {
      if (error.name !== "AbortError") count.textContent = t("Server not reachable");
    }
  }

  function showHits(fragment) {
    list.replaceChildren(fragment);
    index = -1;
    const hitIds = new Set(listHits().map((hit) => hit.dataset.node));
    for (const node of editor.model.nodes.values()) node.el.classList.toggle("is-hit", hitIds.has(node.id));
    showPosition();
  }

  function showPosition() {
    const total = listHits().length;
    count.textContent = !field.value.trim() ? "" : total ? t("{at} of {n}", { at: index + 1, n: total }) : t("None");
  }

  function step(offset) {
    const currentHits = listHits();
    if (!currentHits.length) return;
    goToHit((index + offset + currentHits.length) % currentHits.length);
  }

  /** Go to a hit. Moving by key keeps the focus; a click leads into the field. */
  function goToHit(nextIndex, { keepFocus = true } = {}) {
    const currentHits = listHits();
    currentHits[index]?.removeAttribute("aria-current");
    index = nextIndex;
    const hit = currentHits[index];
    hit.setAttribute("aria-current", "true");
    hit.scrollIntoView({ block: "nearest" });
    showPosition();
    if (!editor.model.nodes.has(hit.dataset.node)) return;
    editor.canvas.pick([hit.dataset.node]);
    editor.canvas.reveal(hit.dataset.node);
    if (hit.dataset.field) editor.emit("open", { id: hit.dataset.node, field: hit.dataset.field, keepFocus });
    editor.say(hit.textContent.replaceAll(/\s+/g, " ").trim());
  }

  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(search, INPUT_DELAY);
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
    const offset = event.target.closest("[data-find-step]")?.dataset.findStep;
    if (offset) step(Number(offset));
    if (event.target.closest("[data-find-close]")) close();
    const hit = event.target.closest(".find-hit");
    if (hit) goToHit(listHits().indexOf(hit), { keepFocus: false });
  });
  editor.addEventListener("change", () => {
    if (box.hidden || !field.value.trim()) return;
    clearTimeout(timer);
    timer = setTimeout(search, 4 * INPUT_DELAY);
  });
  editor.commands.add({ id: "find", label: t("Find in this workflow"), keys: "Mod+F", group: "find", anywhere: true, menu: ["canvas"], run: openFind });
}
