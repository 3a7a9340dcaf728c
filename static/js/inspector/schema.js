// A JSON schema, as rows: name, type, whether it must be there, what it means; objects hold rows of their own. Or as JSON.

import { t } from "../editor/words.js";
import { pathOf } from "./controls.js";
import { read } from "./trees.js";

const TYPES = ["string", "number", "integer", "boolean", "object", "array[string]", "array[number]", "array[object]"];
const DEEPEST = 5;

export function enhance(part, inspector) {
  for (const place of part.querySelectorAll("[data-schema]")) new Schema(place, inspector);
}

class Schema {
  constructor(place, inspector) {
    Object.assign(this, { place, inspector });
    this.schema = read(place.dataset.value) ?? { type: "object", properties: {}, required: [] };
    this.raw = !isPlain(this.schema);
    this.#draw();
  }

  #draw(focus = null) {
    const head = el("div", "insp-schema-head");
    head.append(this.#mode(t("Fields"), false), this.#mode("JSON", true));
    this.place.replaceChildren(head, this.raw ? this.#json() : this.#object(this.schema, 1));
    if (focus) this.place.querySelector(`[data-at="${CSS.escape(focus)}"]`)?.focus();
    if (!this.inspector.editor.canEdit) for (const one of this.place.querySelectorAll("input, select, textarea, .button")) one.disabled = true;
  }

  #mode(words, raw) {
    const button = el("button", "button button-quiet button-s");
    button.type = "button";
    button.textContent = words;
    button.setAttribute("aria-pressed", String(this.raw === raw));
    button.addEventListener("click", () => {
      if (!raw && !isPlain(this.schema)) return this.inspector.editor.say(t("This schema has parts that only JSON can show."));
      this.raw = raw;
      this.#draw();
    });
    return button;
  }

  #json() {
    const area = el("textarea", "input mono insp-schema-json");
    area.spellcheck = false;
    area.rows = 12;
    area.setAttribute("aria-label", t("Schema as JSON"));
    area.value = JSON.stringify(this.schema, null, 2);
    const error = el("p", "field-error");
    area.addEventListener("change", () => {
      try {
        const value = JSON.parse(area.value);
        if (value?.type !== "object") throw new Error(t("the outermost type has to be object"));
        this.schema = value;
        error.textContent = "";
        this.#save();
      } catch (problem) {
        error.textContent = t("This isn't a schema: {why}", { why: problem.message });
      }
      area.setAttribute("aria-invalid", String(Boolean(error.textContent)));
    });
    const box = el("div");
    box.append(area, error);
    return box;
  }

  #object(schema, depth, trail = "") {
    const box = el("div", "insp-schema-object");
    for (const name of Object.keys(schema.properties ?? {})) box.append(this.#row(schema, name, depth, `${trail}/${name}`));
    const add = el("button", "button button-quiet button-s insp-add");
    add.type = "button";
    add.textContent = t("+ Field");
    add.addEventListener("click", () => {
      const name = freeName(schema.properties ?? {});
      schema.properties = { ...schema.properties, [name]: { type: "string" } };
      this.#save();
      this.#draw(`${trail}/${name}`);
    });
    box.append(add);
    return box;
  }

  #row(home, name, depth, trail) {
    const part = home.properties[name];
    const row = el("div", "insp-schema-field");
    const line = el("div", "insp-row");
    line.append(this.#name(home, name, trail), this.#type(home, name, depth), this.#required(home, name), this.#remove(home, name));
    row.append(line, this.#meaning(part));
    const inner = part.type === "object" ? part : part.type === "array" && part.items?.type === "object" ? part.items : null;
    if (inner) row.append(this.#object(inner, depth + 1, trail));
    return row;
  }

  #name(home, name, trail) {
    const input = el("input", "input insp-name");
    input.value = name;
    input.dataset.at = trail;
    input.setAttribute("aria-label", t("Name"));
    input.addEventListener("change", () => {
      const next = input.value.trim();
      if (!next || next === name || next in home.properties) return (input.value = name);
      home.properties = Object.fromEntries(Object.entries(home.properties).map(([key, value]) => [key === name ? next : key, value]));
      home.required = (home.required ?? []).map((one) => (one === name ? next : one));
      this.#save();
      this.#draw();
    });
    return input;
  }

  #type(home, name, depth) {
    const part = home.properties[name];
    const select = el("select", "input");
    select.setAttribute("aria-label", t("Type"));
    for (const type of TYPES) if (depth < DEEPEST || !type.includes("object")) select.append(new Option(type, type));
    select.value = part.type === "array" ? `array[${part.items?.type ?? "string"}]` : part.type;
    select.addEventListener("change", () => {
      const inner = /^array\[(\w+)\]$/.exec(select.value)?.[1];
      const kept = part.description ? { description: part.description } : {};
      home.properties[name] = { ...shape(inner ? "array" : select.value, inner), ...kept };
      this.#save();
      this.#draw();
    });
    return select;
  }

  #required(home, name) {
    const label = el("label", "insp-check");
    const box = el("input");
    box.type = "checkbox";
    box.checked = (home.required ?? []).includes(name);
    box.addEventListener("change", () => {
      const others = (home.required ?? []).filter((one) => one !== name);
      home.required = box.checked ? [...others, name] : others;
      this.#save();
    });
    label.append(box, t("Required"));
    return label;
  }

  #meaning(part) {
    const input = el("input", "input insp-schema-meaning");
    input.value = part.description ?? "";
    input.placeholder = t("What it means, for the model");
    input.setAttribute("aria-label", t("What it means, for the model"));
    input.addEventListener("change", () => {
      if (input.value) part.description = input.value;
      else delete part.description;
      this.#save();
    });
    return input;
  }

  #remove(home, name) {
    const button = el("button", "button button-quiet button-icon button-s");
    button.type = "button";
    button.textContent = "×";
    button.setAttribute("aria-label", t("Remove {what}", { what: name }));
    button.addEventListener("click", () => {
      delete home.properties[name];
      home.required = (home.required ?? []).filter((one) => one !== name);
      this.#save();
      this.#draw();
    });
    return button;
  }

  #save() {
    this.inspector.form.save(pathOf(this.place), structuredClone(this.schema), { el: this.place });
  }
}

function shape(type, inner) {
  if (type === "object") return { type, properties: {}, required: [] };
  return type === "array" ? { type, items: shape(inner) } : { type };
}

/** Whether the rows can show all of it. */
function isPlain(schema) {
  const known = ["type", "properties", "required", "description", "items", "additionalProperties", "title"];
  if (!schema || typeof schema !== "object" || Object.keys(schema).some((one) => !known.includes(one))) return false;
  if (Array.isArray(schema.type) || (schema.items && !isPlain(schema.items))) return false;
  return Object.values(schema.properties ?? {}).every(isPlain);
}

function freeName(properties) {
  let number = 1;
  while (`field_${number}` in properties) number++;
  return `field_${number}`;
}

function el(tag, className = "") {
  const made = document.createElement(tag);
  made.className = className;
  return made;
}
