// The variables that a node can use: found by selector, shown on buttons, listed for the picker.

import { t } from "../common/translations.js";
import { parseJson } from "../common/json_paths.js";

const ARRAYS = /^array\[/;
const NUMBERS = new Set(["number", "integer", "float"]);
// Names that prompts know besides variables.
export const SPECIAL = new Set(["context", "histories", "query", "url"]);

export class Variables {
  #getNodeTitle;

  /** `getNodeTitle` returns the title of a node by its id; it is asked for nodes whose variables can't be used here. */
  constructor(sources, getNodeTitle = () => null) {
    this.sources = sources;
    this.#getNodeTitle = getNodeTitle;
    this.#index();
  }

  #bySelector = new Map();
  #heads = new Map();

  /**
   * Return {source, variable, isOpen}. isOpen is set when only the beginning of the selector is known, inside an object
   * without a description.
   */
  find(selector) {
    return this.#match(selector) ?? this.#match(normalizeSelector(selector));
  }

  #match(selector) {
    for (let length = selector.length; length >= 2; length--) {
      const match = this.#bySelector.get(createKey(selector.slice(0, length)));
      if (!match) continue;
      if (length === selector.length) return match;
      const { type, parts } = match.variable;
      return ["object", "any"].includes(type) && parts.length === 0 ? { ...match, isOpen: true } : null;
    }
    return null;
  }

  /** Return the title of a node or group of variables by its id, also if it can't be used here. */
  getTitle(head) {
    return this.#heads.get(head)?.title ?? this.#getNodeTitle(head);
  }

  knowsHead(head) {
    return this.#heads.has(head);
  }

  type(selector) {
    const match = this.find(selector);
    return match && !match.isOpen ? match.variable.type : "any";
  }

  /** Return all variables in their order: {source, variable, isCompatible}; with `field` also those that only this field takes. */
  list({ place = "", wants = [], field = "" } = {}) {
    const match = [];
    for (const source of this.sources) {
      if (!isInPlace(source, place) || (source.field && source.field !== field)) continue;
      for (const variable of flatten(source.variables)) match.push({ source, variable, isCompatible: isCompatible(wants, variable.type) });
    }
    return match;
  }

  #index() {
    for (const source of this.sources) {
      this.#heads.set(source.head, source);
      for (const variable of flatten(source.variables)) {
        const selectorKey = createKey(variable.at);
        if (!this.#bySelector.has(selectorKey)) this.#bySelector.set(selectorKey, { source, variable });
      }
    }
  }
}

/** Show a selector on its button. */
export function paintVariable(button, variables) {
  const selector = parseJson(button.dataset.value, []) ?? [];
  const match = selector.length ? variables.find(selector) : null;
  const label = button.dataset.label;
  button.replaceChildren(...(selector.length ? createLabels(selector, match, variables.getTitle(selector[0])) : [createPlaceholder()]));
  button.classList.toggle("is-empty", selector.length === 0);
  button.classList.toggle("is-unknown", selector.length > 0 && !match);
  const name = selector.length ? selector.join(".") : t("Not set");
  button.setAttribute("aria-label", `${label}: ${match || !selector.length ? name : t("{name} (not available here)", { name })}`);
  button.title = selector.length && !match ? t("{name} is not available before this node.", { name }) : selector.join(".");
}

export function isCompatible(wants, type) {
  if (wants.length === 0 || type === "any") return true;
  return wants.some((expected) => {
    if (expected === "any" || expected === type) return true;
    if (expected === "array[any]") return ARRAYS.test(type);
    if (expected === "string") return type === "secret";
    if (NUMBERS.has(expected)) return NUMBERS.has(type);
    return ARRAYS.test(expected) && type === "array[any]";
  });
}

/** Dify also writes a system variable as an output of a start node: [start, "sys.query"], and {{#start.sys.query#}} in texts. */
function normalizeSelector(selector) {
  const [, name, ...path] = selector;
  if (name?.startsWith("sys.")) return ["sys", name.slice("sys.".length), ...path];
  return name === "sys" ? selector.slice(1) : selector;
}

export const buildReference = (selector) => `{{#${selector.join(".")}#}}`;
const createKey = (selector) => selector.join("\u0000");

function isInPlace(source, place) {
  if (place === "inside") return source.place === "inside";
  if (place === "writable") return source.head === "conversation" || source.place === "around";
  if (source.place === "own") return place === "own";
  return source.place !== "inside";
}

function flatten(variables) {
  return variables.flatMap((variable) => [variable, ...flatten(variable.parts)]);
}

function createLabels(selector, match, title) {
  const head = createSpan("insp-variable-head", match?.source.title ?? title ?? selector[0]);
  const name = createSpan("insp-variable-name", selector.slice(1).join("."));
  const type = match && !match.isOpen ? [createSpan("insp-type", match.variable.type)] : [];
  if (match) head.dataset.family = match.source.family;
  return [head, name, ...type];
}

const createPlaceholder = () => createSpan("insp-variable-none", t("Select variable"));

function createSpan(className, text) {
  const element = document.createElement("span");
  element.className = className;
  element.textContent = text;
  return element;
}
