// The levels of a menu below its first: each a popover beside its row, opened by resting on it, pressing it, or →.

const REST = 140; // ms: who goes down past a row, or slantwise to what it opened, doesn't mean the next one
const GAP = 4;

export const itemsOf = (menu) => [...menu.querySelectorAll(":scope > [role=menuitem], :scope > [role=none] > [role=menuitem]")];

/** Up, down, to the ends, and to the next row with a letter; of the level one is in. */
export function walk(root, event) {
  const menu = event.target.closest("[role=menu]") ?? root;
  const items = itemsOf(menu);
  const at = items.indexOf(document.activeElement);
  const to = { ArrowDown: at + 1, ArrowUp: at < 0 ? items.length - 1 : at - 1, Home: 0, End: items.length - 1 }[event.key];
  if (event.key === "Tab") {
    event.preventDefault();
    root.hidePopover();
  } else if (to !== undefined) {
    event.preventDefault();
    items[(to + items.length) % items.length].focus();
  } else if (event.key.length === 1 && event.key !== " " && !event.ctrlKey && !event.metaKey) {
    const rest = [...items.slice(at + 1), ...items.slice(0, at + 1)];
    rest.find((item) => item.textContent.trim().toLowerCase().startsWith(event.key.toLowerCase()))?.focus();
  }
}

export class Submenus {
  #timer = 0;

  constructor(menu) {
    this.menu = menu;
    menu.addEventListener("click", (event) => {
      const row = event.target.closest("[aria-haspopup]");
      if (row) this.#open(row, event.detail === 0); // 0: by key
    });
    menu.addEventListener("pointerover", (event) => event.pointerType === "mouse" && this.#over(event.target.closest("[role=menuitem]")));
    menu.addEventListener("toggle", (event) => this.#said(event), true); // these don't bubble
  }

  /** @returns {boolean} whether the key was one of these levels' */
  key(event) {
    const row = event.target.closest("[aria-haspopup]");
    const level = event.target.closest("[role=menu]");
    const isDeeper = level !== this.menu;
    if (row && event.key === "ArrowRight") this.#open(row, true);
    else if (isDeeper && ["ArrowLeft", "Escape"].includes(event.key)) this.#back(level);
    else return false;
    event.preventDefault();
    event.stopPropagation();
    return true;
  }

  #over(item) {
    clearTimeout(this.#timer);
    if (!item || item.closest("[role=menu]") !== this.menu) return;
    this.#timer = setTimeout(() => {
      if (item.matches("[aria-haspopup]")) this.#open(item, false);
      else for (const level of this.menu.querySelectorAll(":popover-open")) level.hidePopover();
    }, REST);
  }

  #open(row, isEntered) {
    clearTimeout(this.#timer);
    const level = row.nextElementSibling;
    if (!level.matches(":popover-open")) level.showPopover();
    this.#place(level, row.getBoundingClientRect());
    if (isEntered) itemsOf(level)[0].focus();
  }

  #back(level) {
    level.hidePopover();
    level.previousElementSibling.focus();
  }

  #said({ target, newState }) {
    const row = target.previousElementSibling;
    if (row?.matches("[aria-haspopup]")) row.setAttribute("aria-expanded", String(newState === "open"));
  }

  /** Beside its row, on the side where there is room; on a narrow screen over the menu, below the row. */
  #place(level, row) {
    const { width, height } = level.getBoundingClientRect();
    const { clientWidth, clientHeight } = document.documentElement;
    const fitsRight = row.right + width <= clientWidth - GAP;
    const fitsLeft = row.left - width >= GAP;
    const x = fitsRight ? row.right : fitsLeft ? row.left - width : clientWidth - width - GAP;
    const y = fitsRight || fitsLeft ? row.top - GAP : row.bottom;
    level.style.left = `${Math.max(GAP, x)}px`;
    level.style.top = `${Math.max(GAP, Math.min(y, clientHeight - height - GAP))}px`;
  }
}
