// Rows of lists: add, remove, move; also lists that are stored as an object or as lines. A row without a name is named after
// its label while that is typed; a name that is there stays, because others may read it.

import { t } from "../common/translations.js";
import { getIndex, getItems, getPath, readValue } from "./controls.js";
import { getAtPath, setAtPath, parseJson } from "../common/json_paths.js";

const LISTS = "[data-list], [data-map], [data-lines]";
const ROWS = "[data-item], [data-entry], [data-line]";
const LABEL = "[data-names]";

export function watch(inspector) {
  const { root } = inspector;
  watchLabels(inspector);
  root.addEventListener("click", (event) => {
    const button = event.target.closest("[data-row]");
    if (button && inspector.form && inspector.editor.canEdit) ACTIONS[button.dataset.row](inspector, button);
  });
  for (const kind of ["input", "change"]) {
    root.addEventListener(kind, (event) => {
      const writtenList = event.target.closest("[data-map], [data-lines], [data-all-items]");
      if (writtenList && inspector.form && !event.target.matches("[data-list] [data-list] *")) writeLater(inspector, writtenList, kind === "change" ? 0 : 600);
    });
  }
}

function watchLabels(inspector) {
  const { root } = inspector;
  let label = null; // the one that is being typed into, of an input without a name
  root.addEventListener("focusin", ({ target }) => {
    label = target.matches(LABEL) && !findName(target)?.value.trim() ? target : null;
  });
  root.addEventListener("input", ({ target }) => {
    if (target !== label || !inspector.editor.canEdit) return;
    const name = findName(target);
    name.value = deriveName(target.value, listOtherNames(name));
    name.dispatchEvent(new Event("input", { bubbles: true }));
  });
}

/** Return a label as an identifier that no other input has: "Order number" is order_number. */
function deriveName(text, others) {
  const words = text.normalize("NFKD").replace(/[\u0300-\u036f]/g, "").toLowerCase();
  const base = words.replace(/[^a-z0-9]+/g, "_").replace(/^[_0-9]+|_+$/g, "").slice(0, 30) || (text.trim() && "input");
  let name = base;
  for (let number = 2; name && others.includes(name); number += 1) name = `${base}_${number}`;
  return name;
}

const findName = (label) => label.closest("[data-item]").querySelector(`[data-key="${label.dataset.names}"]`);

function listOtherNames(name) {
  const all = name.closest("[data-list]").querySelectorAll(`:scope > [data-item] [data-key="${name.dataset.key}"]`);
  return [...all].filter((other) => other !== name).map((other) => other.value.trim());
}

export function enhance(part) {
  for (const list of [part, ...part.querySelectorAll(".insp-cases")].filter((caseList) => caseList.matches?.(".insp-cases"))) nameCases(list);
}

const ACTIONS = { add: addRow, remove: removeRow, up: (inspector, button) => moveRow(inspector, button, -1), down: (inspector, button) => moveRow(inspector, button, 1) };

function addRow(inspector, button) {
  const list = button.closest(LISTS);
  const template = list.querySelector(":scope > template");
  const row = template.content.firstElementChild.cloneNode(true);
  template.before(row);
  inspector.enhance(row);
  if (list.matches("[data-list]")) {
    const path = getPath(list);
    const item = { value: createItem(inspector, list, path) };
    const existing = inspector.form.getValue(path);
    const index = Array.isArray(existing) ? existing.length : 0;
    const next = setAtPath(getBaseData(inspector, path), [...path, index], item.value);
    inspector.form.send([buildChange(inspector, path, next, { path: [...path, index], value: item.value, insert: true })], next, { path, el: list });
  }
  nameCases(list);
  if (!row.matches("details")) (row.querySelector("input, select, textarea, .insp-variable") ?? row).focus();
}

function removeRow(inspector, button) {
  const row = button.closest(ROWS);
  const list = row.parentElement;
  const index = list.matches("[data-list]") ? getIndex(row) : -1;
  const path = getPath(list);
  row.remove();
  (list.querySelector(":scope > .insp-add:not([hidden])") ?? list).focus();
  inspector.editor.say(t("Removed"));
  if (index < 0) return saveRows(inspector, list);
  const next = setAtPath(getBaseData(inspector, path), [...path, index], undefined);
  inspector.form.send([buildChange(inspector, path, next, { path: [...path, index], remove: true })], next, { path, el: list });
  nameCases(list);
}

function moveRow(inspector, button, offset) {
  const row = button.closest("[data-item]");
  const list = row.parentElement;
  const rows = getItems(list);
  const from = rows.indexOf(row);
  const to = from + offset;
  if (to < 0 || to >= rows.length) return;
  const path = getPath(list);
  if (offset < 0) rows[to].before(row);
  else rows[to].after(row);
  button.focus();
  const items = [...(inspector.form.getValue(path) ?? [])];
  const [item] = items.splice(from, 1);
  items.splice(to, 0, item);
  const next = setAtPath(getBaseData(inspector, path), path, items);
  const operations = [{ path: [...path, from], remove: true }, { path: [...path, to], value: item, insert: true }];
  const isStored = Array.isArray(getAtPath(inspector.form.data, path));
  inspector.form.send(isStored ? operations : [{ path, value: items }], next, { path, el: list });
  nameCases(list);
  inspector.editor.say(t("Moved to position {n}", { n: to + 1 }));
}

/** Save an object or lines read from the rows. */
function saveRows(inspector, list) {
  const value = list.matches("[data-map]") ? readObject(list) : list.matches("[data-lines]") ? readLines(list) : readItems(list);
  return inspector.form.save(getPath(list), value, { el: list });
}

const timers = new WeakMap();
function writeLater(inspector, list, pause) {
  clearTimeout(timers.get(list));
  timers.set(list, setTimeout(() => list.isConnected && saveRows(inspector, list), pause));
}

function readObject(list) {
  const result = {};
  for (const row of list.querySelectorAll(":scope > [data-entry]")) {
    const name = row.querySelector("[data-entry-name]").value.trim();
    if (name) result[name] = readEntryValue(row);
  }
  return result;
}

function readEntryValue(row) {
  const field = row.querySelector("[data-entry-value]");
  const key = field.dataset.entryKey;
  if (!key) return readValue(field.matches("[data-as]") ? field : field.querySelector("[data-as]"));
  const stored = parseJson(row.dataset.value ?? "null");
  return { ...(stored && typeof stored === "object" ? stored : {}), [key]: field.value };
}

function readLines(list) {
  return [...list.querySelectorAll(":scope > [data-line]")]
    .map((row) => [row.querySelector("[data-line-name]").value.trim(), row.querySelector("[data-line-value]").value])
    .filter(([name, value]) => name || value)
    .map(([name, value]) => `${name}:${value}`)
    .join("\n");
}

function readItems(list) {
  return getItems(list)
    .map((row) => ({ ...parseJson(row.dataset.value, {}), value: readValue(row.querySelector("[data-as]")) }))
    .filter((item) => item.value !== undefined && item.value !== null);
}

function createItem(inspector, list, path) {
  const blank = parseJson(list.dataset.blank, "");
  const id = list.dataset.fresh;
  if (!id) return blank;
  const used = new Set((inspector.form.getValue(path) ?? []).map((item) => item?.[id]));
  if (list.matches(".insp-classes")) return { ...blank, [id]: chooseNumber(inspector, used) };
  return { ...blank, [id]: used.has("true") ? crypto.randomUUID() : "true" };
}

/** Return the first number that no class has, nor an edge of a class that was removed, which would lead from the new one. */
function chooseNumber(inspector, used) {
  for (const edge of inspector.editor.model.edgesOf(inspector.current.id)) if (edge.from === inspector.current.id) used.add(edge.fp);
  let number = 1;
  while (used.has(String(number))) number++;
  return String(number);
}

function getBaseData(inspector, path) {
  const { data, shown } = inspector.form;
  return path[0] in data || !(path[0] in shown) ? data : { ...data, [path[0]]: structuredClone(shown[path[0]]) };
}

/** Address the item when the list exists, otherwise the deepest missing parent. */
function buildChange(inspector, path, next, itemChange) {
  for (let depth = 1; depth <= path.length; depth++) {
    const parent = getAtPath(inspector.form.data, path.slice(0, depth));
    if (parent === undefined || parent === null) return { path: path.slice(0, depth), value: getAtPath(next, path.slice(0, depth)) };
  }
  return itemChange;
}

function nameCases(list) {
  if (!list.matches(".insp-cases")) return;
  getItems(list).forEach((row, index) => {
    const name = row.querySelector(".insp-case");
    name.textContent = index === 0 ? name.dataset.if : name.dataset.elseIf;
  });
}
