// Browsing a namespace: select rows, and move through its history with a slider. Events are delegated, so that swapped
// fragments work; without this script the checkboxes and the date field do the same.

const STEPS = 1000;

const getRows = (root) => [...root.querySelectorAll("input[name=entry]")];

function showSelection(root) {
  const summary = root.querySelector("[data-selected-text]");
  if (!summary) return;
  const isAll = root.querySelector("input[name=all]")?.checked;
  const count = getRows(root).filter((box) => box.checked).length;
  summary.querySelector("[data-selected-count]").textContent = isAll ? summary.dataset.all : count;
  const page = root.querySelector("[data-choose-page]");
  if (page) {
    page.checked = count > 0 && count === getRows(root).length;
    page.indeterminate = count > 0 && !page.checked;
  }
}

// Format a moment in UTC, as the server does, to the second.
const formatMoment = (seconds) => new Date(seconds * 1000).toISOString().slice(0, 19);

function getLifetime(filter) {
  const first = Number(filter.dataset.first);
  return { first, span: Math.max(1, Number(filter.dataset.last) - first) };
}

function onSlide(slider) {
  const filter = slider.closest("[data-when]");
  const { first, span } = getLifetime(filter);
  const position = Number(slider.value);
  filter.querySelector("[name=at]").value = position >= STEPS ? "" : formatMoment(Math.ceil(first + (span * position) / STEPS));
}

function showSlider(root) {
  for (const filter of root.querySelectorAll("[data-when]")) {
    const slider = filter.querySelector("[type=range]");
    const { first, span } = getLifetime(filter);
    const selectedMoment = filter.querySelector("[name=at]").value;
    const seconds = selectedMoment ? Date.parse(`${selectedMoment}Z`) / 1000 : first + span;
    slider.value = String(Math.round(((seconds - first) / span) * STEPS));
    slider.hidden = false;
  }
}

function selectRows(checkbox) {
  for (const row of getRows(checkbox.closest("[data-browse]"))) row.checked = checkbox.checked;
}

// Deselecting a row ends the selection of all entries; the rest of the page stays selected one by one.
function deselectAll(box) {
  const isAll = box.closest("[data-browse]").querySelector("input[name=all]");
  if (isAll && !box.checked) isAll.checked = false;
}

const INPUTS = {
  ".mem-slider": onSlide,
  "input[name=all]": selectRows,
  "input[name=entry], [data-choose-page]": deselectAll,
  "[data-choose-page]": selectRows,
};

document.addEventListener("input", (event) => {
  for (const [selector, handler] of Object.entries(INPUTS)) if (event.target.matches(selector)) handler(event.target);
  const root = event.target.closest("[data-browse]");
  if (root) showSelection(root);
});

let isSliderUsed = false; // whether the slider caused the next swap

document.addEventListener("change", (event) => {
  if (!event.target.matches(".mem-slider")) return;
  isSliderUsed = true;
  event.target.form.requestSubmit();
});

function setUp(root) {
  for (const label of root.querySelectorAll("[data-choose-page-label]")) label.hidden = false; // the label does nothing without this script
  showSlider(root);
  showSelection(root);
  root.querySelector("[role=alertdialog]")?.querySelector("button[type=submit]")?.focus();
}

// Move the focus when the pressed element is gone.
function restoreFocus(root) {
  const selectors = [isSliderUsed && ".mem-slider", "[data-toast] [type=submit]", "#entries-title"].filter(Boolean);
  isSliderUsed = false;
  if (document.activeElement !== document.body) return;
  (selectors.map((selector) => root.querySelector(selector)).find(Boolean) ?? root).focus();
}

// The fragment replaces itself as a whole.
new MutationObserver((changes) => {
  for (const { addedNodes } of changes) {
    for (const node of addedNodes) {
      if (!node.matches?.("[data-browse]")) continue;
      setUp(node);
      restoreFocus(node);
    }
  }
}).observe(document.querySelector("[data-browse]").parentElement, { childList: true });

setUp(document.querySelector("[data-browse]"));
