// Stores small values in the browser between visits, per person and not per draft. In a private window, or when the storage
// is full, they last as long as the page.

/** @returns {any} the stored value, or the fallback when there is none that can be read */
export function loadValue(key, fallback) {
  try {
    return JSON.parse(localStorage.getItem(key)) ?? fallback;
  } catch {
    return fallback;
  }
}

export function storeValue(key, value) {
  try {
    localStorage.setItem(key, JSON.stringify(value));
  } catch {
    // The value holds until the page is closed.
  }
}

export function removeValue(key) {
  try {
    localStorage.removeItem(key);
  } catch {
    // There was nothing to remove.
  }
}
