// The chat form: Enter sends, the field is cleared at once, nothing else is sent until the server has answered, and the focus
// stays in the field. Text that was not sent is kept in this browser, per workflow and person.

import { loadValue, removeValue, storeValue } from "../common/storage.js";

const form = document.querySelector("[data-chat-form]");
// A start field with room for a paragraph is a text area, too, and comes before the message.
const box = form?.querySelector("textarea[name=query]");
const sendButton = form?.querySelector("button[type=submit]");
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
  if (box.value.trim()) submit();
});

let sent = null; // text of a message that the server hasn't answered yet
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

// Whoever opens a new conversation, or has just created the chat, wants to write.
if (["new", "created"].some((name) => new URLSearchParams(location.search).has(name))) box?.focus();

// A field that must be filled in can be inside of what is closed.
form?.addEventListener("invalid", (event) => event.target.closest("details")?.setAttribute("open", ""), true);
form?.addEventListener("htmx:before:request", ({ target }) => {
  if (target !== form) return; // a field that loads something
  sent = box.value;
  box.value = draft;
  draft = "";
  lock(true);
});
// A message that was refused, or never arrived, comes back, before what was typed since.
form?.addEventListener("htmx:response:error", returnMessage);
form?.addEventListener("htmx:error", returnMessage);
form?.addEventListener("htmx:finally:request", ({ target }) => {
  if (target !== form) return;
  if (sent !== null) {
    form.querySelector("file-picker:has([name=files])")?.clear();
    form.querySelector("#chat-inputs")?.removeAttribute("open");
  }
  sent = null;
  storeDraft();
  lock(false);
});

function returnMessage() {
  if (sent !== null) box.value = [sent, box.value].filter(Boolean).join("\n");
  sent = null;
}

function lock(isLocked) {
  sendButton.disabled = isLocked;
  form.setAttribute("aria-busy", isLocked);
}

function submit() {
  if (sent === null) form.requestSubmit();
}

if (log) {
  new MutationObserver(() => (log.scrollTop = log.scrollHeight)).observe(log, { childList: true });
}

document.addEventListener("click", (event) => {
  const suggestion = event.target.closest("[data-say]");
  if (!suggestion || sent !== null) return;
  draft = box.value;
  box.value = suggestion.dataset.say;
  submit();
});

// Return the focus to the field after an answer, unless the person moved it elsewhere.
document.addEventListener("run-finished", () => {
  const { activeElement } = document;
  if (activeElement === document.body || form?.contains(activeElement)) box?.focus();
});

if (form) form.dataset.ready = "yes"; // from here on Enter sends
