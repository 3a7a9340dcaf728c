// What a person's browser keeps from one visit to the next: theirs, not the draft's. In a private window, or when there is
// no room, as long as the page is open.

/** @returns {any} what was kept, or the other value where there is nothing that can be read */
export function kept(key, otherwise) {
  try {
    return JSON.parse(localStorage.getItem(key)) ?? otherwise;
  } catch {
    return otherwise;
  }
}

export function keep(key, value) {
  try {
    localStorage.setItem(key, JSON.stringify(value));
  } catch {
    // still so for now
  }
}
