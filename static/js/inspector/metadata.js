// Rows for metadata (key, value) and for conditions on it (key, operator, value). The JSON text beside them is the control of
// the form; the rows write it and are painted from it, and what rows can't show stays JSON.

import { isEqual } from "../common/json_paths.js";

const OPERATORS = ["$ne", "$in", "$gt", "$gte", "$lt", "$lte"];
const PRESENCE = { exists: true, missing: false };

export function enhance(part) {
  for (const box of part.querySelectorAll("[data-metadata]")) setUpRows(box);
  for (const box of part.querySelectorAll("[data-duration]")) setUpDuration(box);
}

function setUpRows(box) {
  const rows = box.querySelector("[data-metadata-rows]");
  const json = box.querySelector("textarea");
  paint(box, rows, json);
  rows.querySelector("[data-metadata-add]").addEventListener("click", () => addRow(rows).querySelector("[data-metadata-name]").focus());
  rows.addEventListener("click", (event) => {
    const button = event.target.closest("[data-metadata-remove]");
    if (!button) return;
    button.closest("[data-metadata-row]").remove();
    rows.querySelector("[data-metadata-add]").focus();
    write(box, rows, json, true);
  });
  rows.addEventListener("input", () => write(box, rows, json, false));
  rows.addEventListener("change", () => write(box, rows, json, true));
  for (const name of ["shown", "input"]) {
    json.addEventListener(name, (event) => {
      if (event.detail?.fromRows || rows.contains(document.activeElement)) return;
      paint(box, rows, json);
    });
  }
}

/** Put the value of the rows into the JSON text, which the form then saves like any other input. */
function write(box, rows, json, isFinal) {
  for (const row of list(rows)) showValueField(row);
  const value = read(box, rows);
  const text = Object.keys(value).length ? JSON.stringify(value, null, 2) : "";
  if (isEqual(parse(json.value || "{}"), value)) return;
  json.value = text;
  json.dispatchEvent(new CustomEvent("input", { bubbles: true, detail: { fromRows: true } }));
  if (isFinal) json.dispatchEvent(new Event("change", { bubbles: true }));
}

function paint(box, rows, json) {
  const value = json.value.trim() === "" ? {} : parse(json.value);
  if (value === undefined) return; // half-written JSON
  const entries = box.dataset.metadata === "metadata" ? splitMetadata(value) : splitFilter(value);
  const note = box.querySelector("[data-metadata-note]");
  rows.hidden = entries === null;
  note.hidden = entries !== null;
  if (entries === null) return (box.querySelector("[data-metadata-json]").open = true);
  for (const row of list(rows)) row.remove();
  for (const [name, operator, text] of entries) addRow(rows, name, operator, text);
}

function addRow(rows, name = "", operator = "is", text = "") {
  const template = rows.querySelector(":scope > template");
  const row = template.content.firstElementChild.cloneNode(true);
  template.before(row);
  row.querySelector("[data-metadata-name]").value = name;
  const choice = row.querySelector("[data-metadata-operator]");
  if (choice) choice.value = operator;
  row.querySelector("[data-metadata-value]").value = text;
  showValueField(row);
  return row;
}

function showValueField(row) {
  row.querySelector("[data-metadata-value]").hidden = row.querySelector("[data-metadata-operator]")?.value in PRESENCE;
}

const list = (rows) => [...rows.querySelectorAll(":scope > [data-metadata-row]")];

/** Return the object that the rows describe. Rows without a key, and conditions without a value, are not complete yet. */
function read(box, rows) {
  const result = {};
  for (const row of list(rows)) {
    const name = row.querySelector("[data-metadata-name]").value.trim();
    const text = row.querySelector("[data-metadata-value]").value;
    const operator = row.querySelector("[data-metadata-operator]")?.value ?? "is";
    if (!name || (box.dataset.metadata !== "metadata" && !text.trim() && !(operator in PRESENCE))) continue;
    if (operator === "is") result[name] = parsePlain(text);
    else Object.assign((result[name] = isObject(result[name]) ? result[name] : {}), readCondition(operator, text));
  }
  return result;
}

function readCondition(operator, text) {
  if (operator in PRESENCE) return { $exists: PRESENCE[operator] };
  return { [operator]: operator === "$in" ? splitList(text).map(parsePlain) : parsePlain(text) };
}

/** Return [key, operator, text] for each member, or null if one is no plain value. */
function splitMetadata(value) {
  if (!isObject(value)) return null;
  const entries = Object.entries(value);
  return entries.every(([, item]) => isPlain(item)) ? entries.map(([name, item]) => [name, "is", format(item)]) : null;
}

function splitFilter(filter) {
  if (!isObject(filter)) return null;
  const entries = [];
  for (const [name, condition] of Object.entries(filter)) {
    if (name.startsWith("$")) return null;
    if (isPlain(condition)) {
      entries.push([name, "is", format(condition)]);
      continue;
    }
    if (!isObject(condition) || !Object.keys(condition).length) return null;
    for (const [operator, operand] of Object.entries(condition)) {
      const text = formatOperand(operator, operand);
      if (text === null) return null;
      entries.push([name, operator === "$exists" ? (operand ? "exists" : "missing") : operator, text]);
    }
  }
  return entries;
}

/** Return the text of an operand, or null if rows can't show it. */
function formatOperand(operator, operand) {
  if (operator === "$exists") return typeof operand === "boolean" ? "" : null;
  if (operator === "$in") return Array.isArray(operand) && operand.every((item) => isPlain(item) && !String(item).includes(",")) ? operand.map(format).join(", ") : null;
  return OPERATORS.includes(operator) && isPlain(operand) ? format(operand) : null;
}

/** Return a number, a boolean or null as what it is, and a text as it was typed; a text that looks like a number is quoted. */
function parsePlain(text) {
  const value = parse(text.trim());
  return value === undefined || (typeof value === "object" && value !== null) ? text : value;
}

function format(value) {
  return typeof value === "string" && parsePlain(value) === value ? value : JSON.stringify(value);
}

/** Return the JSON in a text, or undefined if it is none; JSON may be null. */
function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const splitList = (text) => text.split(/[,，]/).map((item) => item.trim()).filter(Boolean);
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const isPlain = (value) => value === null || typeof value !== "object";

/** Save a duration again when its unit changes, because its seconds do. */
function setUpDuration(box) {
  const [amount, unit] = [box.querySelector("[data-as=duration]"), box.querySelector("[data-duration-unit]")];
  unit.addEventListener("change", (event) => {
    event.stopPropagation();
    for (const name of ["input", "change"]) amount.dispatchEvent(new Event(name, { bubbles: true }));
  });
}
