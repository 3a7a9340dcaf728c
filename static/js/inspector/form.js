// One form over one JSON value: saves what is typed, keeps what others change up to date, and never takes a text away from who types it.

import { GONE } from "../editor/clashing.js";
import { t } from "../editor/words.js";
import { CONTROL, pathOf, show, valueOf } from "./controls.js";
import { get, operation, put, read, same } from "./trees.js";

const REST = 600; // ms without a key press after which a text is saved

/** Events: "saved" {path}, "shown". `target` says how operations are named: a node's set, or the workflow's feature. */
export class Form extends EventTarget {
  #dirty = new Map(); // control → its value before typing began
  #timers = new Map();
  #undecided = new WeakSet(); // controls that show what waits for a decision
  #overtaken = new Map(); // the control one is in → {value, change}: what somebody else made of it meanwhile
  #sending = 0;

  constructor({ editor, root, data, shown = {}, op, about }) {
    super();
    Object.assign(this, { editor, root, data, shown, op, about });
    root.addEventListener("input", (event) => this.#typed(event));
    root.addEventListener("change", (event) => this.#changed(event));
    root.addEventListener("focusout", (event) => this.#left(event));
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

  /** What the form shows at a path: the data, or what is shown although nobody wrote it. */
  at(path) {
    const value = get(this.data, path);
    return value === undefined && !(path[0] in this.data) ? get(this.shown, path) : value;
  }

  /** Everything typed so far is saved now. */
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
      value = valueOf(el);
    } catch (error) {
      return this.#complain(el, t("This isn't JSON: {why}", { why: error.message }));
    }
    if (el.validity && !el.validity.valid) return this.#complain(el, el.validationMessage);
    this.#complain(el, "");
    if (el.dataset.turns && value) return this.#turnOn(el);
    const since = this.#overtaken.get(el);
    this.#overtaken.delete(el);
    if (since && !same(since.value, value ?? GONE)) return this.#report(el, value, since);
    await this.save(pathOf(el), value, { el });
  }

  /** Save a value at a path, whatever shows it. */
  async save(path, value, { el = null } = {}) {
    const base = this.#based(path);
    const isHeld = same(get(this.data, path), value) || (value === undefined && get(base, path) === undefined);
    if (isHeld && !this.editor.edits.deciding.find({ ...this.op, path })) return;
    const next = put(base, path, value, blankFor(el));
    const change = operation(this.data, next, path);
    await this.send([change], next, { path, el });
  }

  /** Several changes as one gesture; `next` is what the data are afterwards. */
  async send(changes, next, { path = [], el = null } = {}) {
    this.data = next;
    this.showDependent();
    const label = t("{what} of {which}", { what: labelOf(el ?? this.root, path), which: this.about() });
    this.#sending++;
    const change = await this.editor.edits.send(changes.map((one) => ({ ...this.op, ...one })), { label, texts: isText(el) ? [path.join(".")] : [] });
    this.#sending--;
    if (change === null) this.dispatchEvent(new CustomEvent("refused"));
    else this.dispatchEvent(new CustomEvent("saved", { detail: { path, el, change } }));
  }

  /** What others made of the data, as of a revision that this tab may not have heard of. */
  receive(data, shown = {}, revision = 0) {
    if (this.isBusy) return;
    const before = this.#inHand().map((el) => [el, this.at(pathOf(el))]);
    this.data = data;
    this.shown = shown;
    for (const [el, value] of before) this.#overtake(el, value, revision);
    this.showDependent();
  }

  /** Whose change it was, the change itself says if it comes to be heard; a draft read anew has none to tell. */
  #overtake(el, before, revision) {
    const value = this.at(pathOf(el));
    if (same(before, value) || same(readable(el), value) || this.#undecided.has(el)) return;
    this.#overtaken.set(el, { value: value ?? GONE, change: { author: null, revision } });
  }

  /** The fields that are being typed in, and the one that somebody only is in. */
  #inHand() {
    const found = new Set([...this.#dirty.keys(), document.activeElement]);
    return [...found].filter((el) => this.root.contains(el) && el.matches(CONTROL) && isTypedIn(el));
  }

  /**
   * Somebody else's value for a field that is being typed in right now: both are offered to choose from. Where one only
   * is in it, that waits until something is typed.
   */
  clashes(ops, change) {
    for (const el of this.#inHand()) {
      const path = pathOf(el);
      const theirs = ops.findLast((op) => op.path && (starts(path, op.path) || starts(op.path, path)));
      if (!theirs || this.editor.edits.deciding.find({ ...this.op, path })) continue;
      const rest = path.slice(theirs.path.length);
      const value = (theirs.remove ? undefined : get({ value: theirs.value }, ["value", ...rest])) ?? GONE;
      const mine = readable(el);
      if (same(mine, value)) this.#overtaken.delete(el);
      else if (!this.#dirty.has(el)) this.#overtaken.set(el, { value, change });
      else this.#report(el, mine, { value, change });
    }
  }

  #report(el, mine, { value: theirs, change }) {
    clearTimeout(this.#timers.get(el));
    this.#dirty.delete(el);
    this.#overtaken.delete(el);
    const { edits, root } = this.editor;
    const path = pathOf(el);
    const op = mine === undefined ? { ...this.op, path, remove: true } : { ...this.op, path, value: mine };
    const { author } = change;
    const own = Boolean(author) && String(author.id) === root.dataset.me;
    const clash = { op, node: this.op.id ?? null, field: path.join("."), yours: mine ?? GONE, theirs, by: author?.name ?? "", own, isText: isText(el) };
    const message = t("Somebody changed the same thing");
    edits.ledger.add({ kind: "clash", label: labelOf(el, path), message, ops: [op], clashes: [clash], client: edits.client, base: change.revision });
  }

  /** Where a decision waits, what was written here stays to be seen; once it was made, what holds. */
  showMine() {
    const { deciding } = this.editor.edits;
    for (const el of this.root.querySelectorAll(CONTROL)) {
      if (el.dataset.turns || this.#dirty.has(el)) continue;
      const path = pathOf(el);
      const mine = deciding.mine({ ...this.op, path });
      if (mine) {
        this.#undecided.add(el);
        if (!same(readable(el), mine.value)) show(el, mine.value);
      } else if (this.#undecided.delete(el) && !this.#isOnItsWay(path)) {
        show(el, this.at(path));
      }
    }
  }

  #isOnItsWay(path) {
    return this.editor.edits.waiting.some(({ ops }) => ops.some((op) => op.id === this.op.id && op.path && starts(path, op.path)));
  }

  /** Put a value into a control, unless somebody is typing in it or has yet to decide about it. */
  put(el, value) {
    if (this.#dirty.has(el) || this.#undecided.has(el) || el === document.activeElement) return;
    show(el, value);
  }

  /** Fields that only make sense with another's value, or while their section is on. */
  showDependent() {
    for (const box of this.root.querySelectorAll("[data-section]")) {
      const body = box.querySelector(":scope > [data-section-body]");
      const turns = box.querySelector("[data-turns]");
      if (body && turns) body.hidden = !turns.checked;
    }
    for (const box of this.root.querySelectorAll("[data-reveals]")) {
      const revealed = box.closest("[data-field]").querySelector("[data-revealed]");
      if (revealed) revealed.hidden = !box.checked;
    }
    for (const field of this.root.querySelectorAll("[data-shown-when]")) {
      const [name, values] = read(field.dataset.shownWhen, ["", []]);
      const home = field.dataset.field.split(".").slice(0, -1);
      field.hidden = !values.some((one) => same(one, this.at([...home, name]) ?? defaultOf(one)));
    }
  }

  #based(path) {
    const root = path[0];
    return root in this.data || !(root in this.shown) ? this.data : { ...this.data, [root]: structuredClone(this.shown[root]) };
  }

  #typed({ target }) {
    if (!target.matches(CONTROL) || !isTypedIn(target)) return;
    if (!this.#dirty.has(target)) this.#dirty.set(target, get(this.data, pathOf(target)));
    clearTimeout(this.#timers.get(target));
    this.#timers.set(target, setTimeout(() => this.commit(target), REST));
  }

  // Leaving a field says nothing new: what was typed in it was saved then, or waits for a decision.
  #changed({ target }) {
    if (target.matches(CONTROL) && (this.#dirty.has(target) || !isTypedIn(target))) this.commit(target);
  }

  #left({ target }) {
    if (this.#dirty.has(target)) return this.commit(target);
    if (this.#overtaken.delete(target)) show(target, this.at(pathOf(target)));
  }

  #turnOn(el) {
    const section = el.closest("[data-section]");
    const path = pathOf(section);
    const held = this.at(path) ?? {};
    return this.save(path, { ...read(el.dataset.turns, {}), ...dropNull(held), [el.dataset.key]: true }, { el });
  }

  #complain(el, message) {
    if (el.getAttribute("aria-invalid") === "true" || message) el.setAttribute("aria-invalid", String(Boolean(message)));
    const place = el.closest("[data-field]")?.querySelector(":scope > [data-problems]");
    place?.querySelector("[data-own]")?.remove();
    if (!message || !place) return;
    const line = document.createElement("li");
    line.dataset.own = "";
    line.className = "is-error";
    line.textContent = message;
    place.append(line);
  }
}

/** What a person calls the field. */
function labelOf(el, path) {
  const label = el.closest?.("[data-field]")?.querySelector("label, legend");
  return label?.firstChild?.textContent.trim() || String(path.findLast?.((step) => typeof step === "string") ?? "");
}

function isTypedIn(el) {
  return el.tagName === "TEXTAREA" || (el.tagName === "INPUT" && !["checkbox", "radio"].includes(el.type));
}

/** Whether a field is for texts, of one word or of many pages. */
const isText = (el) => Boolean(el?.matches?.("textarea[data-as=text]"));

/** What stands in a control, as it stands there where it can't be read. */
function readable(el) {
  try {
    return valueOf(el);
  } catch {
    return el.value;
  }
}

function blankFor(el) {
  const list = el?.closest("[data-list]");
  return list ? read(list.dataset.blank, {}) : {};
}

// A choice nobody has made yet reads as the one that is shown first.
const defaultOf = (value) => (value === "none" ? "none" : undefined);
const starts = (long, short) => short.every((step, at) => String(long[at]) === String(step));
const dropNull = (held) => Object.fromEntries(Object.entries(held).filter(([, value]) => value !== null));
