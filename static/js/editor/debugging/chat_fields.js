// Keeps the fields of the editor's chat, its inputs and its field for files, in step with the workflow without a reload.

import { fetchPage } from "../collaboration/requests.js";
import { replaceAroundTypedTexts } from "../../common/typed_texts.js";
import { changesInputs, restoreValue } from "./run_form.js";

const REFRESH_DELAY = 250;

export function install(editor) {
  const form = document.getElementById("chat-form");
  if (!form) return;
  let timer = 0;

  async function refresh() {
    const page = await fetchPage(location.pathname + location.search);
    const next = page?.getElementById("chat-form");
    if (next) show(form, next);
  }

  editor.addEventListener("change", ({ detail }) => {
    if (!detail.ops.some((op) => changesInputs(editor, op) || op.op === "feature")) return;
    clearTimeout(timer);
    timer = setTimeout(refresh, REFRESH_DELAY);
  });
}

/** Put the fields of the new form in the place of the old ones. What was typed stays, and so do chosen files. */
function show(form, next) {
  const message = form.querySelector("textarea[name=query]");
  const drafts = new FormData(form);
  const inputs = next.querySelector("#chat-inputs");
  for (const control of inputs?.querySelectorAll("[name]") ?? []) restoreValue(control, form, drafts);
  const picker = next.querySelector(":scope > file-picker");
  const current = form.querySelector(":scope > file-picker");
  const isSame = picker && current && ["max", "limits", "extensions"].every((name) => picker.dataset[name] === current.dataset[name]);
  replaceAroundTypedTexts(form, () => {
    form.querySelector("#chat-inputs")?.remove();
    if (!isSame) {
      current?.remove();
      if (picker) message.before(picker);
    }
    if (inputs) (form.querySelector(":scope > file-picker") ?? message).before(inputs);
  });
}
