// Fuzzy search by a few letters: all letters must occur in order; starts of words and runs of letters weigh more.

/** @returns {number} 0 when nothing matches, a higher number for a better match */
function scoreMatch(query, text) {
  const needle = query.trim().toLowerCase();
  const haystack = text.toLowerCase();
  if (!needle) return 1;
  const index = haystack.indexOf(needle);
  if (index >= 0) return 1000 - Math.min(index, 400) + (isWordStart(haystack, index) ? 300 : 0) - Math.min(haystack.length, 90);
  return scoreScattered(needle.replaceAll(/\s+/g, ""), haystack);
}

const isWordStart = (text, index) => index === 0 || /[\s\-_/.:]/.test(text[index - 1]);

function scoreScattered(needle, text) {
  let [index, sum, previous] = [0, 0, -2];
  for (const letter of needle) {
    index = text.indexOf(letter, index);
    if (index < 0) return 0;
    sum += (index === previous + 1 ? 4 : 1) + (isWordStart(text, index) ? 6 : 0);
    previous = index++;
  }
  // Letters scattered over a long text match by chance.
  return sum >= needle.length * 2.5 ? sum : 0;
}

/**
 * Return the items that match, best first, equal ones in their order. `texts(item)` lists the texts to search, the most
 * important first.
 */
export function search(query, items, texts) {
  const matches = [];
  items.forEach((item, position) => {
    let best = 0;
    texts(item).forEach((text, rank) => {
      if (text) best = Math.max(best, scoreMatch(query, text) / (1 + rank));
    });
    if (best) matches.push({ item, best, place: position });
  });
  return matches.sort((a, b) => b.best - a.best || a.place - b.place).map(({ item }) => item);
}
