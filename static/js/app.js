// What every page does: theme, menus, toasts, copy buttons. Delegated, so that swapped-in fragments work.

const THEMES = ["auto", "light", "dark"];

const root = document.documentElement;
const currentTheme = () => root.dataset.theme ?? "auto";

function showTheme() {
  for (const label of document.querySelectorAll("[data-theme-label]")) label.textContent = label.dataset[currentTheme()];
}

function nextTheme() {
  const theme = THEMES[(THEMES.indexOf(currentTheme()) + 1) % THEMES.length];
  if (theme === "auto") delete root.dataset.theme;
  else root.dataset.theme = theme;
  try {
    if (theme === "auto") localStorage.removeItem("theme");
    else localStorage.setItem("theme", theme);
  } catch {
    // not remembered, still shown
  }
  showTheme();
}

function toggleMenu(button) {
  const open = button.closest("[data-menu]").toggleAttribute("data-open");
  button.setAttribute("aria-expanded", String(open));
}

async function copy(button) {
  const source = document.getElementById(button.dataset.copy);
  await navigator.clipboard.writeText(source.value ?? source.textContent.trim());
  const label = button.querySelector("[data-copy-label]") ?? button;
  const before = label.textContent;
  label.textContent = button.dataset.copied;
  setTimeout(() => (label.textContent = before), 1600);
}

const CLICKS = {
  "[data-theme-toggle]": nextTheme,
  "[data-menu-toggle]": toggleMenu,
  "[data-toast-close]": (button) => button.closest("[data-toast]").remove(),
  "[data-copy]": copy,
};

document.addEventListener("click", (event) => {
  for (const [selector, act] of Object.entries(CLICKS)) {
    const target = event.target.closest(selector);
    if (target) act(target);
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

// A form that asks first says so in its own words; nobody else hears of it until it was agreed to.
const asking = document.getElementById("confirm");
let agreed = null;

document.addEventListener(
  "submit",
  (event) => {
    const form = event.target;
    if (!form.dataset.confirm || form === agreed) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    askFirst(form, event.submitter);
  },
  true,
);

function askFirst(form, submitter) {
  asking.querySelector("[data-question]").textContent = form.dataset.confirm;
  asking.querySelector("[value=yes]").textContent = submitter?.textContent.trim() || asking.dataset.yes;
  asking.returnValue = "";
  asking.addEventListener("close", () => asking.returnValue === "yes" && sendAgreed(form, submitter), { once: true });
  asking.showModal();
}

function sendAgreed(form, submitter) {
  if (!form.isConnected) return; // what was asked about went away meanwhile
  agreed = form;
  form.requestSubmit(submitter?.isConnected ? submitter : null);
  agreed = null;
}

// A toast that offers a way back stays until it is dismissed; others leave by themselves.
function fadeToast(toast) {
  if (!toast.querySelector("form, a")) setTimeout(() => toast.remove(), 6000);
}

new MutationObserver((changes) => {
  for (const change of changes) {
    for (const node of change.addedNodes) if (node.matches?.("[data-toast]")) fadeToast(node);
  }
}).observe(document.getElementById("toasts"), { childList: true });

for (const toast of document.querySelectorAll("[data-toast]")) fadeToast(toast);

// On a narrow screen the tab one is on may be past the edge.
for (const tabs of document.querySelectorAll(".tabs")) {
  const here = tabs.querySelector("[aria-current=page]")?.getBoundingClientRect();
  if (here) tabs.scrollLeft += here.left - tabs.getBoundingClientRect().left - (tabs.clientWidth - here.width) / 2;
}
showTheme();
