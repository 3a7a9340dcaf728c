// The workflow's own settings: how a chat opens, and the variables of the environment and of conversations.

import { t } from "../editor/words.js";
import { Form } from "./form.js";
import { read } from "./trees.js";

export function setUpWorkflow(inspector) {
  const { editor, root, held } = inspector;
  inspector.form = new Form({
    editor,
    root: root.querySelector("[data-form]"),
    data: held.features,
    op: { op: "feature" },
    about: () => held.name,
  });
  inspector.form.addEventListener("refused", () => inspector.reload());
  inspector.form.showMine();
  inspector.enhance(inspector.panel);
  for (const field of root.querySelectorAll("[data-header]")) setUpHeader(field, inspector);
  for (const area of root.querySelectorAll("[data-area]")) setUpArea(area, inspector);
}

const HEADER_LABELS = { name: () => t("Name of the workflow"), description: () => t("Description of the workflow") };

/** One edit when the field is left, taken back and told to others like any other. */
function setUpHeader(field, { editor }) {
  const { header: name } = field.dataset;
  let stored = field.value;
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && name === "name" && !event.isComposing) field.blur();
    if (event.key !== "Escape") return;
    event.stopPropagation();
    field.value = stored;
    field.blur();
  });
  field.addEventListener("change", async () => {
    const value = name === "name" ? field.value.split(/\s+/).filter(Boolean).join(" ") : field.value.trim();
    if (name === "name" && !value) return (field.value = stored); // a name can't be empty
    if (value === stored) return;
    const before = stored;
    stored = value;
    if (await editor.edits.send([{ op: "header", field: name, value }], { label: HEADER_LABELS[name](), texts: ["description"] })) return;
    stored = before;
    field.value = before;
  });
  const heard = ({ detail }) => {
    if (!field.isConnected) return editor.removeEventListener("change", heard);
    const op = detail.ops?.findLast((one) => one.op === "header" && one.field === name);
    if (!op) return;
    stored = op.value;
    if (document.activeElement !== field) field.value = op.value;
  };
  editor.addEventListener("change", heard);
}

function setUpArea(area, inspector) {
  area.addEventListener("click", (event) => {
    if (event.target.closest("[data-add-variable]")) addRow(area);
    const remove = event.target.closest("[data-remove-variable]");
    if (remove) removeVariable(area, remove.closest("[data-variable]"), inspector);
  });
  area.addEventListener("submit", (event) => {
    event.preventDefault();
    save(area, event.target.closest("[data-variable]"), inspector);
  });
}

function addRow(area) {
  const template = area.querySelector("[data-new-variable]");
  const row = template.content.firstElementChild.cloneNode(true);
  template.before(row);
  row.querySelector("[name=name]").focus();
}

async function save(area, row, inspector) {
  const form = row.querySelector("form");
  const error = row.querySelector("[data-variable-error]");
  const known = read(row.dataset.spec) ?? {};
  const type = form.elements.type.value;
  const name = form.elements.name.value.trim();
  error.textContent = "";
  let value;
  try {
    value = typedValue(form.elements.value.value, type);
  } catch {
    error.textContent = t("The value isn't of type {type}.", { type });
    return form.elements.value.focus();
  }
  const spec = { value_type: type, description: form.elements.description.value };
  // Of a secret nobody sees the value; one that isn't typed anew stays what it is.
  const keeps = type === "secret" && known.is_secret && value === "";
  if (!keeps) spec.value = value;
  const old = row.dataset.variable;
  const isTaken = name !== old && [...area.querySelectorAll("[data-variable]")].some((one) => one !== row && one.dataset.variable === name);
  if (isTaken) {
    error.textContent = t("There is a variable by that name.");
    return form.elements.name.focus();
  }
  const op = { op: "variable", area: area.dataset.area, name: old || name, spec };
  if (old && old !== name) op.rename = name;
  const change = await inspector.editor.edits.send([op], { label: t("Variable {name}", { name }) });
  if (change === null) return (error.textContent = t("Not accepted"));
  inspector.editor.say(t("Saved"));
  await inspector.reload({ drawn: true });
  inspector.root.querySelector(`[data-area="${area.dataset.area}"] [data-variable="${CSS.escape(name)}"] summary`)?.focus();
}

async function removeVariable(area, row, inspector) {
  const name = row.dataset.variable;
  row.remove();
  area.querySelector("[data-add-variable]")?.focus();
  if (name) await inspector.editor.edits.send([{ op: "variable", area: area.dataset.area, name, spec: null }], { label: t("Remove the variable {name}", { name }) });
}

function typedValue(text, type) {
  if (type === "string" || type === "secret") return text;
  if (text.trim() === "") return null;
  const value = JSON.parse(text);
  const kind = Array.isArray(value) ? "array" : value === null ? "null" : typeof value;
  const wanted = type.startsWith("array") ? "array" : ["number", "integer", "float"].includes(type) ? "number" : type;
  if (wanted !== "any" && kind !== wanted) throw new TypeError(kind);
  return value;
}
