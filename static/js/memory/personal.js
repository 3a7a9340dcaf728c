// A card replaces itself; the focus returns to it.

for (const grid of document.querySelectorAll(".about-grid")) {
  new MutationObserver((changes) => {
    if (document.activeElement !== document.body) return;
    const card = changes.flatMap(({ addedNodes }) => [...addedNodes]).find((node) => node.matches?.("[data-memory]"));
    (card?.querySelector("details[open] textarea") ?? card)?.focus();
  }).observe(grid, { childList: true });
}
