// The variables a node reaches: found by selector, shown on buttons, listed for the picker.

import { t } from "../editor/words.js";
import { read } from "./trees.js";

const ARRAYS = /^array\[/;
const NUMBERS = new Set(["number", "integer", "float"]);
// What prompts know besides variables.
export const SPECIAL = new Set(["context", "histories", "query", "url"]);

export class Variables {
  constructor(sources) {
    this.sources = sources;
    this.#index();
  }

  #bySelector = new Map();
  #heads = new Map();

  /** {source, variable, isOpen}: isOpen where only the beginning of the selector is known, of an object nobody described. */
  find(selector) {
    for (let length = selector.length; length >= 2; length--) {
      const found = this.#bySelector.get(key(selector.slice(0, length)));
      if (!found) continue;
      if (length === selector.length) return found;
      const { type, parts } = found.variable;
      return ["object", "any"].includes(type) && parts.length === 0 ? { ...found, isOpen: true } : null;
    }
    return null;
  }

  knowsHead(head) {
    return this.#heads.has(head);
  }

  type(selector) {
    const found = this.find(selector);
    return found && !found.isOpen ? found.variable.type : "any";
  }

  /** Everything that can be picked, in order: {source, variable}. */
  list({ place = "", wants = [] } = {}) {
    const found = [];
    for (const source of this.sources) {
      if (!fitsPlace(source, place)) continue;
      for (const variable of flat(source.variables)) found.push({ source, variable, fits: fits(wants, variable.type) });
    }
    return found;
  }

  #index() {
    for (const source of this.sources) {
      this.#heads.set(source.head, source);
      for (const variable of flat(source.variables)) {
        const at = key(variable.at);
        if (!this.#bySelector.has(at)) this.#bySelector.set(at, { source, variable });
      }
    }
  }
}

/** What a selector's button says. */
export function paint(button, variables) {
  const selector = read(button.dataset.value, []) ?? [];
  const found = selector.length ? variables.find(selector) : null;
  const label = button.dataset.label;
  button.replaceChildren(...(selector.length ? named(selector, found) : [empty()]));
  button.classList.toggle("is-empty", selector.length === 0);
  button.classList.toggle("is-unknown", selector.length > 0 && !found);
  const said = selector.length ? selector.join(".") : t("nothing chosen");
  button.setAttribute("aria-label", `${label}: ${found || !selector.length ? said : t("{name}, not reachable here", { name: said })}`);
  button.title = selector.length && !found ? t("Nothing that runs before this node gives {name}.", { name: said }) : selector.join(".");
}

export function fits(wants, type) {
  if (wants.length === 0 || type === "any") return true;
  return wants.some((wanted) => {
    if (wanted === "any" || wanted === type) return true;
    if (wanted === "array[any]") return ARRAYS.test(type);
    if (wanted === "string") return type === "secret";
    if (NUMBERS.has(wanted)) return NUMBERS.has(type);
    return ARRAYS.test(wanted) && type === "array[any]";
  });
}

export const referenceOf = (selector) => `{{#${selector.join(".")}#}}`;
const key = (selector) => selector.join("\u0000");

function fitsPlace(source, place) {
  if (place === "inside") return source.place === "inside";
  if (place === "writable") return source.head === "conversation" || source.place === "around";
  return source.place !== "inside";
}

function flat(variables) {
  return variables.flatMap((variable) => [variable, ...flat(variable.parts)]);
}

function named(selector, found) {
  const head = span("insp-variable-head", found ? found.source.title : selector[0]);
  const name = span("insp-variable-name", selector.slice(1).join("."));
  const type = found && !found.isOpen ? [span("insp-type", found.variable.type)] : [];
  if (found) head.dataset.family = found.source.family;
  return [head, name, ...type];
}

const empty = () => span("insp-variable-none", t("Choose a variable"));

function span(className, text) {
  const made = document.createElement("span");
  made.className = className;
  made.textContent = text;
  return made;
}
