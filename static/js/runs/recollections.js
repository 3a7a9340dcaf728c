// Shows recalled and written memories with <template> elements of the page; no HTML is built from text.

import { formatDay } from "../common/format.js";
import { buildAddress } from "../common/urls.js";

const ID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{8}([0-9a-f]{4})/gi;
const BUILT_KEY = /^m-[0-9a-f]{12}$/; // made from the value; as in workflows/engine/nodes/memory/entry_keys.py

const MIN_SHOWN_PERCENT = 8; // as in workflows/views/runs/recalled_memory.py
const PAGE_KEY = "page:"; // as in workflows/views/value_text.py

/** ``isByKey``: whether the entry was looked up by its key, which has no score. */
export function createRecalledRow(entry, template, { isByKey = false } = {}) {
  const row = template.content.cloneNode(true);
  fill(row, entry);
  const isAlways = isInProfile(entry);
  const isWeak = isAlways || entry.score == null || Math.round(entry.score * 100) < MIN_SHOWN_PERCENT;
  if (isWeak) row.querySelector("[data-score]").remove();
  else setScore(row, entry.score, template);
  const isOnTopic = "topic" in (entry.parts ?? {});
  const isDisputed = !isAlways && "disagrees" in (entry.parts ?? {});
  if (!isDisputed) row.querySelector("[data-disputed]")?.remove();
  if (!isAlways) row.querySelector("[data-always]")?.remove();
  if (!isWeak || isByKey || isOnTopic || isAlways || isDisputed) row.querySelector("[data-newest]")?.remove();
  if (!isWeak || !isOnTopic || isAlways || isDisputed) row.querySelector("[data-topic]")?.remove();
  showEnd(row.querySelector("[data-until]"), entry.valid_until);
  showParts(row.querySelector("[data-parts]"), entry.parts ?? {}, template.dataset);
  return row;
}

/** Return whether the entry was recalled as a part of the profile, which every prompt gets. */
export function isInProfile(entry) {
  return "always" in (entry.parts ?? {});
}

/** Mark one of the newest entries as unmatched by the query of another node, as the page of the run does. */
export function markUnmatchedRow(row, question, template) {
  const parts = document.createElement("p");
  parts.className = "hint";
  parts.textContent = template.dataset.missed.replace("{question}", () => question.slice(0, 80));
  row.append(parts);
}

/**
 * Return the query that did not match this entry although it had room left; the twin of ``missed_by`` in
 * workflows/views/runs/recalled_memory.py.
 */
export function findUnmatchedQuery(entry, event, events) {
  if (event.query || entry.score != null || !entry.id || isInProfile(entry)) return "";
  const filter = (candidate) => JSON.stringify(candidate.sought?.filter ?? null);
  const other = events.find(
    (candidate) =>
      candidate.query && candidate.scope === event.scope && !candidate.sought?.key &&
      !candidate.sought?.min_score && filter(candidate) === filter(event) &&
      candidate.entries.length < (candidate.sought?.top_k ?? 0) && candidate.entries.every((match) => match.id !== entry.id),
  );
  return other?.query ?? "";
}

/** ``replaced``: the entries that no longer hold because of this one. */
export function createWrittenRow(entry, template, replaced = []) {
  const row = template.content.cloneNode(true);
  fill(row, entry);
  for (const former of replaced) {
    row.querySelector(".recollection").append(createHint(template.dataset.replaced, former));
  }
  return row;
}

/** Create the row of an entry that was forgotten, or that no longer holds; ``text`` says which. */
export function createGoneRow(entry, text) {
  const row = document.createElement("div");
  row.className = "recollection";
  row.append(createHint(text, entry));
  return row;
}

function createHint(text, entry) {
  const hint = document.createElement("p");
  hint.className = "hint";
  hint.textContent = text.replace("{value}", () => formatMemory(entry));
  return hint;
}

/** Show the day until which the entry holds or held, if it has one. */
function showEnd(element, moment) {
  if (!moment) element?.remove();
  else if (element) element.textContent = element.dataset.text.replace("{day}", () => formatDay(moment));
}

function setScore(row, score, template) {
  const percent = String(Math.round(score * 100));
  const element = row.querySelector("[data-score]");
  element.querySelector("rect").setAttribute("width", percent);
  element.querySelector("[data-score-text]").textContent = template.dataset.match.replace("{percent}", percent);
}

/** Show the parts of the score that have a name in the page; most parts of the order have none. */
function showParts(element, parts, names) {
  const shownParts = Object.entries(parts).filter(
    ([name, part]) => names[name] && (part > 0 || name === "no_vector"),
  );
  if (!element) return;
  if (shownParts.length === 0) element.remove();
  else element.textContent = shownParts.map(([name, part]) => name === "no_vector" ? names[name] : `${names[name]} ${part.toFixed(2)}`).join(" · ");
}

/** Return the value as text; of a knowledge page its title and its text, as the page of the run does. */
function formatMemory({ key, value }) {
  if (typeof value === "string") return value;
  if (!key.startsWith(PAGE_KEY) || value === null) return JSON.stringify(value, null, 2);
  return [value.title, value.content || value.summary].filter((text) => typeof text === "string" && text).join("\n\n");
}

function fill(row, entry) {
  row.querySelector(".recollection")?.setAttribute("data-entry-id", entry.id ?? "");
  const key = row.querySelector("[data-key]");
  if (BUILT_KEY.test(entry.key)) key.remove();
  else key.textContent = entry.key.replace(ID, "…$1"); // ids in keys are for machines
  key.title = entry.key;
  row.querySelector("[data-value]").textContent = formatMemory(entry);
  const link = row.querySelector("a[data-entry]");
  if (link && entry.id) link.href = buildAddress(link.dataset.entry, entry.id);
}
