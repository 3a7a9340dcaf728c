// Controls of the form: their path in the data of the node, and how their values are read and shown.

import { parseJson as parseJson, isEqual } from "../common/json_paths.js";

export const CONTROL = "[data-as]";
const ROOT = "[data-form], [data-inspector]";

/** Return the path of a control, list or section in the data of the node. */
export function getPath(el) {
  const path = [];
  for (let element = el; element && !element.matches(ROOT); element = element.parentElement) {
    if (element.dataset.key !== undefined) path.unshift(element.dataset.key);
    if ("item" in element.dataset) path.unshift(getIndex(element));
  }
  return path;
}

export const getIndex = (item) => getItems(item.parentElement).indexOf(item);
export const getItems = (list) => [...list.children].filter((child) => "item" in child.dataset);

/** Return the value of a control; undefined removes it from the data. Raises SyntaxError when the text cannot be parsed. */
export function readValue(el) {
  const value = READERS[el.dataset.as](el);
  const isEmpty = value === "" || value === undefined || (Array.isArray(value) && value.length === 0);
  return isEmpty && el.dataset.empty === "remove" ? undefined : value;
}

export function showValue(el, value) {
  const write = WRITERS[el.dataset.as] ?? showText;
  write(el, value);
  el.dispatchEvent(new CustomEvent("shown", { bubbles: true }));
}

const readText = (el) => el.value;
const readLines = (el) => el.value.split("\n").map((line) => line.trim()).filter(Boolean);

/** Read a value by the type in the same row: the default of a number field is a number. */
function readByRowType(el) {
  const type = el.closest("[data-item]")?.querySelector('[data-key="type"]')?.value ?? "text";
  if (el.value === "") return "";
  if (type === "number") return Number.isFinite(Number(el.value)) ? Number(el.value) : el.value;
  if (type === "checkbox") return el.value.trim().toLowerCase() === "true";
  return type === "json_object" ? JSON.parse(el.value) : el.value;
}

function readByType(el) {
  if (el.value === "") return undefined;
  if (el.dataset.type === "string" || el.dataset.type === "secret") return el.value;
  return parseJson(el.value, el.value);
}

const REFERENCE = /^\s*\{\{#([^#{}]+)#\}\}\s*$/;

/** Read an argument of a tool as Dify writes it: a text that is exactly one variable passes the variable's value. */
function readArgument(el) {
  const reference = REFERENCE.exec(el.value);
  if (reference) return { type: "variable", value: reference[1].split(".") };
  return el.value === "" ? undefined : { type: "mixed", value: el.value };
}

/** Return an argument as people type it; older documents have it as a plain value. */
function formatArgument(argument) {
  if (!argument || !("type" in Object(argument))) return argument;
  return argument.type === "variable" && Array.isArray(argument.value) ? `{{#${argument.value.join(".")}#}}` : argument.value;
}

const READERS = {
  argument: readArgument,
  text: readText,
  number: (el) => (el.value === "" ? undefined : Number(el.value)),
  duration: (el) => (el.value === "" ? undefined : Number(el.value) * getUnit(el).value),
  switch: (el) => el.checked,
  selector: (el) => parseJson(el.dataset.value, []) ?? [],
  json: (el) => (el.value.trim() === "" ? undefined : JSON.parse(el.value)),
  lines: readLines,
  addresses: (el) => [...parseJson(el.dataset.others, []), ...readLines(el).map((email) => ({ type: "external", email }))],
  loose: readByRowType,
  typed: readByType,
  boolean: (el) => el.value === "true",
};

const showText = (el, value) => {
  const write = value === undefined || value === null ? "" : typeof value === "string" ? value : JSON.stringify(value);
  if (el.value === write) return;
  if (el.tagName === "SELECT") return showOption(el, write);
  el.value = write;
};

/** Select an option. A choice that nobody made is the first one, and a value that is not offered gets an option. */
function showOption(el, value) {
  const isOffered = [...el.options].some((option) => option.value === value);
  if (!isOffered && value !== "") el.append(new Option(value, value));
  if (isOffered || value !== "") el.value = value;
  else el.selectedIndex = 0;
}

const getUnit = (el) => el.closest("[data-duration]").querySelector("[data-duration-unit]");

/** Show seconds in the largest unit in which they are a whole number. */
function showDuration(el, seconds) {
  const unit = getUnit(el);
  const fitting = [...unit.options].reverse().find(({ value }) => seconds % value === 0);
  if (seconds && fitting) unit.value = fitting.value;
  showText(el, typeof seconds === "number" ? seconds / unit.value : seconds);
}

/** Show the addresses among recipients, and keep the others, such as accounts of Dify. */
function showAddresses(el, recipients) {
  const items = recipients ?? [];
  el.dataset.others = JSON.stringify(items.filter((item) => typeof item?.email !== "string"));
  el.value = items.map((item) => item?.email).filter((email) => typeof email === "string").join("\n");
}

const WRITERS = {
  duration: showDuration,
  argument: (el, value) => showText(el, formatArgument(value)),
  switch: (el, value) => (el.checked = Boolean(value)),
  selector: (el, value) => (el.dataset.value = JSON.stringify(value ?? [])),
  json: (el, value) => {
    if (!isEqual(parseJson(el.value, undefined), value)) el.value = value === undefined || value === null ? "" : JSON.stringify(value, null, 2);
  },
  lines: (el, value) => (el.value = (value ?? []).join("\n")),
  addresses: showAddresses,
};
