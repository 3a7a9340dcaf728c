// The chat pane: Enter sends, the box empties once the turn was taken, focus stays where one types.

const form = document.querySelector("[data-chat-form]");
const box = form?.querySelector("textarea");
const log = document.querySelector(".chat-log");

const NEAR = 48; // px from its end: who reads there is taken along, who reads further up is left in peace
let isAtEnd = true;

if (log) {
  const toEnd = () => (log.scrollTop = log.scrollHeight);
  const size = () => `${log.clientWidth} ${log.clientHeight}`;
  let known = size();
  toEnd();
  const scrolled = () => {
    if (known === size()) isAtEnd = log.scrollHeight - log.scrollTop - log.clientHeight < NEAR; // else nobody scrolled
  };
  log.addEventListener("scroll", scrolled, { passive: true });
  // The strip to run by grows above the box, a window gets smaller: what was said last stays in sight.
  new ResizeObserver(() => {
    known = size();
    if (isAtEnd) toEnd();
  }).observe(log);
}

box?.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  if (box.value.trim()) form.requestSubmit();
});

// The box is emptied when the turn appears, and only of what was sent: typing ahead is kept.
let sent = null;
let kept = ""; // what was being typed when a suggestion was pressed
form?.addEventListener("submit", () => (sent = box.value));

if (log && box) {
  new MutationObserver(() => {
    if (sent !== null && box.value === sent) box.value = kept;
    if (sent !== null) kept = "";
    sent = null;
    log.scrollTop = log.scrollHeight;
  }).observe(log, { childList: true });
}

document.addEventListener("click", (event) => {
  const chip = event.target.closest("[data-say]");
  if (!chip) return;
  kept = box.value;
  box.value = chip.dataset.say;
  form.requestSubmit();
});

// Back to typing after an answer, unless the person has gone elsewhere meanwhile.
document.addEventListener("run-finished", () => {
  const { activeElement } = document;
  if (activeElement === document.body || form?.contains(activeElement)) box?.focus();
});
