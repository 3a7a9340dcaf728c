// The settings of the workflow: name, description, opening of a chat, and variables of the environment and of
// conversations.

import { t } from "../common/translations.js";
import { Form } from "./form.js";
import { parseJson } from "../common/json_paths.js";

export function setUpWorkflow(inspector) {
  const { editor, root, current } = inspector;
  inspector.form = new Form({
    editor,
    root: root.querySelector("[data-form]"),
    data: current.features,
    op: { op: "feature" },
    about: () => current.name,
  });
  inspector.form.addEventListener("refused", () => inspector.reload());
  inspector.form.showPendingValues();
  inspector.enhance(inspector.panel);
  for (const field of root.querySelectorAll("[data-header]")) setUpHeader(field, inspector);
  for (const area of root.querySelectorAll("[data-area]")) setUpArea(area, inspector);
}

const HEADER_LABELS = { name: () => t("Workflow name"), description: () => t("Description of the workflow") };

/** Save the field when it is left, and show changes of it by others. */
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
    if (name === "name" && !value) return (field.value = stored); // a name cannot be empty
    if (value === stored) return;
    const previous = stored;
    stored = value;
    if (await editor.edits.send([{ op: "header", field: name, value }], { label: HEADER_LABELS[name](), texts: ["description"] })) return;
    stored = previous;
    field.value = previous;
  });
  const onChange = ({ detail }) => {
    if (!field.isConnected) return editor.removeEventListener("change", onChange);
    const op = detail.ops?.findLast((candidate) => candidate.op === "header" && candidate.field === name);
    if (!op) return;
    stored = op.value;
    if (document.activeElement !== field) field.value = op.value;
  };
  editor.addEventListener("change", onChange);
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
  const existing = parseJson(row.dataset.spec) ?? {};
  const type = form.elements.type.value;
  const name = form.elements.name.value.trim();
  error.textContent = "";
  let value;
  try {
    value = parseValue(form.elements.value.value, type);
  } catch {
    error.textContent = t("The value is not of type {type}.", { type });
    return form.elements.value.focus();
  }
  const spec = { value_type: type, description: form.elements.description.value };
  // Nobody sees the value of a secret; without new input it stays.
  const keepsSecret = type === "secret" && existing.is_secret && value === "";
  if (!keepsSecret) spec.value = value;
  const previousName = row.dataset.variable;
  const isDuplicate = name !== previousName && [...area.querySelectorAll("[data-variable]")].some((other) => other !== row && other.dataset.variable === name);
  if (isDuplicate) {
    error.textContent = t("A variable with this name already exists.");
    return form.elements.name.focus();
  }
  const op = { op: "variable", area: area.dataset.area, name: previousName || name, spec };
  if (previousName && previousName !== name) op.rename = name;
  const change = await inspector.editor.edits.send([op], { label: t("Variable {name}", { name }) });
  if (change === null) return (error.textContent = t("Not saved"));
  inspector.editor.say(t("Saved"));
  await inspector.reload({ redrawn: true });
  inspector.root.querySelector(`[data-area="${area.dataset.area}"] [data-variable="${CSS.escape(name)}"] summary`)?.focus();
}

async function removeVariable(area, row, inspector) {
  const name = row.dataset.variable;
  row.remove();
  area.querySelector("[data-add-variable]")?.focus();
  if (name) await inspector.editor.edits.send([{ op: "variable", area: area.dataset.area, name, spec: null }], { label: t("Remove variable {name}", { name }) });
}

function parseValue(text, type) {
  if (type === "string" || type === "secret") return text;
  if (text.trim() === "") return null;
  const value = JSON.parse(text);
  const kind = Array.isArray(value) ? "array" : value === null ? "null" : typeof value;
  const expected = type.startsWith("array") ? "array" : ["number", "integer", "float"].includes(type) ? "number" : type;
  if (expected !== "any" && kind !== expected) throw new TypeError(kind);
  return value;
}
