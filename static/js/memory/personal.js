// A card or a profile replaces itself; the focus returns to it, after a choice to the button of the choice.

let chosen = null;
document.addEventListener("click", ({ target }) => { chosen = target.closest(".prompt-use button")?.closest("[id]")?.id ?? null; });

function focusChoice({ detail: { newContent } }) {
  const part = chosen && document.getElementById(chosen);
  if (!newContent.includes(part)) return;
  const button = part.matches("[data-memory]") ? part.querySelector(".prompt-use [aria-pressed=true]") : part;
  const { activeElement } = document;
  if (activeElement === document.body || activeElement === part) button?.focus();
  chosen = null;
}
document.addEventListener("htmx:after:settle", focusChoice);

for (const grid of document.querySelectorAll(".about-grid")) {
  new MutationObserver((changes) => {
    if (document.activeElement !== document.body) return;
    const card = changes.flatMap(({ addedNodes }) => [...addedNodes]).find((node) => node.matches?.("[data-memory]"));
    (card?.querySelector("details[open] textarea") ?? card)?.focus();
  }).observe(grid, { childList: true });
}
