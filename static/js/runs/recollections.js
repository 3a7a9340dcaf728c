// Shows what a run recalled and wrote, from <template> elements of the page: no HTML is built from text.

export function recalled(entry, template) {
  const row = template.content.cloneNode(true);
  fill(row, entry);
  const score = row.querySelector("[data-score]");
  if (entry.score == null) score.remove();
  else {
    score.querySelector("rect").setAttribute("width", String(Math.round(entry.score * 100)));
    score.querySelector("[data-score-text]").textContent = entry.score.toFixed(2);
  }
  return row;
}

export function written(entry, template) {
  const row = template.content.cloneNode(true);
  fill(row, entry);
  return row;
}

function fill(row, entry) {
  row.querySelector("[data-key]").textContent = entry.key;
  row.querySelector("[data-value]").textContent =
    typeof entry.value === "string" ? entry.value : JSON.stringify(entry.value, null, 2);
  const link = row.querySelector("a[data-entry]");
  if (link && entry.id) link.href = link.dataset.entry.replace("00000000-0000-0000-0000-000000000000", entry.id);
}
