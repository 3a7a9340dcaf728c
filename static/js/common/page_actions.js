// On a phone the actions of a page take one row: the main one, and a menu with the others. Without a main one, the menu
// stands beside the title.

const PHONE = matchMedia("(max-width: 560px)");
const ROWS = ".page-head > .row:not(:first-child)";
const ACTIONS = "a.button, button.button, form";
const MAIN = ".button-main, [data-main-action]";
const LEAST = 2; // a single action needs no menu

const originals = new WeakMap(); // row → its actions in their own order

function arrangeAll() {
  for (const row of document.querySelectorAll(ROWS)) {
    if (PHONE.matches) fold(row);
    else unfold(row);
  }
}

function fold(row) {
  const template = document.getElementById("page-actions");
  const actions = [...row.children].filter(isLesserAction);
  if (!template || originals.has(row) || actions.length < LEAST) return;
  originals.set(row, [...row.children]);
  const menu = template.content.firstElementChild.cloneNode(true);
  const panel = menu.querySelector(".menu-panel");
  panel.append(...actions);
  panel.addEventListener("click", (event) => event.target.closest("a, button") && (menu.open = false));
  row.append(menu);
  row.parentElement.toggleAttribute("data-compact", row.children.length === 1);
}

const isLesserAction = (el) => el.matches(ACTIONS) && !el.matches(MAIN) && !el.querySelector(MAIN);

function unfold(row) {
  const actions = originals.get(row);
  if (!actions) return;
  originals.delete(row);
  row.replaceChildren(...actions);
  row.parentElement.removeAttribute("data-compact");
}

arrangeAll();
PHONE.addEventListener("change", arrangeAll);
document.addEventListener("htmx:after:swap", arrangeAll);
