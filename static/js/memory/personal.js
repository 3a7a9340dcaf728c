// A card puts itself in its own place: whoever pressed something in it goes on there.

for (const grid of document.querySelectorAll(".about-grid")) {
  new MutationObserver((changes) => {
    if (document.activeElement !== document.body) return;
    const card = changes.flatMap(({ addedNodes }) => [...addedNodes]).find((node) => node.matches?.("[data-memory]"));
    (card?.querySelector("details[open] textarea") ?? card)?.focus();
  }).observe(grid, { childList: true });
}
