// Browsing a namespace: choosing rows, and the slider over its life. Delegated, so that swapped-in fragments work;
// without it the boxes and the date field do the same by hand.

const STEPS = 1000;

const rows = (root) => [...root.querySelectorAll("input[name=entry]")];

function showChosen(root) {
  const words = root.querySelector("[data-chosen]");
  if (!words) return;
  const all = root.querySelector("input[name=all]")?.checked;
  const chosen = rows(root).filter((box) => box.checked).length;
  words.querySelector("[data-chosen-count]").textContent = all ? words.dataset.all : chosen;
  const page = root.querySelector("[data-choose-page]");
  if (page) {
    page.checked = chosen > 0 && chosen === rows(root).length;
    page.indeterminate = chosen > 0 && !page.checked;
  }
}

// A moment as the server's clock has it, which is UTC, to the second.
const moment = (seconds) => new Date(seconds * 1000).toISOString().slice(0, 19);

function life(when) {
  const first = Number(when.dataset.first);
  return { first, span: Math.max(1, Number(when.dataset.last) - first) };
}

function slide(slider) {
  const when = slider.closest("[data-when]");
  const { first, span } = life(when);
  const at = Number(slider.value);
  when.querySelector("[name=at]").value = at >= STEPS ? "" : moment(Math.ceil(first + (span * at) / STEPS));
}

function showSlider(root) {
  for (const when of root.querySelectorAll("[data-when]")) {
    const slider = when.querySelector("[type=range]");
    const { first, span } = life(when);
    const shown = when.querySelector("[name=at]").value;
    const seconds = shown ? Date.parse(`${shown}Z`) / 1000 : first + span;
    slider.value = String(Math.round(((seconds - first) / span) * STEPS));
    slider.hidden = false;
  }
}

function chooseRows(box) {
  for (const one of rows(box.closest("[data-browse]"))) one.checked = box.checked;
}

// Of all there are some that aren't any more: what is left of the page is chosen by name.
function notAll(box) {
  const all = box.closest("[data-browse]").querySelector("input[name=all]");
  if (all && !box.checked) all.checked = false;
}

const INPUTS = {
  ".mem-slider": slide,
  "input[name=all]": chooseRows,
  "input[name=entry], [data-choose-page]": notAll,
  "[data-choose-page]": chooseRows,
};

document.addEventListener("input", (event) => {
  for (const [selector, act] of Object.entries(INPUTS)) if (event.target.matches(selector)) act(event.target);
  const root = event.target.closest("[data-browse]");
  if (root) showChosen(root);
});

let slid = false; // it was the slider that asked for what comes next

document.addEventListener("change", (event) => {
  if (!event.target.matches(".mem-slider")) return;
  slid = true;
  event.target.form.requestSubmit();
});

function ready(root) {
  for (const label of root.querySelectorAll("[data-choose-page-label]")) label.hidden = false; // it does nothing by itself
  showSlider(root);
  showChosen(root);
  root.querySelector("[role=alertdialog]")?.querySelector("button[type=submit]")?.focus();
}

// Where one goes on when what was pressed is gone.
function goOn(root) {
  const places = [slid && ".mem-slider", "[data-toast] [type=submit]", "#entries-title"].filter(Boolean);
  slid = false;
  if (document.activeElement !== document.body) return;
  (places.map((one) => root.querySelector(one)).find(Boolean) ?? root).focus();
}

// The fragment replaces itself as a whole.
new MutationObserver((changes) => {
  for (const { addedNodes } of changes) {
    for (const node of addedNodes) {
      if (!node.matches?.("[data-browse]")) continue;
      ready(node);
      goOn(node);
    }
  }
}).observe(document.querySelector("[data-browse]").parentElement, { childList: true });

ready(document.querySelector("[data-browse]"));
