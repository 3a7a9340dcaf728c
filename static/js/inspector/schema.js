// Edits a JSON schema as rows (name, type, required, description), where objects contain rows of their own, or as JSON.

import { t } from "../common/translations.js";
import { getPath } from "./controls.js";
import { parseJson } from "../common/json_paths.js";

const TYPES = ["string", "number", "integer", "boolean", "object", "array[string]", "array[number]", "array[object]"];
const MAX_DEPTH = 5;

export function enhance(part, inspector) {
  for (const container of part.querySelectorAll("[data-schema]")) new Schema(container, inspector);
}

class Schema {
  constructor(container, inspector) {
    Object.assign(this, { container, inspector });
    this.schema = parseJson(container.dataset.value) ?? { type: "object", properties: {}, required: [] };
    this.isRaw = !isSupported(this.schema);
    this.#draw();
  }

  #draw(focus = null) {
    const head = createElement("div", "insp-schema-head");
    head.append(this.#createModeButton(t("Fields"), false), this.#createModeButton("JSON", true));
    this.container.replaceChildren(head, this.isRaw ? this.#createJsonEditor() : this.#createObject(this.schema, 1));
    if (focus) this.container.querySelector(`[data-at="${CSS.escape(focus)}"]`)?.focus();
    if (!this.inspector.editor.canEdit) for (const control of this.container.querySelectorAll("input, select, textarea, .button")) control.disabled = true;
  }

  #createModeButton(label, isRaw) {
    const button = createElement("button", "button button-quiet button-s");
    button.type = "button";
    button.textContent = label;
    button.setAttribute("aria-pressed", String(this.isRaw === isRaw));
    button.addEventListener("click", () => {
      if (!isRaw && !isSupported(this.schema)) return this.inspector.editor.say(t("This schema can only be edited as JSON."));
      this.isRaw = isRaw;
      this.#draw();
    });
    return button;
  }

  #createJsonEditor() {
    const area = createElement("textarea", "input mono insp-schema-json");
    area.spellcheck = false;
    area.rows = 12;
    area.setAttribute("aria-label", t("Schema (JSON)"));
    area.value = JSON.stringify(this.schema, null, 2);
    const error = createElement("p", "field-error");
    area.addEventListener("change", () => {
      try {
        const value = JSON.parse(area.value);
        if (value?.type !== "object") throw new Error(t("The root type must be object"));
        this.schema = value;
        error.textContent = "";
        this.#save();
      } catch (problem) {
        error.textContent = t("Invalid schema: {why}", { why: problem.message });
      }
      area.setAttribute("aria-invalid", String(Boolean(error.textContent)));
    });
    const box = createElement("div");
    box.append(area, error);
    return box;
  }

  #createObject(schema, depth, path = "") {
    const box = createElement("div", "insp-schema-object");
    for (const name of Object.keys(schema.properties ?? {})) box.append(this.#createRow(schema, name, depth, `${path}/${name}`));
    const add = createElement("button", "button button-quiet button-s insp-add");
    add.type = "button";
    add.textContent = t("+ Field");
    add.addEventListener("click", () => {
      const name = createFreeName(schema.properties ?? {});
      schema.properties = { ...schema.properties, [name]: { type: "string" } };
      this.#save();
      this.#draw(`${path}/${name}`);
    });
    box.append(add);
    return box;
  }

  #createRow(parent, name, depth, path) {
    const part = parent.properties[name];
    const row = createElement("div", "insp-schema-field");
    const line = createElement("div", "insp-row");
    line.append(this.#createName(parent, name, path), this.#createType(parent, name, depth), this.#createRequired(parent, name), this.#createRemoveButton(parent, name));
    row.append(line, this.#createDescription(part));
    const inner = part.type === "object" ? part : part.type === "array" && part.items?.type === "object" ? part.items : null;
    if (inner) row.append(this.#createObject(inner, depth + 1, path));
    return row;
  }

  #createName(parent, name, path) {
    const input = createElement("input", "input insp-name");
    input.value = name;
    input.dataset.at = path;
    input.setAttribute("aria-label", t("Name"));
    input.addEventListener("change", () => {
      const next = input.value.trim();
      if (!next || next === name || next in parent.properties) return (input.value = name);
      parent.properties = Object.fromEntries(Object.entries(parent.properties).map(([key, value]) => [key === name ? next : key, value]));
      parent.required = (parent.required ?? []).map((control) => (control === name ? next : control));
      this.#save();
      this.#draw();
    });
    return input;
  }

  #createType(parent, name, depth) {
    const part = parent.properties[name];
    const select = createElement("select", "input");
    select.setAttribute("aria-label", t("Type"));
    for (const type of TYPES) if (depth < MAX_DEPTH || !type.includes("object")) select.append(new Option(type, type));
    select.value = part.type === "array" ? `array[${part.items?.type ?? "string"}]` : part.type;
    select.addEventListener("change", () => {
      const inner = /^array\[(\w+)\]$/.exec(select.value)?.[1];
      const description = part.description ? { description: part.description } : {};
      parent.properties[name] = { ...createSchema(inner ? "array" : select.value, inner), ...description };
      this.#save();
      this.#draw();
    });
    return select;
  }

  #createRequired(parent, name) {
    const label = createElement("label", "insp-check");
    const box = createElement("input");
    box.type = "checkbox";
    box.checked = (parent.required ?? []).includes(name);
    box.addEventListener("change", () => {
      const otherNames = (parent.required ?? []).filter((control) => control !== name);
      parent.required = box.checked ? [...otherNames, name] : otherNames;
      this.#save();
    });
    label.append(box, t("Required"));
    return label;
  }

  #createDescription(part) {
    const input = createElement("input", "input insp-schema-meaning");
    input.value = part.description ?? "";
    input.placeholder = t("Description for the model");
    input.setAttribute("aria-label", t("Description for the model"));
    input.addEventListener("change", () => {
      if (input.value) part.description = input.value;
      else delete part.description;
      this.#save();
    });
    return input;
  }

  #createRemoveButton(parent, name) {
    const button = createElement("button", "button button-quiet button-icon button-s");
    button.type = "button";
    button.textContent = "×";
    button.setAttribute("aria-label", t("Remove {what}", { what: name }));
    button.addEventListener("click", () => {
      delete parent.properties[name];
      parent.required = (parent.required ?? []).filter((control) => control !== name);
      this.#save();
      this.#draw();
    });
    return button;
  }

  #save() {
    this.inspector.form.save(getPath(this.container), structuredClone(this.schema), { el: this.container });
  }
}

function createSchema(type, inner) {
  if (type === "object") return { type, properties: {}, required: [] };
  return type === "array" ? { type, items: createSchema(inner) } : { type };
}

/** Return whether the rows can show the whole schema. */
function isSupported(schema) {
  const supported = ["type", "properties", "required", "description", "items", "additionalProperties", "title"];
  if (!schema || typeof schema !== "object" || Object.keys(schema).some((control) => !supported.includes(control))) return false;
  if (Array.isArray(schema.type) || (schema.items && !isSupported(schema.items))) return false;
  return Object.values(schema.properties ?? {}).every(isSupported);
}

function createFreeName(properties) {
  let number = 1;
  while (`field_${number}` in properties) number++;
  return `field_${number}`;
}

function createElement(tag, className = "") {
  const element = document.createElement(tag);
  element.className = className;
  return element;
}
