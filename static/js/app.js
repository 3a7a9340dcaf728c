// Behaviour of every page: theme, menus, toasts, copy buttons. Events are delegated, so that swapped fragments work.

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

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  for (const menu of document.querySelectorAll("details[data-dismiss][open]")) {
    menu.open = false;
    menu.querySelector("summary").focus();
  }
});

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
  confirmDialog.querySelector("[value=yes]").textContent = submitter?.textContent.trim() || confirmDialog.dataset.yes;
  confirmDialog.returnValue = "";
  confirmDialog.addEventListener("close", () => confirmDialog.returnValue === "yes" && submitConfirmed(form, submitter), { once: true });
  confirmDialog.showModal();
}

function submitConfirmed(form, submitter) {
  if (!form.isConnected) return; // the form was removed in the meantime
  confirmedForm = form;
  form.requestSubmit(submitter?.isConnected ? submitter : null);
  confirmedForm = null;
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

// On a narrow screen the current tab may lie outside the view.
for (const tabs of document.querySelectorAll(".tabs")) {
  const currentTab = tabs.querySelector("[aria-current=page]")?.getBoundingClientRect();
  if (currentTab) tabs.scrollLeft += currentTab.left - tabs.getBoundingClientRect().left - (tabs.clientWidth - currentTab.width) / 2;
}
showTheme();
