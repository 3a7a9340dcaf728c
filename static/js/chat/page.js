// The chat page: the opening words leave when the first turn comes; the list of conversations folds again on a phone.

const log = document.querySelector(".chat-log");

if (log) {
  new MutationObserver(() => {
    if (log.querySelector(".turn")) log.querySelector("[data-opening]")?.remove();
  }).observe(log, { childList: true });
}

document.addEventListener("click", (event) => {
  const open = document.querySelector(".talks[data-open]");
  if (!open || open.contains(event.target)) return;
  open.removeAttribute("data-open");
  open.querySelector("[data-menu-toggle]").setAttribute("aria-expanded", "false");
});
