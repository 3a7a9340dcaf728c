// Stores the unsubmitted input of the run form in this tab, so that a reload keeps it, and restores the default values on
// request. The person a run is for is not stored, since it would use their memory without being asked for.

import { t } from "../../common/translations.js";

export class RunFormDrafts {
  #editor;
  #storageKey;

  constructor(editor) {
    this.#editor = editor;
    this.#storageKey = `mnemoflow-run-typed:${editor.root.dataset.workflow}:${editor.root.dataset.me}`;
    const panel = editor.root.querySelector("#panel-run");
    panel.addEventListener("input", () => this.#store());
    panel.addEventListener("change", () => this.#store());
    panel.addEventListener("click", (event) => event.target.closest("[data-run-clear]") && this.#clear());
    new MutationObserver(() => this.#onSwap()).observe(panel, { childList: true });
    this.#restore();
    this.updateClearButton();
  }

  get #controls() {
    return [...document.querySelectorAll("#run-card > form [data-default]")].filter(({ type }) => type !== "password");
  }

  /** Show the clear button only when there is something to clear. */
  updateClearButton() {
    const button = document.querySelector("#run-card [data-run-clear]");
    if (button) button.hidden = this.#controls.every((control) => getValue(control) === getDefault(control));
  }

  /** The server answered with the form; a run that began has the input. */
  #onSwap() {
    if (document.querySelector("#run-card run-stream")) this.#discard();
    this.updateClearButton();
  }

  #clear() {
    for (const control of this.#controls) setValue(control, control.dataset.default);
    this.#store(); // the cleared state survives a reload too
    this.#controls[0]?.focus();
    this.#editor.say(t("Fields reset to defaults"));
  }

  #store() {
    this.updateClearButton();
    const values = Object.fromEntries(this.#controls.map((control) => [control.name, getValue(control)]));
    try {
      sessionStorage.setItem(this.#storageKey, JSON.stringify(values));
    } catch {
      // the values last as long as the page
    }
  }

  #discard() {
    try {
      sessionStorage.removeItem(this.#storageKey);
    } catch {
      // nothing was stored
    }
  }

  #restore() {
    let values = null;
    try {
      values = JSON.parse(sessionStorage.getItem(this.#storageKey));
    } catch {
      return;
    }
    for (const control of this.#controls) if (typeof values?.[control.name] === "string") setValue(control, values[control.name]);
  }
}

function getValue(control) {
  if (control.type === "checkbox") return control.checked ? "on" : "";
  return control.value;
}

/** Return the value of a field without any input. */
function getDefault(control) {
  const value = control.dataset.default;
  if (control.type === "checkbox") return value ? "on" : "";
  if (control.tagName !== "SELECT") return value;
  const options = [...control.options].map((option) => option.value);
  return options.includes(value) ? value : (options[0] ?? "");
}

function setValue(control, value) {
  if (control.type === "checkbox") control.checked = Boolean(value);
  else if (control.tagName !== "SELECT") control.value = value;
  else control.value = [...control.options].some((option) => option.value === value) ? value : getDefault(control);
}
