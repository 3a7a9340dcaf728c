// Keeps the run form in step with the inputs of the start node without a reload, and keeps what was typed. The form starts
// with the last submitted values; later input is stored in this tab until it is submitted.

import { RunFormDrafts } from "./run_form_drafts.js";
import { fetchPage } from "../collaboration/requests.js";
import { t } from "../../common/translations.js";
import { replaceAroundTypedTexts } from "../../common/typed_texts.js";

const REFRESH_DELAY = 250;
// The kind of the node at which runs start, and where its data has the inputs.
const INPUT_PATHS = { start: ["variables"], "trigger-webhook": ["headers", "params", "body"] };

export function install(editor) {
  if (!document.querySelector("#run-card > form")) return;
  let timer = 0;
  const drafts = new RunFormDrafts(editor);
  installValidation(editor);
  focusFirstField(editor);

  async function refresh() {
    const page = await fetchPage(location.pathname);
    if (!page) return;
    show(page);
    drafts.updateClearButton();
  }

  editor.addEventListener("change", ({ detail }) => {
    if (!detail.ops.some((op) => changesInputs(editor, op))) return;
    clearTimeout(timer);
    timer = setTimeout(refresh, REFRESH_DELAY);
  });
}

/** Whoever has just created a workflow wants to try it. */
function focusFirstField({ root }) {
  if (new URLSearchParams(location.search).has("created")) root.querySelector("#run-card > form > .field :is(input, textarea, select)")?.focus();
}

/** Show a message at the first invalid field, instead of the browser's own for each of them. */
function installValidation(editor) {
  let isHandled = false;
  const onInvalid = (event) => {
    if (!event.target.form?.matches("#run-card > form")) return;
    event.preventDefault();
    if (isHandled) return;
    isHandled = true;
    setTimeout(() => (isHandled = false));
    showFieldHint(event.target, editor);
  };
  editor.root.addEventListener("invalid", onInvalid, true); // captured, since these events do not bubble
}

/** Show a hint below the field until something is typed. */
function showFieldHint(control, editor) {
  const message = control.validity.valueMissing ? t("This field is required.") : control.title || control.validationMessage;
  const field = control.closest(".field");
  const id = `${control.id}-asked`;
  const section = control.closest("details");
  if (section) section.open = true;
  control.focus();
  editor.say(message);
  const existing = document.getElementById(id);
  if (existing) return void (existing.textContent = message); // the hint is still there
  const hint = Object.assign(document.createElement("span"), { id, className: "hint run-hint", textContent: message });
  field.append(hint);
  const described = control.getAttribute("aria-describedby");
  control.setAttribute("aria-describedby", [described, id].filter(Boolean).join(" "));
  const removeHint = () => {
    hint.remove();
    if (described) control.setAttribute("aria-describedby", described);
    else control.removeAttribute("aria-describedby");
  };
  control.addEventListener("input", removeHint, { once: true });
}

export function changesInputs(editor, { op, id, node, path }) {
  if (op === "add") return node.kind in INPUT_PATHS;
  return op === "set" && (INPUT_PATHS[editor.model.nodes.get(id)?.kind] ?? []).includes(path[0]);
}

function show(page) {
  const form = document.querySelector("#run-card > form");
  const next = page.querySelector("#run-card > form");
  if (!form || !next) return;
  const fields = [...form.children].filter((child) => child.matches(".field"));
  const newFields = [...next.children].filter((child) => child.matches(".field"));
  const drafts = new FormData(form);
  for (const field of newFields) for (const control of field.querySelectorAll("[name]")) restoreValue(control, form, drafts);
  const optionsSection = form.querySelector(":scope > details");
  replaceAroundTypedTexts(form, () => {
    for (const field of fields) field.remove();
    optionsSection.before(...newFields);
  });
  if (next.querySelector(":scope > details[open]")) optionsSection.open = true;
}

export function restoreValue(control, form, drafts) {
  if (!form.elements[control.name]) return;
  if (control.type === "checkbox") control.checked = drafts.has(control.name);
  else control.value = drafts.get(control.name) ?? "";
}
