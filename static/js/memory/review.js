// Keyboard shortcuts of the review. Every action is a form or link that works without this script, which moves the focus
// and presses them.

const container = document.querySelector("[data-review-place]");
const announcement = document.querySelector("[data-review-status]");
const keysDialog = document.getElementById("review-keys");

let lastIndex = 0; // index of the last decided item; the next one follows it

const getItems = () => [...container.querySelectorAll("[data-item]")];
const getCurrent = () => document.activeElement?.closest?.("[data-item]");

function moveBy(step) {
  const items = getItems();
  const index = items.indexOf(getCurrent());
  focusOn(index < 0 ? (step > 0 ? 0 : items.length - 1) : Math.min(items.length - 1, Math.max(0, index + step)));
}

function focusOn(index) {
  const items = getItems();
  const item = items[Math.min(index, items.length - 1)];
  if (!item) return document.getElementById("review-title").focus();
  item.focus({ preventScroll: true });
  item.scrollIntoView({ block: "nearest" });
}

function pressAction(...actions) {
  const item = getCurrent();
  const button = actions.map((act) => item?.querySelector(`[data-act=${act}]:not(:disabled)`)).find(Boolean);
  button?.click();
}

function toggleSelection() {
  getCurrent()?.querySelector("[data-choose]")?.click();
}

function undo() {
  container.querySelector("[data-review-undo]")?.click();
}

const KEYS = {
  j: () => moveBy(1),
  k: () => moveBy(-1),
  a: () => pressAction("accept"),
  e: () => pressAction("edit"),
  // A proposed merge is accepted; a new memory is merged with one that the reviewer chooses.
  m: () => pressAction(getCurrent()?.matches("[data-kind=merge], [data-kind=contradiction]") ? "accept" : "merge"),
  x: () => pressAction("reject"),
  X: () => pressAction("always", "reject"),
  d: () => pressAction("try"),
  c: toggleSelection,
  u: undo,
  "?": () => keysDialog.showModal(),
};

const MOVE_KEYS = new Set(["j", "k"]);

document.addEventListener("keydown", (event) => {
  if (event.repeat && !MOVE_KEYS.has(event.key)) return; // a held key decides only once
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) return event.target.closest?.("[data-panel] form")?.requestSubmit();
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || document.querySelector("dialog[open]")) return;
  if (event.key === "Escape") return leavePanel(event.target);
  if (event.target.closest?.("input:not([type=checkbox]), textarea, select, [contenteditable]")) return;
  const handler = KEYS[event.key];
  if (!handler || (event.key === "X" && !event.shiftKey)) return; // Caps Lock and x must not reject for good
  event.preventDefault();
  handler();
});

/** Return from a form in a card to the card. */
function leavePanel(element) {
  const item = element.closest?.("[data-item]");
  const panel = item?.querySelector("[data-panel]");
  if (!panel?.childElementCount) return;
  panel.replaceChildren();
  item.focus();
}

container.addEventListener("click", (event) => {
  const closeButton = event.target.closest("[data-panel-close]");
  if (closeButton) {
    event.preventDefault();
    leavePanel(closeButton);
  }
});

// Remember the item with the focus, whether by mouse or by key.
container.addEventListener("focusin", () => {
  const index = getItems().indexOf(getCurrent());
  if (index >= 0) lastIndex = index;
});

container.addEventListener("change", showSelection);

function showSelection(event) {
  const form = document.getElementById("choose");
  if (!form) return;
  const boxes = [...container.querySelectorAll("[data-choose]")];
  const items = form.querySelector("[data-choose-all]");
  const allBox = items.querySelector("input");
  if (event?.target === allBox) for (const box of boxes) box.checked = allBox.checked;
  const count = boxes.filter((box) => box.checked).length;
  const summary = form.querySelector("[data-selected-text]");
  summary.dataset.before ??= summary.textContent;
  summary.textContent = count ? summary.dataset.words.replace("{count}", count) : summary.dataset.before;
  items.hidden = false;
  allBox.checked = count > 0 && count === boxes.length;
  allBox.indeterminate = count > 0 && count < boxes.length;
}

/** Announce the result, and focus the preview, the named item, or the next one. */
function showResult(queue) {
  announcement.textContent = queue.dataset.status;
  const target = document.getElementById("review-preview") ?? document.getElementById(queue.dataset.focus ?? "");
  if (target) target.focus();
  else focusOn(lastIndex);
}

// A new queue replaced the old one.
new MutationObserver(() => {
  const queue = document.getElementById("review");
  if (!queue) return; // after a server error there is no queue to show
  showSelection();
  showResult(queue);
}).observe(container, { childList: true });

// A form that was sent before this script was ready comes back as a whole page with the same result.
const initialQueue = document.getElementById("review");
if (initialQueue?.dataset.status) showResult(initialQueue);

// Focus the first field of a form that was put into a card.
new MutationObserver((changes) => {
  for (const { target } of changes) {
    if (target.matches("[data-panel]") && target.childElementCount) {
      (target.querySelector("[aria-invalid=true], input[type=radio]:checked, textarea") ?? target.closest("[data-item]")).focus();
    }
  }
}).observe(container, { childList: true, subtree: true });

const button = document.querySelector("[data-review-keys]");
button.hidden = false;
button.addEventListener("click", KEYS["?"]);
showSelection();
