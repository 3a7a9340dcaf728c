// Rows whose second half depends on the first: conditions, assignments, variables of a loop.

import { t } from "../common/translations.js";
import { readValue } from "./controls.js";
import { parseJson } from "../common/json_paths.js";
import { paintVariable } from "./variables.js";

const LIST_OPERATORS = new Set(["in", "not in", "all of"]);
const FILE_OPERATORS = new Set(["contains", "not contains", "all of"]);

export function enhance(part, inspector) {
  for (const row of queryAll(part, "[data-condition]")) new Condition(row, inspector);
  for (const row of queryAll(part, "[data-assignment]")) new Assignment(row, inspector);
  for (const row of queryAll(part, "[data-loop-variable]")) new LoopVariable(row, inspector);
}

class Condition {
  constructor(row, inspector) {
    this.row = row;
    this.inspector = inspector;
    this.variable = findOwn(row, ".insp-variable");
    this.operator = findOwn(row, '[data-key="comparison_operator"]');
    this.every = [...this.operator.options].map((option) => option.cloneNode(true));
    this.expected = findOwn(row, "[data-expected]");
    this.sub = findOwn(row, "[data-sub]");
    this.variable.addEventListener("change", () => this.#draw(true));
    this.operator.addEventListener("change", () => this.#draw());
    this.#draw();
  }

  #draw(isPicked = false) {
    const type = this.inspector.variables.type(parseJson(this.variable.dataset.value, []));
    this.#showOperators(type, isPicked);
    const operator = this.operator.value;
    const usesFiles = type === "array[file]" && FILE_OPERATORS.has(operator);
    this.sub.hidden = !usesFiles;
    this.expected.hidden = usesFiles || this.inspector.current.unary.includes(operator);
    if (!this.expected.hidden) showExpected(this.expected, type, operator, this.inspector);
  }

  #showOperators(type, isPicked) {
    const available = this.inspector.current.operators[type] ?? this.inspector.current.operators[""];
    const current = this.operator.value;
    const isAvailable = available.includes(current);
    this.operator.replaceChildren(...this.every.filter((option) => available.includes(option.value) || (option.value === current && !isPicked)).map((option) => option.cloneNode(true)));
    this.operator.value = isAvailable || !isPicked ? current : available[0];
    if (isPicked && !isAvailable) this.operator.dispatchEvent(new Event("change", { bubbles: true }));
  }
}

/** Show the control for the expected value, by the type of the left side and the operator. */
function showExpected(container, type, operator, inspector) {
  const as = LIST_OPERATORS.has(operator) ? "lines" : type === "boolean" ? "boolean" : "text";
  if (container.dataset.kind === as) return;
  const previous = container.firstElementChild ? readSafely(container.firstElementChild) : parseJson(container.dataset.value, "");
  container.dataset.kind = as;
  const control = MAKERS[as](previous);
  control.dataset.as = as;
  control.setAttribute("aria-label", t("Value"));
  if (!inspector.editor.canEdit) control.disabled = true;
  container.replaceChildren(control);
  if (as === "text") {
    control.dataset.completes = "";
    inspector.enhance(container);
  }
}

function readSafely(control) {
  try {
    return readValue(control);
  } catch {
    return "";
  }
}

const createInput = (value) => {
  const control = createElement("input", "input");
  control.type = "text";
  control.placeholder = t("Value");
  control.value = value === null || value === undefined ? "" : typeof value === "object" ? JSON.stringify(value) : String(value);
  return control;
};

const MAKERS = {
  text: createInput,
  lines: (value) => {
    const control = createElement("textarea", "input");
    control.rows = 2;
    control.placeholder = t("One per line");
    control.value = (Array.isArray(value) ? value : value ? [value] : []).join("\n");
    return control;
  },
  boolean: (value) => createSelect([["true", t("true")], ["false", t("false")]], String(value === true || value === "true")),
  constant: createInput,
};

class Assignment {
  constructor(row, inspector) {
    Object.assign(this, { row, inspector });
    this.target = findOwn(row, ".insp-variable");
    this.operation = findOwn(row, '[data-key="operation"]');
    this.source = findOwn(row, '[data-key="input_type"]');
    this.place = findOwn(row, "[data-operand]");
    for (const trigger of [this.target, this.operation, this.source]) trigger.addEventListener("change", () => this.#draw());
    this.#draw(true);
  }

  #draw(first = false) {
    const type = this.inspector.variables.type(parseJson(this.target.dataset.value, []));
    const available = this.inspector.current.assignments[type] ?? [];
    const names = available.map(({ name }) => name);
    setOptions(this.operation, names.map((name) => [name, OPERATIONS()[name] ?? name]), first ? this.operation.dataset.value : this.operation.value, !first);
    const operation = available.find(({ name }) => name === this.operation.value);
    const sourceLabels = { variable: t("Variable"), constant: t("Constant") };
    const sources = (operation?.sources ?? ["variable", "constant"]).filter((trigger) => trigger !== "constant" || !type.startsWith("array"));
    setOptions(this.source, sources.map((name) => [name, sourceLabels[name]]), first ? this.source.dataset.value : this.source.value, !first);
    const needsOperand = operation?.operand !== false;
    this.source.hidden = !needsOperand;
    this.place.hidden = !needsOperand;
    if (needsOperand) showOperand(this.place, this.source.value === "variable", type, this.inspector);
  }
}

class LoopVariable {
  constructor(row, inspector) {
    this.place = findOwn(row, "[data-operand]");
    const source = findOwn(row, '[data-key="value_type"]');
    const type = findOwn(row, '[data-key="var_type"]');
    const draw = () => showOperand(this.place, source.value === "variable", type.value, inspector);
    source.addEventListener("change", draw);
    type.addEventListener("change", draw);
    draw();
  }
}

/** Show a button for a variable, or a field for a constant of the type. */
function showOperand(container, isVariable, type, inspector) {
  const kind = isVariable ? "variable" : type === "boolean" ? "boolean" : ["number", "integer", "float"].includes(type) ? "number" : type.startsWith("array") || type === "object" ? "json" : "constant";
  if (container.dataset.kind === kind) return;
  const initial = container.dataset.kind ? undefined : parseJson(container.dataset.value);
  container.dataset.kind = kind;
  const control = isVariable ? createVariableButton(initial, type) : createConstant(kind, initial);
  if (!inspector.editor.canEdit) control.disabled = true;
  container.replaceChildren(control);
  if (isVariable) paintVariable(control, inspector.variables);
}

function createVariableButton(initial, type) {
  const control = createElement("button", "insp-variable");
  control.type = "button";
  Object.assign(control.dataset, { as: "selector", value: JSON.stringify(Array.isArray(initial) ? initial : []), wants: type === "any" ? "" : type, place: "", label: t("Value") });
  control.setAttribute("aria-haspopup", "dialog");
  return control;
}

function createConstant(kind, initial) {
  const value = Array.isArray(initial) && kind !== "json" ? "" : initial;
  const control = kind === "boolean" ? MAKERS.boolean(value) : kind === "json" ? createElement("textarea", "input mono") : MAKERS.text(value);
  if (kind === "json") control.value = value === undefined || value === null ? "" : typeof value === "string" ? value : JSON.stringify(value);
  if (kind === "number") Object.assign(control, { type: "number", step: "any" });
  control.dataset.as = kind === "constant" ? "text" : kind;
  control.setAttribute("aria-label", t("Value"));
  return control;
}

const OPERATIONS = () => ({
  "over-write": t("Overwrite"),
  set: t("Set"),
  clear: t("Clear"),
  append: t("Append"),
  extend: t("Extend"),
  "remove-first": t("Remove first"),
  "remove-last": t("Remove last"),
});

function setOptions(control, choices, value, notifies) {
  control.replaceChildren(...choices.map(([name, sourceLabels]) => new Option(sourceLabels, name)));
  const isAvailable = choices.some(([name]) => name === value);
  if (!isAvailable && value && !notifies) control.append(new Option(value, value));
  control.value = isAvailable || !notifies ? value : (choices[0]?.[0] ?? "");
  if (notifies && !isAvailable) control.dispatchEvent(new Event("change", { bubbles: true }));
}

function createSelect(choices, value) {
  const control = createElement("select", "input");
  setOptions(control, choices, value, false);
  return control;
}

function createElement(tag, className) {
  const control = document.createElement(tag);
  control.className = className;
  return control;
}

// A condition may contain rows of its own about files, which are skipped.
const findOwn = (row, selector) => [...row.querySelectorAll(selector)].find((trigger) => trigger.closest("[data-item]") === row);
const queryAll = (part, selector) => [...(part.matches?.(selector) ? [part] : []), ...part.querySelectorAll(selector)];
