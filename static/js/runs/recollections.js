// Shows what a run recalled and wrote, from <template> elements of the page: no HTML is built from text.

import { addressOf } from "../editor/address.js";

const ID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{8}([0-9a-f]{4})/gi;

/** ``searched``: whether there was something to look for, so that there is a score to tell. */
export function recalled(entry, template, { searched = true } = {}) {
  const row = template.content.cloneNode(true);
  fill(row, entry);
  const score = row.querySelector("[data-score]");
  if (entry.score == null) score.remove();
  else {
    score.querySelector("rect").setAttribute("width", String(Math.round(entry.score * 100)));
    score.querySelector("[data-score-text]").textContent = entry.score.toFixed(2);
  }
  if (entry.score != null || searched) row.querySelector("[data-newest]")?.remove();
  explain(row.querySelector("[data-parts]"), entry.parts ?? {}, template.dataset);
  return row;
}

export function written(entry, template) {
  const row = template.content.cloneNode(true);
  fill(row, entry);
  return row;
}

/** What added to the score, by the names the page has for it. */
function explain(place, parts, names) {
  const told = Object.entries(parts).filter(([, part]) => part > 0);
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
