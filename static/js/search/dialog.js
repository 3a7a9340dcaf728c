// The search of every page: Ctrl+K or "/" opens it, results come while typing, and "?" shows the keyboard shortcuts.

import { fetchHtml } from "./results.js";

const DELAY = 60; // ms without another key before the results are fetched

const dialog = document.getElementById("search");
const shortcuts = document.getElementById("shortcuts");

/** Open the search; on pages without a dialog, such as the editor, nothing happens. */
function openSearch() {
  if (!dialog || dialog.open) return;
  dialog.showModal();
  const input = getInput();
  input.select();
  load(input.value.trim());
}

function openShortcuts() {
  if (dialog?.open) dialog.close();
  if (shortcuts && !shortcuts.open) shortcuts.showModal();
}

const getInput = () => dialog.querySelector("input");
const listOptions = () => [...dialog.querySelectorAll("[role=option]")];
const getSelected = () => dialog.querySelector("[role=option][aria-selected=true]");

let timer = 0;
let shownQuery = null; // the query of the results that are shown

async function load(query) {
  const html = await fetchHtml(dialog.dataset.address, query);
  if (!html) return;
  show(html);
  shownQuery = query;
}

/** Remove results of another query, so that nobody opens one for what they are typing. */
function clear() {
  shownQuery = null;
  document.getElementById("search-results").replaceChildren();
  getInput().removeAttribute("aria-activedescendant");
}

function show(html) {
  const results = document.getElementById("search-results");
  results.innerHTML = html;
  results.scrollTop = 0;
  const options = listOptions();
  const count = dialog.querySelector("[data-search-count]");
  count.textContent = options.length === 1 ? count.dataset.one : count.dataset.text.replace("{n}", options.length);
  select(options[0]);
}

function select(option) {
  getSelected()?.setAttribute("aria-selected", "false");
  option?.setAttribute("aria-selected", "true");
  option?.scrollIntoView({ block: "nearest" });
  if (option) getInput().setAttribute("aria-activedescendant", option.id);
  else getInput().removeAttribute("aria-activedescendant");
}

function move(step) {
  const options = listOptions();
  if (!options.length) return;
  const index = options.indexOf(getSelected());
  select(options[(index + step + options.length) % options.length]);
}

const STEPS = { ArrowDown: 1, ArrowUp: -1, PageDown: 6, PageUp: -6 };

function onKey(event) {
  if (event.isComposing) return;
  if (event.key in STEPS) {
    event.preventDefault();
    move(STEPS[event.key]);
  } else if (event.key === "Enter") {
    event.preventDefault();
    openSelected(event.ctrlKey || event.metaKey);
  }
}

/** Open the selected result; somebody who typed faster than the results came gets the first of what was typed. */
async function openSelected(inNewTab) {
  const query = getInput().value.trim();
  if (query !== shownQuery) {
    clearTimeout(timer);
    await load(query);
  }
  if (query === shownQuery) open(getSelected(), inNewTab);
}

function open(option, inNewTab) {
  if (!option) return;
  if (inNewTab && option.href) window.open(option.href, "_blank", "noopener");
  else option.click();
}

function isTyping(target) {
  return target.closest?.("input, textarea, select, [contenteditable], dialog[open], [popover]:popover-open");
}

function onPageKey(event) {
  if (event.defaultPrevented || event.isComposing || event.altKey) return;
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
    event.preventDefault();
    openSearch();
  } else if (!event.ctrlKey && !event.metaKey && !isTyping(event.target)) {
    if (event.key === "/") openSearch();
    else if (event.key === "?") openShortcuts();
    else return;
    event.preventDefault();
  }
}

if (dialog) {
  document.addEventListener("keydown", onPageKey);
  dialog.addEventListener("keydown", onKey);
  dialog.addEventListener("input", () => {
    const query = getInput().value.trim();
    if (!shownQuery || !query.startsWith(shownQuery)) clear();
    clearTimeout(timer);
    timer = setTimeout(() => load(query), DELAY);
  });
  dialog.addEventListener("pointermove", (event) => {
    const option = event.target.closest("[role=option]");
    if (option && option !== getSelected()) select(option);
  });
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog || event.target.closest("[data-search-close], a, [data-theme-toggle]")) dialog.close();
  });
  shortcuts.addEventListener("click", (event) => event.target === shortcuts && shortcuts.close());
  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-search-open]") && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      openSearch();
    }
    if (event.target.closest("[data-shortcuts]")) openShortcuts();
  });
}
