// A select whose options are searched: instead of the browser's list, it opens one with a search field, icons and hints.
// The select keeps the value and sends its events, so that forms, and people without scripts, use it like any other.
//
// The attributes are those of ``components/_searchable_attributes.html``. Options may have ``data-icon`` and ``data-hint``.
// A group with ``data-free``, the beginning of its values, also takes a text that is none of its options.

const SELECT = "select[data-searchable]";
const OPENING_KEYS = new Set(["Enter", " ", "ArrowDown", "ArrowUp"]);
const MAX_ROWS = 300;

let openList = null;
let serial = 0;

document.addEventListener("mousedown", (event) => {
  const select = event.target.closest?.(SELECT);
  if (!select || event.button !== 0) return;
  event.preventDefault(); // the browser would open its own list
  open(select);
});

document.addEventListener("keydown", (event) => {
  const select = event.target.closest?.(SELECT);
  if (!select || !OPENING_KEYS.has(event.key) || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  open(select);
});

document.addEventListener("change", (event) => {
  if (event.target.matches?.(SELECT)) showSelected(event.target);
});

// What was chosen while the answer for its form was on its way is chosen in the answer, too.
document.addEventListener("htmx:before:swap", ({ detail: { ctx, tasks = [] } }) => {
  const { form, body } = ctx.request;
  for (const next of tasks.flatMap(({ fragment }) => [...fragment.querySelectorAll(SELECT)])) {
    const current = findSame(next);
    if (current?.name && current.form === form && body?.get(current.name) !== current.value) select(next, current.selectedOptions[0].cloneNode(true));
  }
});

/** Show the icon and the hint of the selected option beside a select. */
export function showSelected(select) {
  const box = select.closest("[data-searchable-box]");
  const option = select.selectedOptions[0];
  if (!box || !option) return;
  setIcon(box.querySelector("[data-selected-icon]"), option.dataset.icon);
  const hint = box.querySelector("[data-selected-hint]");
  if (hint) hint.textContent = option.dataset.hint ?? "";
}

/** Show another icon of the page's set. */
export function setIcon(box, name) {
  const use = box?.querySelector("use");
  if (use && name) use.setAttribute("href", use.getAttribute("href").replace(/#.*$/, `#${name}`));
}

function open(select) {
  if (select.disabled || openList?.select === select) return;
  openList?.close();
  openList = new OptionList(select);
}

class OptionList {
  #rows = [];
  #index = 0;

  constructor(select) {
    this.select = select;
    this.el = document.createElement("div");
    this.el.className = "option-list";
    this.el.popover = "manual";
    this.#build(`option-list-${++serial}`);
    (select.closest("dialog[open]") ?? document.body).append(this.el);
    this.el.showPopover();
    this.#place();
    this.#filter();
    this.search.focus();
  }

  #build(id) {
    const label = this.select.dataset.searchable;
    this.search = document.createElement("input");
    Object.assign(this.search, { className: "input", type: "text", placeholder: label, autocomplete: "off", spellcheck: false });
    for (const [name, value] of [["role", "combobox"], ["aria-label", label], ["aria-expanded", "true"], ["aria-controls", id], ["aria-autocomplete", "list"]]) this.search.setAttribute(name, value);
    this.box = document.createElement("div");
    this.box.id = id;
    this.box.className = "option-list-rows";
    this.box.setAttribute("role", "listbox");
    this.box.setAttribute("aria-label", this.select.getAttribute("aria-label") ?? label);
    this.el.append(this.search, this.box);
    // The fields around it would take these events for their own.
    for (const kind of ["input", "change", "keydown"]) this.el.addEventListener(kind, (event) => event.stopPropagation());
    this.search.addEventListener("input", () => this.#filter());
    this.search.addEventListener("keydown", (event) => this.#onKey(event));
    this.box.addEventListener("pointerdown", (event) => event.preventDefault());
    this.box.addEventListener("click", (event) => this.#choose(this.#rows.find(({ el }) => el === event.target.closest("[role=option]"))));
    this.el.addEventListener("focusout", (event) => this.el.contains(event.relatedTarget) || this.close());
  }

  close({ focuses = false } = {}) {
    if (openList === this) openList = null;
    const { el } = this;
    this.el = { contains: () => true }; // removing the focused field triggers its focusout event
    el.remove?.();
    if (focuses) this.select.focus();
  }

  #filter() {
    const words = this.search.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
    this.#rows = [];
    this.box.replaceChildren();
    for (const part of this.select.children) {
      const isGroup = part.tagName === "OPTGROUP";
      const options = isGroup ? [...part.children] : [part];
      const matching = options.filter((option) => matches(option, isGroup ? part.label : "", words));
      if (isGroup && matching.length) this.box.append(createHeading(part.label));
      for (const option of matching) this.#append(createRow(option), () => option);
    }
    this.#offerFreeText();
    if (!this.#rows.length) this.box.append(createHeading(this.select.dataset.noResults));
    const selected = this.#rows.findIndex(({ el }) => el.dataset.isSelected !== undefined);
    this.#mark(words.length ? 0 : Math.max(0, selected));
  }

  #append(el, find) {
    if (this.#rows.length >= MAX_ROWS) return;
    el.id = `${this.box.id}-${this.#rows.length}`;
    this.#rows.push({ el, find });
    this.box.append(el);
  }

  /** Offer the text itself in the groups that take any, unless it is one of their options. */
  #offerFreeText() {
    const text = this.search.value.trim();
    if (!text) return;
    const groups = [...this.select.querySelectorAll("optgroup[data-free]")];
    for (const group of groups) {
      if ([...group.children].some((option) => option.text.trim() === text)) continue;
      const label = this.select.dataset.freeLabel.replace("{text}", text).replace("{group}", group.label);
      this.#append(createRow({ text: label, dataset: group.dataset }), () => addOption(group, text));
    }
  }

  #onKey(event) {
    if (event.isComposing) return;
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 }[event.key];
    if (step) this.#mark(Math.max(0, Math.min(this.#rows.length - 1, this.#index + step)));
    else if (event.key === "Enter") this.#choose(this.#rows[this.#index]);
    else if (event.key === "Escape") this.close({ focuses: true });
    else if (event.key === "Tab") return this.close({ focuses: true });
    else return;
    event.preventDefault();
  }

  #mark(index) {
    this.#index = index;
    this.#rows.forEach(({ el }, position) => el.setAttribute("aria-selected", String(position === index)));
    const el = this.#rows[index]?.el;
    this.search.setAttribute("aria-activedescendant", el?.id ?? "");
    el?.scrollIntoView({ block: "nearest" });
  }

  #choose(row) {
    if (!row) return;
    const option = row.find();
    if (!this.select.isConnected) this.select = findSame(this.select) ?? this.select; // its form was loaded again
    const { select: element } = this;
    this.close({ focuses: true });
    if (element.value === option.value) return;
    select(element, option);
    for (const kind of ["input", "change"]) element.dispatchEvent(new Event(kind, { bubbles: true }));
  }

  #place() {
    const { left, top, bottom, width } = this.select.getBoundingClientRect();
    const listWidth = Math.min(Math.max(width, 320), innerWidth - 16);
    const below = innerHeight - bottom - 12;
    const isBelow = below > 240 || below > top;
    const { style } = this.el;
    style.width = `${listWidth}px`;
    style.left = `${Math.max(8, Math.min(left, innerWidth - listWidth - 8))}px`;
    style.maxHeight = `${Math.min(380, (isBelow ? below : top) - 8)}px`;
    style.top = isBelow ? `${bottom + 4}px` : "auto";
    style.bottom = isBelow ? "auto" : `${innerHeight - top + 4}px`;
  }
}

/** Return the select of the page that is like another one, which is no longer, or not yet, in it. */
function findSame(wanted) {
  const read = ({ id, name, ariaLabel }) => [id, name, ariaLabel].join("\n");
  return [...document.querySelectorAll(SELECT)].find((element) => read(element) === read(wanted));
}

/** Select the option of the same value; an option that the select doesn't have is added. */
function select(element, option) {
  const own = [...element.options].find(({ value }) => value === option.value);
  if (!own) element.append(option);
  (own ?? option).selected = true;
}

function matches(option, group, words) {
  if (option.disabled || option.hidden) return false;
  const text = `${option.text} ${group} ${option.dataset.hint ?? ""}`.toLowerCase();
  return words.every((word) => text.includes(word));
}

function addOption(group, text) {
  const option = new Option(text, `${group.dataset.free}${text}`);
  Object.assign(option.dataset, { icon: group.dataset.icon ?? "" });
  group.append(option);
  return option;
}

function createRow(option) {
  const el = document.createElement("div");
  el.className = "option-row";
  el.setAttribute("role", "option");
  if (option.selected) el.dataset.isSelected = "";
  if (option.dataset.icon) el.append(createIcon(option.dataset.icon));
  const text = document.createElement("span");
  text.className = "option-text";
  const name = document.createElement("b");
  name.textContent = option.text.trim();
  const hint = document.createElement("span");
  hint.className = "option-hint";
  hint.textContent = option.dataset.hint ?? "";
  text.append(name, hint);
  el.append(text);
  return el;
}

/** Copy an icon of the page, whose address of the set has a version. */
function createIcon(name) {
  const icon = document.createElement("span");
  icon.className = "option-icon";
  const pattern = document.querySelector("svg.icon use")?.closest("svg");
  if (!pattern) return icon;
  const svg = pattern.cloneNode(true);
  svg.setAttribute("class", "icon icon-s");
  icon.append(svg);
  setIcon(icon, name);
  return icon;
}

function createHeading(text) {
  const el = document.createElement("div");
  el.className = "option-heading";
  el.setAttribute("role", "presentation");
  el.textContent = text;
  return el;
}
