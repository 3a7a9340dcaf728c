// Shows the problems of a node: each at its field, others above the form.

import { getPath } from "./controls.js";
import { t } from "../common/translations.js";

// Rows of tables without a name have no effect and most are not stored, so the page itself says what they lack, once somebody
// has left them. Of a row with a value that is stored, the server says it.
const ROWS = "[data-line], [data-entry], [data-metadata-row], .insp-w-body [data-item]";
const NAMES = "[data-line-name], [data-entry-name], [data-metadata-name], [data-key=key]";
const STORED = "[data-line], [data-item]"; // with a value, also without a name
const REMOVERS = "[data-row=remove], [data-metadata-remove]";

const FOCUSABLE = "input:not([type=hidden]), select, textarea, .insp-variable, button";

export class Problems {
  #pointedAt = null; // the field that is highlighted

  constructor(inspector) {
    this.inspector = inspector;
    this.#watchRows(inspector.root);
  }

  #watchRows(root) {
    root.addEventListener("focusout", ({ target, relatedTarget }) => {
      const row = target.closest(ROWS);
      if (row && !row.contains(relatedTarget)) checkField(row.closest("[data-field]"), relatedTarget);
    });
    root.addEventListener("input", ({ target }) => target.matches(NAMES) && checkField(target.closest("[data-field]"), target));
    root.addEventListener("click", ({ target }) => {
      const field = target.closest(REMOVERS)?.closest("[data-field]");
      if (field) queueMicrotask(() => checkField(field)); // the row is removed by then
    });
  }

  /** @param {{severity: string, message: string, field: string|null, is_empty: boolean}[]} problems */
  show(problems) {
    const { root } = this.inspector;
    for (const list of root.querySelectorAll("[data-problems]")) {
      for (const line of [...list.children]) if (!("own" in line.dataset)) line.remove();
    }
    for (const control of root.querySelectorAll("[data-form] [aria-invalid=true]:not([data-code] *, [data-lacks])")) {
      if (!control.closest("[data-field]")?.querySelector('[data-own=""]')) control.removeAttribute("aria-invalid");
    }
    for (const problem of problems) this.#showProblem(problem);
    checkRows(root);
    const tab = root.querySelector('[data-tab="settings"]');
    tab?.classList.toggle("has-problems", problems.length > 0);
    tab?.classList.toggle("has-errors", problems.some(({ severity }) => severity === "error"));
  }

  /** Go to the field of a problem, or to the nearest one that the form shows. */
  goTo(field, { keepFocus = false } = {}) {
    const target = field ? this.#findControl(field) : null;
    if (!target) return;
    for (let element = target.parentElement; element; element = element.parentElement) if (element.tagName === "DETAILS") element.open = true;
    if (!keepFocus) target.focus({ preventScroll: true });
    target.scrollIntoView({ block: "center" });
    this.#pointAt(target.closest(".insp-field"));
  }

  /** Highlight a field until somebody leaves it or goes to another; if nobody is in it, for a moment. */
  #pointAt(block) {
    this.#unpoint();
    if (!block) return;
    this.#pointedAt = block;
    block.classList.add("is-pointed-at");
    if (!block.contains(document.activeElement)) return setTimeout(() => this.#pointedAt === block && this.#unpoint(), 1600);
    block.addEventListener("focusout", () => this.#pointedAt === block && this.#unpoint(), { once: true });
  }

  #unpoint() {
    this.#pointedAt?.classList.remove("is-pointed-at");
    this.#pointedAt = null;
  }

  #showProblem({ severity, message, field, is_empty: isEmpty }) {
    const { root } = this.inspector;
    const list = this.#findList(field) ?? root.querySelector('[data-problems=""]');
    if (!list) return;
    const line = document.createElement("li");
    line.className = severity === "error" ? "is-error" : "is-warning";
    line.textContent = message;
    list.append(line);
    const control = (severity === "error" || isEmpty) && field && this.#findExact(field);
    if (control) control.setAttribute("aria-invalid", "true");
  }

  #findList(field) {
    const steps = (field ?? "").split(".");
    for (let length = steps.length; length > 0; length--) {
      const list = this.inspector.root.querySelector(`[data-problems="${CSS.escape(steps.slice(0, length).join("."))}"]`);
      if (list) return list;
    }
    return null;
  }

  #findControl(field) {
    const control = this.#findExact(field);
    if (control) return control;
    const block = this.#findList(field)?.closest("[data-field]");
    const nested = [...(block?.querySelectorAll("[data-as]") ?? [])].filter((el) => getPath(el).join(".").startsWith(field));
    const emptyText = nested.find((el) => el.matches("textarea") && !el.value.trim()); // what "The prompt is empty" is about
    return emptyText ?? nested[0] ?? block?.querySelector(FOCUSABLE) ?? null;
  }

  #findExact(field) {
    const controls = [...this.inspector.root.querySelectorAll("[data-form] [data-as]")].filter((el) => !el.closest("[data-map], [data-lines]"));
    return controls.find((el) => getPath(el).join(".") === field) ?? this.#findInTable(field);
  }

  /** Find the control of a row that is stored under its name, or as one of several lines. */
  #findInTable(field) {
    for (const table of this.inspector.root.querySelectorAll("[data-form] :is([data-map], [data-lines])")) {
      const place = `${getPath(table).join(".")}.`;
      if (!field.startsWith(place)) continue;
      const name = field.slice(place.length);
      const row = table.matches("[data-lines]") ? findLine(table, Number.parseInt(name, 10)) : findEntry(table, name);
      if (row) return table.matches("[data-lines]") ? row.querySelector("[data-line-name]") : row.querySelector("[data-as]") ?? row.querySelector("[data-entry-value]");
    }
    return null;
  }
}

/** Return the row of a line. Rows without a name and a value are not stored, and have no line. */
function findLine(table, index) {
  const rows = [...table.querySelectorAll(":scope > [data-line]")];
  return rows.filter((row) => row.querySelector("[data-line-name]").value.trim() || row.querySelector("[data-line-value]").value)[index];
}

function findEntry(table, name) {
  const rows = [...table.querySelectorAll(":scope > [data-entry]")];
  return rows.find((row) => row.querySelector("[data-entry-name]").value.trim() === name);
}

/** Mark the names that rows lack, and say it below each table. */
function checkRows(root) {
  for (const field of new Set([...root.querySelectorAll(ROWS)].map((row) => row.closest("[data-field]")))) checkField(field);
}

function checkField(field, focused = document.activeElement) {
  const list = field?.querySelector(":scope > [data-problems]");
  if (!list) return;
  for (const line of list.querySelectorAll('[data-own="row"]')) line.remove();
  [...field.querySelectorAll(ROWS)].forEach((row, index) => {
    const name = row.querySelector(NAMES);
    if (!name) return;
    const isIncomplete = !name.value.trim() && !row.contains(focused) && !(row.matches(STORED) && hasValue(row, name));
    if (isIncomplete) list.append(createLine(index + 1));
    if (isIncomplete || "lacks" in name.dataset) setInvalid(name, isIncomplete);
  });
}

/** Return whether anything but the name is entered in a row. */
function hasValue(row, name) {
  const fields = [...row.querySelectorAll("input, textarea, .insp-variable")].filter((field) => field !== name);
  return fields.some((field) => (field.matches(".insp-variable") ? !["[]", "null", ""].includes(field.dataset.value ?? "") : field.value.trim()));
}

function createLine(number) {
  const line = document.createElement("li");
  line.dataset.own = "row";
  line.className = "is-error";
  line.textContent = t("Row {n}: enter a name, or remove the row", { n: number });
  return line;
}

function setInvalid(name, isInvalid) {
  name.toggleAttribute("data-lacks", isInvalid);
  if (isInvalid) name.setAttribute("aria-invalid", "true");
  else name.removeAttribute("aria-invalid");
}
