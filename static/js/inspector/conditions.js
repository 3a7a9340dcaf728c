// Rows whose second half depends on the first: conditions, assignments, variables of a loop.

import { t } from "../editor/words.js";
import { valueOf } from "./controls.js";
import { read } from "./trees.js";
import { paint } from "./variables.js";

const LISTED = new Set(["in", "not in", "all of"]);
const OVER_FILES = new Set(["contains", "not contains", "all of"]);

export function enhance(part, inspector) {
  for (const row of all(part, "[data-condition]")) new Condition(row, inspector);
  for (const row of all(part, "[data-assignment]")) new Assignment(row, inspector);
  for (const row of all(part, "[data-loop-variable]")) new LoopVariable(row, inspector);
}

class Condition {
  constructor(row, inspector) {
    this.row = row;
    this.inspector = inspector;
    this.variable = own(row, ".insp-variable");
    this.operator = own(row, '[data-key="comparison_operator"]');
    this.every = [...this.operator.options].map((option) => option.cloneNode(true));
    this.expected = own(row, "[data-expected]");
    this.sub = own(row, "[data-sub]");
    this.variable.addEventListener("change", () => this.#draw(true));
    this.operator.addEventListener("change", () => this.#draw());
    this.#draw();
  }

  #draw(picked = false) {
    const type = this.inspector.variables.type(read(this.variable.dataset.value, []));
    this.#offer(type, picked);
    const operator = this.operator.value;
    const asksFiles = type === "array[file]" && OVER_FILES.has(operator);
    this.sub.hidden = !asksFiles;
    this.expected.hidden = asksFiles || this.inspector.held.unary.includes(operator);
    if (!this.expected.hidden) expect(this.expected, type, operator, this.inspector);
  }

  #offer(type, picked) {
    const known = this.inspector.held.operators[type] ?? this.inspector.held.operators[""];
    const now = this.operator.value;
    const fits = known.includes(now);
    this.operator.replaceChildren(...this.every.filter((option) => known.includes(option.value) || (option.value === now && !picked)).map((option) => option.cloneNode(true)));
    this.operator.value = fits || !picked ? now : known[0];
    if (picked && !fits) this.operator.dispatchEvent(new Event("change", { bubbles: true }));
  }
}

/** The control for what is expected: by the type of the left side and the operator. */
function expect(place, type, operator, inspector) {
  const as = LISTED.has(operator) ? "lines" : type === "boolean" ? "boolean" : "text";
  if (place.dataset.kind === as) return;
  const before = place.firstElementChild ? current(place.firstElementChild) : read(place.dataset.value, "");
  place.dataset.kind = as;
  const control = MAKERS[as](before);
  control.dataset.as = as;
  control.setAttribute("aria-label", t("Value"));
  if (!inspector.editor.canEdit) control.disabled = true;
  place.replaceChildren(control);
  if (as === "text") {
    control.dataset.completes = "";
    inspector.enhance(place);
  }
}

function current(control) {
  try {
    return valueOf(control);
  } catch {
    return "";
  }
}

const input = (value) => {
  const made = element("input", "input");
  made.type = "text";
  made.placeholder = t("Value");
  made.value = value === null || value === undefined ? "" : typeof value === "object" ? JSON.stringify(value) : String(value);
  return made;
};

const MAKERS = {
  text: input,
  lines: (value) => {
    const made = element("textarea", "input");
    made.rows = 2;
    made.placeholder = t("One a line");
    made.value = (Array.isArray(value) ? value : value ? [value] : []).join("\n");
    return made;
  },
  boolean: (value) => select([["true", t("true")], ["false", t("false")]], String(value === true || value === "true")),
  constant: input,
};

class Assignment {
  constructor(row, inspector) {
    Object.assign(this, { row, inspector });
    this.target = own(row, ".insp-variable");
    this.operation = own(row, '[data-key="operation"]');
    this.source = own(row, '[data-key="input_type"]');
    this.place = own(row, "[data-operand]");
    for (const one of [this.target, this.operation, this.source]) one.addEventListener("change", () => this.#draw());
    this.#draw(true);
  }

  #draw(first = false) {
    const type = this.inspector.variables.type(read(this.target.dataset.value, []));
    const known = this.inspector.held.assignments[type] ?? [];
    const names = known.map(({ name }) => name);
    offer(this.operation, names.map((name) => [name, OPERATIONS()[name] ?? name]), first ? this.operation.dataset.value : this.operation.value, !first);
    const chosen = known.find(({ name }) => name === this.operation.value);
    const words = { variable: t("from a variable"), constant: t("a constant") };
    const sources = (chosen?.sources ?? ["variable", "constant"]).filter((one) => one !== "constant" || !type.startsWith("array"));
    offer(this.source, sources.map((name) => [name, words[name]]), first ? this.source.dataset.value : this.source.value, !first);
    const needs = chosen?.operand !== false;
    this.source.hidden = !needs;
    this.place.hidden = !needs;
    if (needs) operand(this.place, this.source.value === "variable", type, this.inspector);
  }
}

class LoopVariable {
  constructor(row, inspector) {
    this.place = own(row, "[data-operand]");
    const source = own(row, '[data-key="value_type"]');
    const type = own(row, '[data-key="var_type"]');
    const draw = () => operand(this.place, source.value === "variable", type.value, inspector);
    source.addEventListener("change", draw);
    type.addEventListener("change", draw);
    draw();
  }
}

/** A variable's button, or a box for a constant of the type. */
function operand(place, isVariable, type, inspector) {
  const kind = isVariable ? "variable" : type === "boolean" ? "boolean" : ["number", "integer", "float"].includes(type) ? "number" : type.startsWith("array") || type === "object" ? "json" : "constant";
  if (place.dataset.kind === kind) return;
  const given = place.dataset.kind ? undefined : read(place.dataset.value);
  place.dataset.kind = kind;
  const control = isVariable ? variableButton(given, type) : constant(kind, given);
  if (!inspector.editor.canEdit) control.disabled = true;
  place.replaceChildren(control);
  if (isVariable) paint(control, inspector.variables);
}

function variableButton(given, type) {
  const made = element("button", "insp-variable");
  made.type = "button";
  Object.assign(made.dataset, { as: "selector", value: JSON.stringify(Array.isArray(given) ? given : []), wants: type === "any" ? "" : type, place: "", label: t("Value") });
  made.setAttribute("aria-haspopup", "dialog");
  return made;
}

function constant(kind, given) {
  const value = Array.isArray(given) && kind !== "json" ? "" : given;
  const made = kind === "boolean" ? MAKERS.boolean(value) : kind === "json" ? element("textarea", "input mono") : MAKERS.text(value);
  if (kind === "json") made.value = value === undefined || value === null ? "" : typeof value === "string" ? value : JSON.stringify(value);
  if (kind === "number") Object.assign(made, { type: "number", step: "any" });
  made.dataset.as = kind === "constant" ? "text" : kind;
  made.setAttribute("aria-label", t("Value"));
  return made;
}

const OPERATIONS = () => ({
  "over-write": t("becomes"),
  set: t("is set to"),
  clear: t("is emptied"),
  append: t("gets appended"),
  extend: t("gets all of"),
  "remove-first": t("loses its first"),
  "remove-last": t("loses its last"),
});

function offer(control, choices, value, tells) {
  control.replaceChildren(...choices.map(([name, words]) => new Option(words, name)));
  const fits = choices.some(([name]) => name === value);
  if (!fits && value && !tells) control.append(new Option(value, value));
  control.value = fits || !tells ? value : (choices[0]?.[0] ?? "");
  if (tells && !fits) control.dispatchEvent(new Event("change", { bubbles: true }));
}

function select(choices, value) {
  const made = element("select", "input");
  offer(made, choices, value, false);
  return made;
}

function element(tag, className) {
  const made = document.createElement(tag);
  made.className = className;
  return made;
}

// A condition may hold rows of its own, about files: theirs aren't ours.
const own = (row, selector) => [...row.querySelectorAll(selector)].find((one) => one.closest("[data-item]") === row);
const all = (part, selector) => [...(part.matches?.(selector) ? [part] : []), ...part.querySelectorAll(selector)];
