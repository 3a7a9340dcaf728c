// Behaviour of every page: theme, menus, toasts, copy buttons. Events are delegated, so that swapped fragments work.

// Imported once the page is parsed: an import of this script's own would come before the editor's import map, which then
// leaves the module out.
const toasts = import("./common/toasts.js");
import("./common/picture_view.js");
import("./common/page_actions.js");
import("./common/form_ids.js");
import("./common/row_links.js");
import("./common/searchable_select.js");

const THEMES = ["auto", "light", "dark"];

const root = document.documentElement;
const getTheme = () => root.dataset.theme ?? "auto";

function showTheme() {
  for (const label of document.querySelectorAll("[data-theme-label]")) label.textContent = label.dataset[getTheme()];
}

function switchTheme() {
  const theme = THEMES[(THEMES.indexOf(getTheme()) + 1) % THEMES.length];
  if (theme === "auto") delete root.dataset.theme;
  else root.dataset.theme = theme;
  try {
    if (theme === "auto") localStorage.removeItem("theme");
    else localStorage.setItem("theme", theme);
  } catch {
    // shown, but not stored
  }
  showTheme();
}

function toggleMenu(button) {
  const open = button.closest("[data-menu]").toggleAttribute("data-open");
  button.setAttribute("aria-expanded", String(open));
}

async function copyToClipboard(button) {
  const source = document.getElementById(button.dataset.copy);
  await navigator.clipboard.writeText(button.dataset.copyText ?? source.value ?? source.textContent.trim());
  const label = button.querySelector("[data-copy-label]") ?? button;
  const previousLabel = label.textContent;
  label.textContent = button.dataset.copied;
  button.classList.add("is-copied");
  setTimeout(() => {
    label.textContent = previousLabel;
    button.classList.remove("is-copied");
  }, 1600);
}

const CLICKS = {
  "[data-theme-toggle]": switchTheme,
  "[data-menu-toggle]": toggleMenu,
  "[data-toast-close]": (button) => button.closest("[data-toast]").remove(),
  "[data-remove]": (button) => document.getElementById(button.dataset.remove)?.remove(),
  "[data-copy], [data-copy-text]": copyToClipboard,
};

document.addEventListener("click", (event) => {
  for (const [selector, handler] of Object.entries(CLICKS)) {
    const target = event.target.closest(selector);
    if (target) handler(target);
  }
  for (const menu of document.querySelectorAll("details[data-dismiss][open]")) {
    if (!menu.contains(event.target)) menu.open = false;
  }
});

const MENU_MARGIN = 8;

/** Move the panel of a menu into the screen, where its button is too near to a side of it. */
function keepInView(menu) {
  const panel = menu.querySelector(":scope > .menu-panel");
  if (!panel) return;
  panel.style.translate = "";
  const { left, right } = panel.getBoundingClientRect();
  const end = document.documentElement.clientWidth - MENU_MARGIN;
  const shift = Math.max(Math.min(0, end - right), MENU_MARGIN - left);
  if (left < MENU_MARGIN || right > end) panel.style.translate = `${Math.round(shift)}px`;
}

document.addEventListener(
  "toggle",
  ({ target }) => {
    if (target.matches("details.menu[open]")) keepInView(target);
  },
  { capture: true }, // it does not bubble
);

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  for (const menu of document.querySelectorAll("details[data-dismiss][open]")) {
    menu.open = false;
    menu.querySelector("summary").focus();
  }
});

// An answer may come after its place was replaced. What a person asked for is then shown in the replacement, unless that shows
// the answer to a later request already. What an element loads for itself changes nothing: with a target that is gone htmx
// would insert nothing, and lose the element of the page that the answer meant to preserve.
let requestCount = 0;
const shownRequests = new Map(); // id of a place → number of the request whose answer it shows

document.addEventListener("htmx:before:swap", ({ detail: { ctx, tasks = [] } }) => {
  const isGone = ({ target }) => target instanceof Element && !target.isConnected;
  for (const task of tasks.filter(isGone)) {
    const replacement = ctx.sourceElement !== task.target && findReplacement(task.target);
    if (replacement && !showsLaterRequest(replacement, ctx.number)) task.target = replacement;
  }
  tasks.splice(0, tasks.length, ...tasks.filter((task) => !isGone(task)));
  for (const { target } of tasks) if (target.id) shownRequests.set(target.id, ctx.number);
});

// A request waits for the one before it of the same element, whose answer may replace that element. Then the replacement asks
// again, so that what changed last is not missing.
document.addEventListener("htmx:before:request", (event) => {
  const { ctx } = event.detail;
  ctx.number = ++requestCount;
  const loadsItself = ctx.sourceElement === ctx.target && ctx.request.method === "GET";
  const replacement = loadsItself && !ctx.target.isConnected && findReplacement(ctx.target);
  if (!replacement) return;
  event.preventDefault();
  window.htmx.trigger(replacement, ctx.sourceEvent.type);
});

const findReplacement = ({ id }) => id && document.getElementById(id);

const showsLaterRequest = (place, number) => Boolean(place) && (shownRequests.get(place.id) > number || showsLaterRequest(place.parentElement, number));

// A form with a confirmation asks first; other listeners do not see the event before it is confirmed.
const confirmDialog = document.getElementById("confirm");
let confirmedForm = null;

document.addEventListener(
  "submit",
  (event) => {
    const form = event.target;
    if (!form.dataset.confirm || form === confirmedForm) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    askForConfirmation(form, event.submitter);
  },
  true,
);

function askForConfirmation(form, submitter) {
  confirmDialog.querySelector("[data-question]").textContent = form.dataset.confirm;
  const confirmButton = confirmDialog.querySelector("[value=yes]");
  const isDestructive = submitter?.classList.contains("button-bad") ?? false;
  confirmButton.textContent = submitter?.textContent.trim() || confirmDialog.dataset.yes;
  confirmButton.classList.toggle("button-bad", isDestructive);
  confirmButton.classList.toggle("button-main", !isDestructive);
  confirmDialog.returnValue = "";
  confirmDialog.addEventListener("close", () => confirmDialog.returnValue === "yes" && submitConfirmed(form, submitter), { once: true });
  confirmDialog.showModal();
}

function submitConfirmed(form, submitter) {
  confirmedForm = form.isConnected ? form : findSameForm(form);
  if (!confirmedForm) return; // the form was removed in the meantime
  const isSame = ({ type, name, value }) => type === "submit" && name === submitter?.name && value === submitter.value;
  confirmedForm.requestSubmit(submitter?.isConnected ? submitter : [...confirmedForm.elements].find(isSame));
  confirmedForm = null;
}

/** Return the form that sends the same and is there since its list was loaded again. */
function findSameForm(form) {
  const read = (candidate) => {
    const data = new URLSearchParams(new FormData(candidate));
    data.delete("csrfmiddlewaretoken"); // another one in each answer
    return [...["action", "hx-post", "data-confirm"].map((name) => candidate.getAttribute(name)), data].join("\n");
  };
  return [...document.querySelectorAll("form[data-confirm]")].find((candidate) => read(candidate) === read(form));
}

// A toast with a form or link stays until it is dismissed; others disappear by themselves.
function scheduleRemoval(toast) {
  if (!toast.querySelector("form, a")) setTimeout(() => toast.remove(), 6000);
}

new MutationObserver((changes) => {
  for (const change of changes) {
    for (const node of change.addedNodes) if (node.matches?.("[data-toast]")) scheduleRemoval(node);
  }
}).observe(document.getElementById("toasts"), { childList: true });

for (const toast of document.querySelectorAll("[data-toast]")) scheduleRemoval(toast);

// What the server says about a request that changed nothing on the page, once however many requests there were.
document.addEventListener("show-toast", async ({ detail }) => {
  const { showToast } = await toasts;
  const shown = [...document.querySelectorAll("[data-toast]")].map((toast) => toast.textContent.trim());
  if (!shown.includes(detail.value)) showToast(detail.value);
});

// What a person asked for, and the server never answered: without a message they would wait for it.
document.addEventListener("htmx:error", ({ detail: { ctx } }) => {
  if (!ctx || ctx.response || !ctx.sourceEvent?.isTrusted || ctx.status.includes("AbortError")) return;
  document.dispatchEvent(new CustomEvent("show-toast", { detail: { value: document.getElementById("toasts").dataset.unreachable } }));
});

// What a person chose before the scripts came, in a form that sends each choice at once. htmx, which came first, looks at
// the page in a task of its own; this one follows it.
setTimeout(() => {
  for (const select of document.querySelectorAll('form[hx-trigger^="change"] > select[autocomplete="off"]')) {
    const shown = [...select.options].find((option) => option.defaultSelected) ?? select.options[0];
    if (select.value !== shown?.value) select.form.requestSubmit();
  }
});

// On a narrow screen the current tab may lie outside the view. Tabs before those in view fade out as those after them do.
for (const tabs of document.querySelectorAll(".tabs")) {
  tabs.addEventListener("scroll", () => tabs.classList.toggle("is-scrolled", tabs.scrollLeft > 0));
  const currentTab = tabs.querySelector("[aria-current=page]")?.getBoundingClientRect();
  if (currentTab) tabs.scrollLeft += currentTab.left - tabs.getBoundingClientRect().left - (tabs.clientWidth - currentTab.width) / 2;
}
showTheme();
