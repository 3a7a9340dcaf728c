// Submenus: popovers beside their row, opened by hovering, pressing it, or →.

const HOVER_DELAY = 140; // ms of hovering; the pointer may cross other rows on its way to an open submenu
const GAP = 4;

export const getItems = (menu) => [...menu.querySelectorAll(":scope > [role=menuitem], :scope > [role=none] > [role=menuitem]")];

/** Move the focus within the current level: up, down, to the ends, or to the next row with a letter. */
export function moveFocus(root, event) {
  const menu = event.target.closest("[role=menu]") ?? root;
  const items = getItems(menu);
  const index = items.indexOf(document.activeElement);
  const nextIndex = { ArrowDown: index + 1, ArrowUp: index < 0 ? items.length - 1 : index - 1, Home: 0, End: items.length - 1 }[event.key];
  if (event.key === "Tab") {
    event.preventDefault();
    root.hidePopover();
  } else if (nextIndex !== undefined) {
    event.preventDefault();
    items[(nextIndex + items.length) % items.length].focus();
  } else if (event.key.length === 1 && event.key !== " " && !event.ctrlKey && !event.metaKey) {
    const following = [...items.slice(index + 1), ...items.slice(0, index + 1)];
    following.find((item) => item.textContent.trim().toLowerCase().startsWith(event.key.toLowerCase()))?.focus();
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
    menu.addEventListener("pointerover", (event) => event.pointerType === "mouse" && this.#onHover(event.target.closest("[role=menuitem]")));
    menu.addEventListener("toggle", (event) => this.#onToggle(event), true); // toggle events do not bubble
  }

  /** @returns {boolean} whether a submenu handled the key */
  key(event) {
    const row = event.target.closest("[aria-haspopup]");
    const level = event.target.closest("[role=menu]");
    const isDeeper = level !== this.menu;
    if (row && event.key === "ArrowRight") this.#open(row, true);
    else if (isDeeper && ["ArrowLeft", "Escape"].includes(event.key)) this.#closeLevel(level);
    else return false;
    event.preventDefault();
    event.stopPropagation();
    return true;
  }

  #onHover(item) {
    clearTimeout(this.#timer);
    if (!item || item.closest("[role=menu]") !== this.menu) return;
    this.#timer = setTimeout(() => {
      if (item.matches("[aria-haspopup]")) this.#open(item, false);
      else for (const level of this.menu.querySelectorAll(":popover-open")) level.hidePopover();
    }, HOVER_DELAY);
  }

  #open(row, isEntered) {
    clearTimeout(this.#timer);
    const level = row.nextElementSibling;
    if (!level.matches(":popover-open")) level.showPopover();
    this.#place(level, row.getBoundingClientRect());
    if (isEntered) getItems(level)[0].focus();
  }

  #closeLevel(level) {
    level.hidePopover();
    level.previousElementSibling.focus();
  }

  #onToggle({ target, newState }) {
    const row = target.previousElementSibling;
    if (row?.matches("[aria-haspopup]")) row.setAttribute("aria-expanded", String(newState === "open"));
  }

  /** Place a submenu beside its row on the side with room; on narrow screens over the menu, below the row. */
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
