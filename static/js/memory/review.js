// The review by keys. Every act is a form or a link that is there without a script; this moves the focus and presses them.

const place = document.querySelector("[data-review-place]");
const spoken = document.querySelector("[data-review-said]");
const keys = document.getElementById("review-keys");

let last = 0; // which of the list was decided about, so that the next one follows

const items = () => [...place.querySelectorAll("[data-item]")];
const current = () => document.activeElement?.closest?.("[data-item]");

function go(step) {
  const all = items();
  const at = all.indexOf(current());
  focusOn(at < 0 ? (step > 0 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, at + step)));
}

function focusOn(index) {
  const all = items();
  const item = all[Math.min(index, all.length - 1)];
  if (!item) return document.getElementById("review-title").focus();
  item.focus({ preventScroll: true });
  item.scrollIntoView({ block: "nearest" });
}

function press(...acts) {
  const item = current();
  const button = acts.map((act) => item?.querySelector(`[data-act=${act}]:not(:disabled)`)).find(Boolean);
  button?.click();
}

function choose() {
  current()?.querySelector("[data-choose]")?.click();
}

function undo() {
  place.querySelector("[data-review-undo]")?.click();
}

const KEYS = {
  j: () => go(1),
  k: () => go(-1),
  a: () => press("accept"),
  e: () => press("edit"),
  // what is proposed as a merge is accepted; what is new is joined with a memory one chooses
  m: () => press(current()?.matches("[data-kind=merge], [data-kind=contradiction]") ? "accept" : "merge"),
  x: () => press("reject"),
  X: () => press("always", "reject"),
  d: () => press("try"),
  c: choose,
  u: undo,
  "?": () => keys.showModal(),
};

const MOVES = new Set(["j", "k"]);

document.addEventListener("keydown", (event) => {
  if (event.repeat && !MOVES.has(event.key)) return; // a key that is held down decides once
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) return event.target.closest?.("[data-panel] form")?.requestSubmit();
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || document.querySelector("dialog[open]")) return;
  if (event.key === "Escape") return leavePanel(event.target);
  if (event.target.closest?.("input:not([type=checkbox]), textarea, select, [contenteditable]")) return;
  const act = KEYS[event.key];
  if (!act || (event.key === "X" && !event.shiftKey)) return; // Caps Lock and x: not for good
  event.preventDefault();
  act();
});

/** Out of a form in a card, back to the card. */
function leavePanel(from) {
  const item = from.closest?.("[data-item]");
  const panel = item?.querySelector("[data-panel]");
  if (!panel?.childElementCount) return;
  panel.replaceChildren();
  item.focus();
}

place.addEventListener("click", (event) => {
  const closing = event.target.closest("[data-panel-close]");
  if (closing) {
    event.preventDefault();
    leavePanel(closing);
  }
});

// Whatever is pressed, by mouse or by key: where it was is where one goes on.
place.addEventListener("focusin", () => {
  const at = items().indexOf(current());
  if (at >= 0) last = at;
});

place.addEventListener("change", showChosen);

function showChosen(event) {
  const form = document.getElementById("choose");
  if (!form) return;
  const boxes = [...place.querySelectorAll("[data-choose]")];
  const all = form.querySelector("[data-choose-all]");
  const every = all.querySelector("input");
  if (event?.target === every) for (const box of boxes) box.checked = every.checked;
  const count = boxes.filter((box) => box.checked).length;
  const words = form.querySelector("[data-chosen]");
  words.dataset.before ??= words.textContent;
  words.textContent = count ? words.dataset.words.replace("{count}", count) : words.dataset.before;
  all.hidden = false;
  every.checked = count > 0 && count === boxes.length;
  every.indeterminate = count > 0 && count < boxes.length;
}

/** What became of the queue is said, and one goes on with what was tried, with what waits again, or with the next. */
function goOn(queue) {
  spoken.textContent = queue.dataset.said;
  const asked = document.getElementById("tried") ?? document.getElementById(queue.dataset.focus ?? "");
  if (asked) asked.focus();
  else focusOn(last);
}

// A new queue was put in place of the old.
new MutationObserver(() => {
  const queue = document.getElementById("review");
  if (!queue) return; // something else was put there: a server that failed has no queue to show
  showChosen();
  goOn(queue);
}).observe(place, { childList: true });

// A form that was sent before its script was ready comes back as a whole page, which says the same.
const begun = document.getElementById("review");
if (begun?.dataset.said) goOn(begun);

// A form was put into a card: to its first field.
new MutationObserver((changes) => {
  for (const { target } of changes) {
    if (target.matches("[data-panel]") && target.childElementCount) {
      (target.querySelector("[aria-invalid=true], input[type=radio]:checked, textarea") ?? target.closest("[data-item]")).focus();
    }
  }
}).observe(place, { childList: true, subtree: true });

const button = document.querySelector("[data-review-keys]");
button.hidden = false;
button.addEventListener("click", KEYS["?"]);
showChosen();
