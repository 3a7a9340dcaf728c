// The chat form: Enter sends, the field is cleared when the turn appears, and the focus stays in it. Text that was not sent
// is kept in this browser, per workflow and person.

import { loadValue, removeValue, storeValue } from "../common/storage.js";

const form = document.querySelector("[data-chat-form]");
const box = form?.querySelector("textarea");
const log = document.querySelector(".chat-log");

const NEAR = 48; // px from the end within which the log follows new messages
let isAtEnd = true;

if (log) {
  const scrollToEnd = () => (log.scrollTop = log.scrollHeight);
  const getSize = () => `${log.clientWidth} ${log.clientHeight}`;
  let lastSize = getSize();
  scrollToEnd();
  const onScroll = () => {
    if (lastSize === getSize()) isAtEnd = log.scrollHeight - log.scrollTop - log.clientHeight < NEAR; // otherwise the size changed, and nobody scrolled
  };
  log.addEventListener("scroll", onScroll, { passive: true });
  // When the log becomes smaller, its last message stays visible.
  new ResizeObserver(() => {
    lastSize = getSize();
    if (isAtEnd) scrollToEnd();
  }).observe(log);
  log.addEventListener("load", () => isAtEnd && scrollToEnd(), true); // a picture has got its size
  // The end of a run adds a line below the answer, and an answer in parts grows.
  new MutationObserver(() => isAtEnd && scrollToEnd()).observe(log, { childList: true, characterData: true, subtree: true });
}

box?.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  if (box.value.trim()) form.requestSubmit();
});

// Clear the field when the turn appears, but keep text that was typed since.
let sent = null;
let draft = ""; // input at the time when a suggestion was pressed
const draftKey = form?.dataset.draftKey && `chat-draft:${form.dataset.draftKey}`;
if (draftKey) {
  box.value ||= loadValue(draftKey, "");
  box.addEventListener("input", storeDraft);
}

function storeDraft() {
  if (!draftKey) return;
  if (box.value) storeValue(draftKey, box.value);
  else removeValue(draftKey);
}

// A field that must be filled in can be inside of what is closed.
form?.addEventListener("invalid", (event) => event.target.closest("details")?.setAttribute("open", ""), true);
form?.addEventListener("submit", () => (sent = box.value));
// A message that was refused stays, whatever else appears in the log.
form?.addEventListener("htmx:response:error", () => {
  sent = null;
  storeDraft();
});

if (log && box) {
  new MutationObserver(() => {
    if (sent !== null && box.value === sent) box.value = draft;
    if (sent !== null) draft = "";
    if (sent !== null) form.querySelector("file-picker:has([name=files])")?.clear();
    if (sent !== null) form.querySelector("#chat-inputs")?.removeAttribute("open");
    sent = null;
    storeDraft();
    log.scrollTop = log.scrollHeight;
  }).observe(log, { childList: true });
}

document.addEventListener("click", (event) => {
  const suggestion = event.target.closest("[data-say]");
  if (!suggestion) return;
  draft = box.value;
  box.value = suggestion.dataset.say;
  form.requestSubmit();
});

// Return the focus to the field after an answer, unless the person moved it elsewhere.
document.addEventListener("run-finished", () => {
  const { activeElement } = document;
  if (activeElement === document.body || form?.contains(activeElement)) box?.focus();
});

if (form) form.dataset.ready = "yes"; // from here on Enter sends
