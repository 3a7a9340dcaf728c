// What is typed into the run form and not run yet: kept in this tab, so that a reload doesn't take it; and the way back to
// what the author wrote. Whom a run is for isn't kept: it would go on with somebody's memory unasked.

import { t } from "./words.js";

export class Typed {
  #editor;
  #place;

  constructor(editor) {
    this.#editor = editor;
    this.#place = `mnemoflow-run-typed:${editor.root.dataset.workflow}:${editor.root.dataset.me}`;
    const panel = editor.root.querySelector("#panel-run");
    panel.addEventListener("input", () => this.#keep());
    panel.addEventListener("change", () => this.#keep());
    panel.addEventListener("click", (event) => event.target.closest("[data-run-clear]") && this.#clear());
    new MutationObserver(() => this.#swapped()).observe(panel, { childList: true });
    this.#restore();
    this.look();
  }

  get #controls() {
    return [...document.querySelectorAll("#run-card > form [data-default]")].filter(({ type }) => type !== "password");
  }

  /** There is something to clear, or there isn't. */
  look() {
    const button = document.querySelector("#run-card [data-run-clear]");
    if (button) button.hidden = this.#controls.every((control) => valueOf(control) === firstOf(control));
  }

  /** The server answered with the form: a run that began has what was typed. */
  #swapped() {
    if (document.querySelector("#run-card run-stream")) this.#forget();
    this.look();
  }

  #clear() {
    for (const control of this.#controls) put(control, control.dataset.default);
    this.#keep(); // what was cleared stays so after a reload, too
    this.#controls[0]?.focus();
    this.#editor.say(t("The fields are as the author left them"));
  }

  #keep() {
    this.look();
    const values = Object.fromEntries(this.#controls.map((control) => [control.name, valueOf(control)]));
    try {
      sessionStorage.setItem(this.#place, JSON.stringify(values));
    } catch {
      // then it is there as long as the page is
    }
  }

  #forget() {
    try {
      sessionStorage.removeItem(this.#place);
    } catch {
      // not kept there
    }
  }

  #restore() {
    let values = null;
    try {
      values = JSON.parse(sessionStorage.getItem(this.#place));
    } catch {
      return;
    }
    for (const control of this.#controls) if (typeof values?.[control.name] === "string") put(control, values[control.name]);
  }
}

function valueOf(control) {
  if (control.type === "checkbox") return control.checked ? "on" : "";
  return control.value;
}

/** What the field holds when nobody gave anything. */
function firstOf(control) {
  const value = control.dataset.default;
  if (control.type === "checkbox") return value ? "on" : "";
  if (control.tagName !== "SELECT") return value;
  const options = [...control.options].map((option) => option.value);
  return options.includes(value) ? value : (options[0] ?? "");
}

function put(control, value) {
  if (control.type === "checkbox") control.checked = Boolean(value);
  else if (control.tagName !== "SELECT") control.value = value;
  else control.value = [...control.options].some((option) => option.value === value) ? value : firstOf(control);
}
