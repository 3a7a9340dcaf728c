// A row of a list opens what its one link leads to, wherever it is pressed. Keyboard and screen reader use the link itself.

const CONTROLS = "a, button, input, select, textarea, label, summary";

document.addEventListener("click", (event) => {
  const link = event.target.closest("tr[data-opens]")?.querySelector("a[href]");
  if (!link || event.target.closest(CONTROLS) || !getSelection().isCollapsed) return;
  const { ctrlKey, metaKey, shiftKey } = event;
  link.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, ctrlKey, metaKey, shiftKey }));
});
