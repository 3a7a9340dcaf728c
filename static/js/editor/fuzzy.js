// Finding by a few letters: every letter in order; words' beginnings and runs of letters count for more.

/** @returns {number} 0 for no match, more for a better one */
function score(query, text) {
  const wanted = query.trim().toLowerCase();
  const given = text.toLowerCase();
  if (!wanted) return 1;
  const whole = given.indexOf(wanted);
  if (whole >= 0) return 1000 - Math.min(whole, 400) + (starts(given, whole) ? 300 : 0) - Math.min(given.length, 90);
  return scattered(wanted.replaceAll(/\s+/g, ""), given);
}

const starts = (text, at) => at === 0 || /[\s\-_/.:]/.test(text[at - 1]);

function scattered(letters, text) {
  let [at, sum, last] = [0, 0, -2];
  for (const letter of letters) {
    at = text.indexOf(letter, at);
    if (at < 0) return 0;
    sum += (at === last + 1 ? 4 : 1) + (starts(text, at) ? 6 : 0);
    last = at++;
  }
  // letters strewn over a long text are chance, not a name
  return sum >= letters.length * 2.5 ? sum : 0;
}

/** The items that match, best first; of equals the earlier. `texts(item)` says where to look, most telling first. */
export function search(query, items, texts) {
  const found = [];
  items.forEach((item, place) => {
    let best = 0;
    texts(item).forEach((text, rank) => {
      if (text) best = Math.max(best, score(query, text) / (1 + rank));
    });
    if (best) found.push({ item, best, place });
  });
  return found.sort((a, b) => b.best - a.best || a.place - b.place).map(({ item }) => item);
}
