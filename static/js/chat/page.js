// The chat page: the opening text disappears with the first turn, and the list of conversations closes on a phone.

const log = document.querySelector(".chat-log");

if (log) {
  new MutationObserver(() => {
    if (log.querySelector(".turn")) log.querySelector("[data-opening]")?.remove();
  }).observe(log, { childList: true });
}

document.addEventListener("click", (event) => {
  const openList = document.querySelector(".talks[data-open]");
  if (!openList || openList.contains(event.target)) return;
  openList.removeAttribute("data-open");
  openList.querySelector("[data-menu-toggle]").setAttribute("aria-expanded", "false");
});
