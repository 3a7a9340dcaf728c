// Shows the problems of a node: each at its field, others above the form.

import { getPath } from "./controls.js";

const FOCUSABLE = "input:not([type=hidden]), select, textarea, .insp-variable, button";

export class Problems {
  constructor(inspector) {
    this.inspector = inspector;
  }

  /** @param {{severity: string, message: string, field: string|null}[]} problems */
  show(problems) {
    const { root } = this.inspector;
    for (const list of root.querySelectorAll("[data-problems]")) {
      for (const line of [...list.children]) if (!("own" in line.dataset)) line.remove();
    }
    for (const control of root.querySelectorAll("[data-form] [aria-invalid=true]:not([data-code] *)")) {
      if (!control.closest("[data-field]")?.querySelector("[data-own]")) control.removeAttribute("aria-invalid");
    }
    for (const problem of problems) this.#showProblem(problem);
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
    const block = target.closest(".insp-field");
    block?.classList.add("is-pointed-at");
    setTimeout(() => block?.classList.remove("is-pointed-at"), 1600);
  }

  #showProblem({ severity, message, field }) {
    const { root } = this.inspector;
    const list = this.#findList(field) ?? root.querySelector('[data-problems=""]');
    if (!list) return;
    const line = document.createElement("li");
    line.className = severity === "error" ? "is-error" : "is-warning";
    line.textContent = message;
    list.append(line);
    const control = severity === "error" && field && this.#findExact(field);
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
    return [...this.inspector.root.querySelectorAll("[data-form] [data-as]")].find((el) => getPath(el).join(".") === field) ?? null;
  }
}
