// Rows: adding, taking away, moving; and lists that are written as an object or as lines.

import { t } from "../editor/words.js";
import { indexOf, itemsOf, pathOf, valueOf } from "./controls.js";
import { get, put, read } from "./trees.js";

const LISTS = "[data-list], [data-map], [data-lines]";
const ROWS = "[data-item], [data-entry], [data-line]";

export function watch(inspector) {
  const { root } = inspector;
  root.addEventListener("click", (event) => {
    const button = event.target.closest("[data-row]");
    if (button && inspector.form && inspector.editor.canEdit) ACTS[button.dataset.row](inspector, button);
  });
  for (const kind of ["input", "change"]) {
    root.addEventListener(kind, (event) => {
      const written = event.target.closest("[data-map], [data-lines], [data-whole]");
      if (written && inspector.form && !event.target.matches("[data-list] [data-list] *")) later(inspector, written, kind === "change" ? 0 : 600);
    });
  }
}

export function enhance(part) {
  for (const list of [part, ...part.querySelectorAll(".insp-cases")].filter((one) => one.matches?.(".insp-cases"))) nameCases(list);
}

const ACTS = { add, remove, up: (inspector, button) => move(inspector, button, -1), down: (inspector, button) => move(inspector, button, 1) };

function add(inspector, button) {
  const list = button.closest(LISTS);
  const template = list.querySelector(":scope > template");
  const row = template.content.firstElementChild.cloneNode(true);
  template.before(row);
  inspector.enhance(row);
  if (list.matches("[data-list]")) {
    const path = pathOf(list);
    const item = { value: freshItem(inspector, list, path) };
    const known = inspector.form.at(path);
    const at = Array.isArray(known) ? known.length : 0;
    const next = put(withShown(inspector, path), [...path, at], item.value);
    inspector.form.send([changeOf(inspector, path, next, { path: [...path, at], value: item.value, insert: true })], next, { path, el: list });
  }
  nameCases(list);
  (row.querySelector("input, select, textarea, .insp-variable") ?? row).focus();
}

function remove(inspector, button) {
  const row = button.closest(ROWS);
  const list = row.parentElement;
  const at = list.matches("[data-list]") ? indexOf(row) : -1;
  const path = pathOf(list);
  row.remove();
  (list.querySelector(":scope > .insp-add") ?? list).focus();
  inspector.editor.say(t("Removed"));
  if (at < 0) return write(inspector, list);
  const next = put(withShown(inspector, path), [...path, at], undefined);
  inspector.form.send([changeOf(inspector, path, next, { path: [...path, at], remove: true })], next, { path, el: list });
  nameCases(list);
}

function move(inspector, button, by) {
  const row = button.closest("[data-item]");
  const list = row.parentElement;
  const rows = itemsOf(list);
  const from = rows.indexOf(row);
  const to = from + by;
  if (to < 0 || to >= rows.length) return;
  const path = pathOf(list);
  if (by < 0) rows[to].before(row);
  else rows[to].after(row);
  button.focus();
  const items = [...(inspector.form.at(path) ?? [])];
  const [item] = items.splice(from, 1);
  items.splice(to, 0, item);
  const next = put(withShown(inspector, path), path, items);
  const asTwo = [{ path: [...path, from], remove: true }, { path: [...path, to], value: item, insert: true }];
  const isThere = Array.isArray(get(inspector.form.data, path));
  inspector.form.send(isThere ? asTwo : [{ path, value: items }], next, { path, el: list });
  nameCases(list);
  inspector.editor.say(t("Moved to place {n}", { n: to + 1 }));
}

/** An object or lines, read off the rows. */
function write(inspector, list) {
  const value = list.matches("[data-map]") ? object(list) : list.matches("[data-lines]") ? lines(list) : whole(list);
  return inspector.form.save(pathOf(list), value, { el: list });
}

const waiting = new WeakMap();
function later(inspector, list, pause) {
  clearTimeout(waiting.get(list));
  waiting.set(list, setTimeout(() => list.isConnected && write(inspector, list), pause));
}

function object(list) {
  const found = {};
  for (const row of list.querySelectorAll(":scope > [data-entry]")) {
    const name = row.querySelector("[data-entry-name]").value.trim();
    if (name) found[name] = entryValue(row);
  }
  return found;
}

function entryValue(row) {
  const place = row.querySelector("[data-entry-value]");
  const key = place.dataset.entryKey;
  if (!key) return valueOf(place.matches("[data-as]") ? place : place.querySelector("[data-as]"));
  const held = read(row.dataset.value ?? "null");
  return { ...(held && typeof held === "object" ? held : {}), [key]: place.value };
}

function lines(list) {
  return [...list.querySelectorAll(":scope > [data-line]")]
    .map((row) => [row.querySelector("[data-line-name]").value.trim(), row.querySelector("[data-line-value]").value])
    .filter(([name, value]) => name || value)
    .map(([name, value]) => `${name}:${value}`)
    .join("\n");
}

function whole(list) {
  return itemsOf(list)
    .map((row) => ({ ...read(row.dataset.value, {}), value: valueOf(row.querySelector("[data-as]")) }))
    .filter((item) => item.value !== undefined && item.value !== null);
}

function freshItem(inspector, list, path) {
  const blank = read(list.dataset.blank, "");
  const id = list.dataset.fresh;
  if (!id) return blank;
  const taken = new Set((inspector.form.at(path) ?? []).map((item) => item?.[id]));
  return { ...blank, [id]: taken.has("true") ? crypto.randomUUID() : "true" };
}

function withShown(inspector, path) {
  const { data, shown } = inspector.form;
  return path[0] in data || !(path[0] in shown) ? data : { ...data, [path[0]]: structuredClone(shown[path[0]]) };
}

/** On the item where the list is there, else the whole of what is missing. */
function changeOf(inspector, path, next, fine) {
  for (let depth = 1; depth <= path.length; depth++) {
    const here = get(inspector.form.data, path.slice(0, depth));
    if (here === undefined || here === null) return { path: path.slice(0, depth), value: get(next, path.slice(0, depth)) };
  }
  return fine;
}

function nameCases(list) {
  if (!list.matches(".insp-cases")) return;
  itemsOf(list).forEach((row, at) => {
    const name = row.querySelector(".insp-case");
    name.textContent = at === 0 ? name.dataset.if : name.dataset.elseIf;
  });
}
