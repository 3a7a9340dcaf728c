// Counts down until the next attempt to sign in is possible. The button waits until then, or until another address is
// entered: the delays of one address don't concern the others.

const note = document.querySelector("[data-wait]");
const form = note.closest("form");
const button = form.querySelector("[type=submit]");
const endsAt = performance.now() + Number(note.dataset.wait) * 1000;

function formatClock(seconds) {
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

function showTimeLeft() {
  const seconds = Math.ceil((endsAt - performance.now()) / 1000);
  if (seconds <= 0) return showEnd();
  note.querySelector("[data-wait-clock]").textContent = formatClock(seconds);
  setTimeout(showTimeLeft, 250);
}

function showEnd() {
  note.querySelector("[data-wait-left]").hidden = true;
  note.querySelector("[data-wait-over]").hidden = false;
  form.querySelector(".errorlist")?.remove();
  button.disabled = false;
}

button.disabled = true;
form.elements.login.addEventListener("input", () => (button.disabled = false), { once: true });
note.hidden = false;
// The clock says how long it takes; the message of the server would say another number a second later.
const reason = form.querySelector(".errorlist li");
if (reason) reason.textContent = note.dataset.waitReason;
showTimeLeft();
