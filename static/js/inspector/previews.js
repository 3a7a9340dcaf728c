// What is fetched beside the form: a text as the last run fills it in, what would be recalled now, the last run itself.

import { t } from "../editor/words.js";
import { pathText } from "./writing.js";

// What a change of means that memory would be asked something else.
const ASKED = [
  "enhanced_memory", "scope", "query_selector", "topic_selector", "content_selector", "document_selector", "key", "top_k", "filter", "language",
];

export async function fragment(url, signal) {
  const answer = await fetch(url, { headers: { "HX-Request": "true" }, signal });
  return answer.ok ? answer.text() : null;
}

export function put(place, html) {
  place.replaceChildren(document.createRange().createContextualFragment(html));
  globalThis.htmx?.process?.(place);
}

export function watch(inspector) {
  inspector.root.addEventListener("click", (event) => {
    const preview = event.target.closest("[data-preview]");
    if (preview) return togglePreview(inspector, preview);
    const recall = event.target.closest("[data-recall-open]");
    if (recall) return toggleRecall(inspector, recall);
    const larger = event.target.closest("[data-larger]");
    if (larger) enlarge(larger);
  });
  inspector.root.addEventListener("change", (event) => {
    const form = event.target.closest("[data-recall-form]");
    if (form) showRecall(inspector, form.closest("[data-recall]"), event.target);
  });
  inspector.root.addEventListener("submit", (event) => {
    const form = event.target.closest("[data-recall-form]");
    if (!form) return;
    event.preventDefault();
    showRecall(inspector, form.closest("[data-recall]"));
  });
}

/** The previews that are open show the text, or the settings, as they are now. */
export function refresh(inspector, path) {
  for (const box of inspector.root.querySelectorAll("[data-writing]")) {
    const place = box.querySelector("[data-preview-place]");
    if (!place.hidden && pathText(box) === path.join(".")) showPreview(inspector, box);
  }
  for (const box of inspector.root.querySelectorAll("[data-recall]")) {
    if (!box.querySelector("[data-recall-place]").hidden && ASKED.includes(path[0])) showRecall(inspector, box);
  }
}

function togglePreview(inspector, button) {
  const box = button.closest("[data-writing]");
  const place = box.querySelector("[data-preview-place]");
  place.hidden = !place.hidden;
  button.setAttribute("aria-expanded", String(!place.hidden));
  if (!place.hidden) showPreview(inspector, box);
}

async function showPreview(inspector, box) {
  await inspector.form.flush();
  const place = box.querySelector("[data-preview-place]");
  const url = new URL(inspector.panel.dataset.rendered, location.href);
  url.searchParams.set("path", pathText(box));
  const html = await fragment(url);
  put(place, html ?? `<p class="hint"></p>`);
  if (html === null) place.firstElementChild.textContent = t("There is nothing to show yet.");
}

function toggleRecall(inspector, button) {
  const box = button.closest("[data-recall]");
  const place = box.querySelector("[data-recall-place]");
  place.hidden = !place.hidden;
  button.setAttribute("aria-expanded", String(!place.hidden));
  if (!place.hidden) showRecall(inspector, box);
}

async function showRecall(inspector, box, focused = null) {
  await inspector.form.flush();
  const place = box.querySelector("[data-recall-place]");
  const form = place.querySelector("[data-recall-form]");
  const url = new URL(inspector.panel.dataset.recalled, location.href);
  if (form) for (const control of form.querySelectorAll("[name]")) url.searchParams.set(control.name, control.value);
  const name = focused?.name ?? (place.contains(document.activeElement) ? document.activeElement.name : null);
  const html = await fragment(url);
  put(place, html ?? `<p class="field-error"></p>`);
  if (html === null) place.firstElementChild.textContent = t("That can't be looked at: is the person's id written right?");
  if (name) place.querySelector(`[name="${CSS.escape(name)}"]`)?.focus();
}

function enlarge(button) {
  const box = button.closest("[data-writing], [data-code]");
  const isLarge = box.classList.toggle("is-large");
  button.setAttribute("aria-pressed", String(isLarge));
  box.querySelector("textarea").focus();
}
