// What is wrong with the node, each sentence at its field; what belongs to no field stands above the form.

import { pathOf } from "./controls.js";

const FOCUSABLE = "input:not([type=hidden]), select, textarea, .insp-variable, button";

export class Problems {
  constructor(inspector) {
    this.inspector = inspector;
  }

  /** @param {{severity: string, message: string, field: string|null}[]} problems */
  show(problems) {
    const { root } = this.inspector;
    for (const place of root.querySelectorAll("[data-problems]")) {
      for (const line of [...place.children]) if (!("own" in line.dataset)) line.remove();
    }
    for (const control of root.querySelectorAll("[data-form] [aria-invalid=true]:not([data-code] *)")) {
      if (!control.closest("[data-field]")?.querySelector("[data-own]")) control.removeAttribute("aria-invalid");
    }
    for (const problem of problems) this.#showOne(problem);
    root.querySelector('[data-tab="settings"]')?.classList.toggle("has-problems", problems.length > 0);
  }

  /** Where a problem is, or the nearest to it that the form shows. */
  goTo(field, { keepFocus = false } = {}) {
    const target = field ? this.#controlOf(field) : null;
    if (!target) return;
    for (let at = target.parentElement; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
    if (!keepFocus) target.focus({ preventScroll: true });
    target.scrollIntoView({ block: "center" });
    const block = target.closest(".insp-field");
    block?.classList.add("is-pointed-at");
    setTimeout(() => block?.classList.remove("is-pointed-at"), 1600);
  }

  #showOne({ severity, message, field }) {
    const { root } = this.inspector;
    const place = this.#placeOf(field) ?? root.querySelector('[data-problems=""]');
    if (!place) return;
    const line = document.createElement("li");
    line.className = severity === "error" ? "is-error" : "is-warning";
    line.textContent = message;
    place.append(line);
    const control = severity === "error" && field && this.#exactly(field);
    if (control) control.setAttribute("aria-invalid", "true");
  }

  #placeOf(field) {
    const steps = (field ?? "").split(".");
    for (let length = steps.length; length > 0; length--) {
      const found = this.inspector.root.querySelector(`[data-problems="${CSS.escape(steps.slice(0, length).join("."))}"]`);
      if (found) return found;
    }
    return null;
  }

  #controlOf(field) {
    const exact = this.#exactly(field);
    if (exact) return exact;
    const block = this.#placeOf(field)?.closest("[data-field]");
    const inside = [...(block?.querySelectorAll("[data-as]") ?? [])].find((el) => pathOf(el).join(".").startsWith(field));
    return inside ?? block?.querySelector(FOCUSABLE) ?? null;
  }

  #exactly(field) {
    return [...this.inspector.root.querySelectorAll("[data-form] [data-as]")].find((el) => pathOf(el).join(".") === field) ?? null;
  }
}
