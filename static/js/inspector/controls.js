// Controls of the form: where in the node's data each stands, and how its value is read and shown.

import { read as parse, same } from "./trees.js";

export const CONTROL = "[data-as]";
const ROOT = "[data-form], [data-inspector]";

/** The path of a control, list or section inside the node's data. */
export function pathOf(el) {
  const path = [];
  for (let at = el; at && !at.matches(ROOT); at = at.parentElement) {
    if (at.dataset.key !== undefined) path.unshift(at.dataset.key);
    if ("item" in at.dataset) path.unshift(indexOf(at));
  }
  return path;
}

export const indexOf = (item) => itemsOf(item.parentElement).indexOf(item);
export const itemsOf = (list) => [...list.children].filter((one) => "item" in one.dataset);

/** What stands in a control; undefined means: take it out of the data. Throws SyntaxError for what can't be read. */
export function valueOf(el) {
  const value = READERS[el.dataset.as](el);
  const isEmpty = value === "" || value === undefined || (Array.isArray(value) && value.length === 0);
  return isEmpty && el.dataset.empty === "remove" ? undefined : value;
}

export function show(el, value) {
  const shown = SHOWERS[el.dataset.as] ?? plainly;
  shown(el, value);
  el.dispatchEvent(new CustomEvent("shown", { bubbles: true }));
}

const text = (el) => el.value;

/** By the type beside it: a default of a number field is a number. */
function byNeighbour(el) {
  const type = el.closest("[data-item]")?.querySelector('[data-key="type"]')?.value ?? "text";
  if (el.value === "") return "";
  if (type === "number") return Number.isFinite(Number(el.value)) ? Number(el.value) : el.value;
  if (type === "checkbox") return el.value.trim().toLowerCase() === "true";
  return type === "json_object" ? JSON.parse(el.value) : el.value;
}

function typed(el) {
  if (el.value === "") return undefined;
  if (el.dataset.type === "string" || el.dataset.type === "secret") return el.value;
  return parse(el.value, el.value);
}

const READERS = {
  text,
  number: (el) => (el.value === "" ? undefined : Number(el.value)),
  switch: (el) => el.checked,
  selector: (el) => parse(el.dataset.value, []) ?? [],
  json: (el) => (el.value.trim() === "" ? undefined : JSON.parse(el.value)),
  lines: (el) => el.value.split("\n").map((line) => line.trim()).filter(Boolean),
  loose: byNeighbour,
  typed,
  boolean: (el) => el.value === "true",
};

const plainly = (el, value) => {
  const shown = value === undefined || value === null ? "" : typeof value === "string" ? value : JSON.stringify(value);
  if (el.value !== shown) el.value = shown;
};

const SHOWERS = {
  switch: (el, value) => (el.checked = Boolean(value)),
  selector: (el, value) => (el.dataset.value = JSON.stringify(value ?? [])),
  json: (el, value) => {
    if (!same(parse(el.value, undefined), value)) el.value = value === undefined || value === null ? "" : JSON.stringify(value, null, 2);
  },
  lines: (el, value) => (el.value = (value ?? []).join("\n")),
};
