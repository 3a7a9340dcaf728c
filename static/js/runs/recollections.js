// Shows what a run recalled and wrote, from <template> elements of the page: no HTML is built from text.

import { addressOf } from "../editor/address.js";

const ID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{8}([0-9a-f]{4})/gi;

/** ``searched``: whether there was something to look for, so that there is a score to tell. */
export function recalled(entry, template, { searched = true } = {}) {
  const row = template.content.cloneNode(true);
  fill(row, entry);
  if (entry.score == null) row.querySelector("[data-score]").remove();
  else scored(row, entry.score);
  if (entry.score != null || searched) row.querySelector("[data-newest]")?.remove();
  explain(row.querySelector("[data-parts]"), entry.parts ?? {}, template.dataset);
  return row;
}

/** Of one of the newest: what another node searched for gives it nothing. The run's page says the same. */
export function missed(row, question, template) {
  row.querySelector("[data-newest]")?.replaceWith(template.content.querySelector("[data-score]").cloneNode(true));
  scored(row, 0);
  const parts = document.createElement("p");
  parts.className = "hint";
  parts.textContent = template.dataset.missed.replace("{question}", () => question.slice(0, 80));
  row.append(parts);
}

/** What was searched for in the same memory without finding this entry, though there was room left; see
 * ``missed_by`` in workflows/views/recollections.py, which is this on the server. */
export function missedBy(entry, event, events) {
  if (event.query || entry.score != null || !entry.id) return "";
  const filter = (one) => JSON.stringify(one.sought?.filter ?? null);
  const other = events.find(
    (one) =>
      one.query && one.scope === event.scope && !one.sought?.key && filter(one) === filter(event) &&
      one.entries.length < (one.sought?.top_k ?? 0) && one.entries.every((found) => found.id !== entry.id),
  );
  return other?.query ?? "";
}

export function written(entry, template) {
  const row = template.content.cloneNode(true);
  fill(row, entry);
  return row;
}

function scored(row, score) {
  const place = row.querySelector("[data-score]");
  place.querySelector("rect").setAttribute("width", String(Math.round(score * 100)));
  place.querySelector("[data-score-text]").textContent = score.toFixed(2);
}

/** What added to the score, by the names the page has for it. */
function explain(place, parts, names) {
  const told = Object.entries(parts).filter(([name, part]) => part > 0 || name === "no_vector");
  if (!place) return;
  if (told.length === 0) place.remove();
  else place.textContent = told.map(([name, part]) => `${names[name] ?? name} ${part.toFixed(2)}`).join(" · ");
}

function fill(row, entry) {
  row.querySelector(".recollection")?.setAttribute("data-entry-id", entry.id ?? "");
  const key = row.querySelector("[data-key]");
  key.textContent = entry.key.replace(ID, "…$1"); // ids in keys are for machines
  key.title = entry.key;
  row.querySelector("[data-value]").textContent =
    typeof entry.value === "string" ? entry.value : JSON.stringify(entry.value, null, 2);
  const link = row.querySelector("a[data-entry]");
  if (link && entry.id) link.href = addressOf(link.dataset.entry, entry.id);
}
