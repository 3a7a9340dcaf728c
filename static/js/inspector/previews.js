// Content that is fetched beside the form: a text filled in with the last run, the present result of a recall, the last run
// itself.

import { t } from "../common/translations.js";
import { replaceAroundTypedTexts } from "../common/typed_texts.js";
import { getPathText } from "./template_editor.js";

// Fields that change the result of a recall.
const RECALL_FIELDS = [
  "enhanced_memory", "scope", "query_selector", "topic_selector", "content_selector", "document_selector", "key", "top_k", "filter", "language",
];

export async function fetchFragment(url, signal) {
  const response = await fetch(url, { headers: { "HX-Request": "true" }, signal });
  return response.ok ? response.text() : null;
}

export function setContent(container, html) {
  replaceAroundTypedTexts(container, () => container.replaceChildren(document.createRange().createContextualFragment(html)));
  globalThis.htmx?.process?.(container);
}

export function watch(inspector) {
  inspector.root.addEventListener("click", (event) => {
    const preview = event.target.closest("[data-preview]");
    if (preview) return togglePreview(inspector, preview);
    const recall = event.target.closest("[data-recall-open]");
    if (recall) return toggleRecall(inspector, recall);
    const larger = event.target.closest("[data-larger]");
    if (larger) toggleLarge(larger);
  });
  inspector.root.addEventListener("change", (event) => {
    const values = event.target.closest("[data-preview-values]");
    if (values) return showPreview(inspector, values.closest("[data-writing]"), event.target);
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

/** Update the open previews after a change. */
export function refresh(inspector, path) {
  for (const box of inspector.root.querySelectorAll("[data-writing]")) {
    const container = box.querySelector("[data-preview-place]");
    if (!container.hidden && getPathText(box) === path.join(".")) showPreview(inspector, box);
  }
  for (const box of inspector.root.querySelectorAll("[data-recall]")) {
    if (!box.querySelector("[data-recall-place]").hidden && RECALL_FIELDS.includes(path[0])) showRecall(inspector, box);
  }
}

function togglePreview(inspector, button) {
  const box = button.closest("[data-writing]");
  const container = box.querySelector("[data-preview-place]");
  container.hidden = !container.hidden;
  button.setAttribute("aria-expanded", String(!container.hidden));
  if (!container.hidden) showPreview(inspector, box);
}

/** Show the text with the values of the last run; values that were typed below it take their place. */
async function showPreview(inspector, box, changedValue = null) {
  await inspector.form.flush();
  if (!box.isConnected) return;
  const container = box.querySelector("[data-preview-place]");
  const url = new URL(inspector.panel.dataset.rendered, location.href);
  url.searchParams.set("path", getPathText(box));
  for (const area of container.querySelectorAll("[data-preview-values] textarea")) {
    if (area === changedValue || "changed" in area.dataset) url.searchParams.set(area.name, area.value);
  }
  const changed = [...url.searchParams.keys()];
  const html = await fetchFragment(url);
  setContent(container, html ?? `<p class="hint"></p>`);
  if (html === null) container.firstElementChild.textContent = t("No data yet.");
  for (const area of container.querySelectorAll("[data-preview-values] textarea")) if (changed.includes(area.name)) area.dataset.changed = "";
}

function toggleRecall(inspector, button) {
  const box = button.closest("[data-recall]");
  const container = box.querySelector("[data-recall-place]");
  container.hidden = !container.hidden;
  button.setAttribute("aria-expanded", String(!container.hidden));
  if (!container.hidden) showRecall(inspector, box);
}

async function showRecall(inspector, box, focusedControl = null) {
  await inspector.form.flush();
  if (!box.isConnected) return;
  const container = box.querySelector("[data-recall-place]");
  const form = container.querySelector("[data-recall-form]");
  const url = new URL(inspector.panel.dataset.recalled, location.href);
  if (form) for (const control of form.querySelectorAll("[name]")) url.searchParams.set(control.name, control.value);
  const name = focusedControl?.name ?? (container.contains(document.activeElement) ? document.activeElement.name : null);
  const html = await fetchFragment(url);
  setContent(container, html ?? `<p class="field-error"></p>`);
  if (html === null) container.firstElementChild.textContent = t("Preview failed. Check the user ID.");
  if (name) container.querySelector(`[name="${CSS.escape(name)}"]`)?.focus();
}

function toggleLarge(button) {
  const box = button.closest("[data-writing], [data-code]");
  const isLarge = box.classList.toggle("is-large");
  button.setAttribute("aria-pressed", String(isLarge));
  box.querySelector("textarea").focus();
}
