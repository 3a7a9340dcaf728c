// A form over one JSON value: it saves input, shows changes by others, and never removes text that somebody is typing.

import { MISSING } from "../editor/collaboration/conflict_rules.js";
import { t } from "../common/translations.js";
import { CONTROL, getPath, showValue, readValue } from "./controls.js";
import { getAtPath, buildOperation, setAtPath, parseJson, isEqual } from "../common/json_paths.js";


/** Events: "saved" {path}, "shown". `op` determines the operations: the set of a node, or the feature of the workflow. */
export class Form extends EventTarget {
  static saveDelay = 600; // ms without a key press after which a text is saved
  #dirty = new Map(); // control → its value before the input
  #timers = new Map();
  #undecided = new WeakSet(); // controls that show a value with a pending decision
  #foreignValues = new Map(); // focused control → {value, change} of a change by somebody else
  #sending = 0;

  constructor({ editor, root, data, shown = {}, op, about }) {
    super();
    Object.assign(this, { editor, root, data, shown, op, about });
    root.addEventListener("input", (event) => this.#onInput(event));
    root.addEventListener("change", (event) => this.#onChange(event));
    root.addEventListener("focusout", (event) => this.#onFocusOut(event));
    root.addEventListener("submit", (event) => event.preventDefault());
    this.showDependent();
  }

  get isBusy() {
    return this.#sending > 0;
  }

  get isDirty() {
    return this.#dirty.size > 0;
  }

  isDirtyAt(el) {
    return this.#dirty.has(el);
  }

  /** Return the value at a path: from the data, or a default that is shown although nobody stored it. */
  getValue(path) {
    const value = getAtPath(this.data, path);
    return value === undefined && !(path[0] in this.data) ? getAtPath(this.shown, path) : value;
  }

  /** Save all pending input. */
  flush() {
    return Promise.all([...this.#dirty.keys()].map((el) => this.commit(el)));
  }

  /** Save one control. */
  async commit(el) {
    clearTimeout(this.#timers.get(el));
    this.#dirty.delete(el);
    if (!el.isConnected || !el.matches(CONTROL)) return;
    let value;
    try {
      value = readValue(el);
    } catch (error) {
      return this.#showError(el, t("Invalid JSON: {why}", { why: error.message }));
    }
    if (el.validity && !el.validity.valid) return this.#showError(el, el.validationMessage);
    this.#showError(el, "");
    if (el.dataset.turns) return this.#switchSection(el, value);
    const foreign = this.#foreignValues.get(el);
    this.#foreignValues.delete(el);
    if (foreign && !isEqual(foreign.value, value ?? MISSING)) return this.#reportConflict(el, value, foreign);
    await this.save(getPath(el), value, { el });
  }

  /** Save a value at a path, whatever control shows it. */
  async save(path, value, { el = null } = {}) {
    const base = this.#getBase(path);
    const isUnchanged = isEqual(getAtPath(this.data, path), value) || (value === undefined && getAtPath(base, path) === undefined);
    if (isUnchanged && !this.editor.edits.pendingDecisions.find({ ...this.op, path })) return;
    const next = setAtPath(base, path, value, getBlankItem(el));
    const change = buildOperation(this.data, next, path);
    await this.send([change], next, { path, el });
  }

  /** Send several changes as one gesture; `next` is the data afterwards. */
  async send(changes, next, { path = [], el = null } = {}) {
    this.data = next;
    this.showDependent();
    const label = t("{what} of {which}", { what: getLabel(el ?? this.root, path), which: this.about() });
    this.#sending++;
    const change = await this.editor.edits.send(changes.map((partial) => ({ ...this.op, ...partial })), { label, texts: isText(el) ? [path.join(".")] : [] });
    this.#sending--;
    if (change === null) this.dispatchEvent(new CustomEvent("refused"));
    else this.dispatchEvent(new CustomEvent("saved", { detail: { path, el, change } }));
  }

  /** Apply data from the server, of a revision whose changes this tab may not have received. */
  receive(data, shown = {}, revision = 0) {
    if (this.isBusy) return;
    const previous = this.#activeControls().map((el) => [el, this.getValue(getPath(el))]);
    this.data = data;
    this.shown = shown;
    for (const [el, value] of previous) this.#noteForeignValue(el, value, revision);
    this.showDependent();
  }

  /**
   * Note a value by somebody else. The change that brings it may name its author later; a draft that was read again does
   * not.
   */
  #noteForeignValue(el, previous, revision) {
    const value = this.getValue(getPath(el));
    if (isEqual(previous, value) || isEqual(readSafely(el), value) || this.#undecided.has(el)) return;
    this.#foreignValues.set(el, { value: value ?? MISSING, change: { author: null, revision } });
  }

  /** Return the controls with unsaved input and the focused one. */
  #activeControls() {
    const controls = new Set([...this.#dirty.keys(), document.activeElement]);
    return [...controls].filter((el) => this.root.contains(el) && el.matches(CONTROL) && isTextControl(el));
  }

  /**
   * Handle a value by somebody else for a field in use. With unsaved input both values are offered for a decision; a field
   * that is only focused waits for input.
   */
  conflicts(ops, change) {
    for (const el of this.#activeControls()) {
      const path = getPath(el);
      const theirs = ops.findLast((op) => op.path && (startsWith(path, op.path) || startsWith(op.path, path)));
      if (!theirs || this.editor.edits.pendingDecisions.find({ ...this.op, path })) continue;
      const subPath = path.slice(theirs.path.length);
      const value = (theirs.remove ? undefined : getAtPath({ value: theirs.value }, ["value", ...subPath])) ?? MISSING;
      const ownValue = readSafely(el);
      if (isEqual(ownValue, value)) this.#foreignValues.delete(el);
      else if (!this.#dirty.has(el)) this.#foreignValues.set(el, { value, change });
      else this.#reportConflict(el, ownValue, { value, change });
    }
  }

  #reportConflict(el, ownValue, { value: theirs, change }) {
    clearTimeout(this.#timers.get(el));
    this.#dirty.delete(el);
    this.#foreignValues.delete(el);
    const { edits, root } = this.editor;
    const path = getPath(el);
    const op = ownValue === undefined ? { ...this.op, path, remove: true } : { ...this.op, path, value: ownValue };
    const { author } = change;
    const isOwn = Boolean(author) && String(author.id) === root.dataset.me;
    const conflict = { op, node: this.op.id ?? null, field: path.join("."), label: getLabel(el, path), yours: ownValue ?? MISSING, theirs, by: author?.name ?? "", own: isOwn, isText: isText(el) };
    const message = t("Someone else changed this too");
    const label = getLabel(el, path);
    // Earlier input may have been refused in the meantime and wait already: a field has only one decision.
    if (!edits.pendingDecisions.filterNew([conflict], label).length) return;
    edits.unsavedChanges.add({ kind: "conflict", label, message, ops: [op], conflicts: [conflict], client: edits.client, base: change.revision });
  }

  /** Show our value while a decision is pending, and the stored value afterwards. */
  showPendingValues() {
    const { pendingDecisions } = this.editor.edits;
    for (const el of this.root.querySelectorAll(CONTROL)) {
      if (el.dataset.turns || this.#dirty.has(el)) continue;
      const path = getPath(el);
      const ownValue = pendingDecisions.getOwnValue({ ...this.op, path });
      if (ownValue) {
        this.#undecided.add(el);
        if (!isEqual(readSafely(el), ownValue.value)) showValue(el, ownValue.value);
      } else if (this.#undecided.delete(el) && !this.#isQueued(path)) {
        showValue(el, this.getValue(path));
      }
    }
  }

  /** Return whether edits of this tab that the server has not confirmed yet change this value, or a part of it. */
  isChangeUnderWay(path) {
    return this.editor.edits.waiting.some(({ ops }) => ops.some((op) => op.id === this.op.id && op.path && (startsWith(path, op.path) || startsWith(op.path, path))));
  }

  #isQueued(path) {
    return this.editor.edits.waiting.some(({ ops }) => ops.some((op) => op.id === this.op.id && op.path && startsWith(path, op.path)));
  }

  /** Put a value into a control, unless it has unsaved input or a pending decision. */
  put(el, value) {
    if (this.#dirty.has(el) || this.#undecided.has(el) || el === document.activeElement) return;
    showValue(el, value);
  }

  /** Show fields only with the value they depend on, or while their section is on. */
  showDependent() {
    for (const box of this.root.querySelectorAll("[data-section]")) {
      const body = box.querySelector(":scope > [data-section-body]");
      const switchEl = box.querySelector("[data-turns]");
      if (body && switchEl) body.hidden = !switchEl.checked;
    }
    for (const box of this.root.querySelectorAll("[data-reveals]")) {
      const revealed = box.closest("[data-field]").querySelector("[data-revealed]");
      if (revealed) revealed.hidden = !box.checked;
    }
    for (const field of this.root.querySelectorAll("[data-shown-when]")) {
      const [name, values] = parseJson(field.dataset.shownWhen, ["", []]);
      const parent = field.dataset.field.split(".").slice(0, -1);
      const path = name.startsWith("/") ? [name.slice(1)] : [...parent, name];
      field.hidden = !values.some((expected) => isEqual(expected, this.getValue(path) ?? getDefault(expected)));
    }
  }

  #getBase(path) {
    const root = path[0];
    return root in this.data || !(root in this.shown) ? this.data : { ...this.data, [root]: structuredClone(this.shown[root]) };
  }

  #onInput({ target }) {
    if (!target.matches(CONTROL) || !isTextControl(target)) return;
    if (!this.#dirty.has(target)) this.#dirty.set(target, getAtPath(this.data, getPath(target)));
    clearTimeout(this.#timers.get(target));
    this.#timers.set(target, setTimeout(() => this.commit(target), Form.saveDelay));
  }

  // Leaving a field causes no change: its input was saved already or waits for a decision.
  #onChange({ target }) {
    if (target.matches(CONTROL) && (this.#dirty.has(target) || !isTextControl(target))) this.commit(target);
  }

  #onFocusOut({ target }) {
    if (this.#dirty.has(target)) return this.commit(target);
    if (this.#foreignValues.delete(target)) showValue(target, this.getValue(getPath(target)));
  }

  /** Turn a section on with the values of new nodes, or off. Some that are off and unchanged are not stored at all. */
  #switchSection(el, isOn) {
    const path = getPath(el.closest("[data-section]"));
    const initial = parseJson(el.dataset.turns, {});
    const { [el.dataset.key]: _switch, ...values } = dropNull(this.getValue(path) ?? {});
    if (isOn) return this.save(path, { ...initial, ...values, [el.dataset.key]: true }, { el });
    return "drops" in el.dataset && isEqual({ ...initial, ...values }, initial) ? this.save(path, undefined, { el }) : this.save(getPath(el), false, { el });
  }

  #showError(el, message) {
    if (el.getAttribute("aria-invalid") === "true" || message) el.setAttribute("aria-invalid", String(Boolean(message)));
    const list = el.closest("[data-field]")?.querySelector(":scope > [data-problems]");
    list?.querySelector('[data-own=""]')?.remove();
    if (!message || !list) return;
    const line = document.createElement("li");
    line.dataset.own = "";
    line.className = "is-error";
    line.textContent = message;
    list.append(line);
  }
}

/** Return the label of a field. */
function getLabel(el, path) {
  const label = el.closest?.("[data-field]")?.querySelector("label, legend");
  return label?.firstChild?.textContent.trim() || String(path.findLast?.((step) => typeof step === "string") ?? "");
}

function isTextControl(el) {
  return el.tagName === "TEXTAREA" || (el.tagName === "INPUT" && !["checkbox", "radio"].includes(el.type));
}

/** Return whether a field is for texts of any length. */
const isText = (el) => Boolean(el?.matches?.("textarea[data-as=text]"));

/** Return the value of a control, or its raw text when it cannot be parsed. */
function readSafely(el) {
  try {
    return readValue(el);
  } catch {
    return el.value;
  }
}

function getBlankItem(el) {
  const list = el?.closest("[data-list]");
  return list ? parseJson(list.dataset.blank, {}) : {};
}

// A choice that nobody made reads as the first option.
const getDefault = (value) => (value === "none" || value === null ? value : undefined);
const startsWith = (long, short) => short.every((step, index) => String(long[index]) === String(step));
const dropNull = (values) => Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null));
