// The list of recalled memories grows during a run: memories from a search come first, whichever node finished first.

import { createRecalledRow, findUnmatchedQuery, isInProfile, markUnmatchedRow } from "./recollections.js";

export class RecalledList {
  #events = []; // all recall events so far
  #newest = []; // rows that no search found: {row, entry, event}

  constructor(el, template) {
    this.el = el;
    this.template = template;
  }

  /** Add the entries of an event and return how many are new. */
  add(event) {
    this.#events.push(event);
    const added = event.entries.reduce((count, entry) => count + this.#addEntry(entry, event), 0);
    this.#markUnmatched();
    return added;
  }

  /**
   * Two nodes of a run may recall the same memory: it is listed once. A score takes precedence over none, and that the
   * memory is in the profile over both.
   */
  #addEntry(entry, event) {
    const isAlways = isInProfile(entry);
    const isSearched = Boolean(event.query);
    const existing = this.#findRow(entry);
    const index = this.#newest.findIndex(({ row }) => row === existing);
    if (existing && (existing.hasAttribute("data-is-always") || !(isAlways || (isSearched && index >= 0)))) return 0;
    const row = createRecalledRow(entry, this.template, { isByKey: Boolean(event.sought?.key) }).firstElementChild;
    row.toggleAttribute("data-is-always", isAlways);
    if (existing) {
      if (index >= 0) this.#newest.splice(index, 1);
      existing.remove();
    }
    if (isSearched || isAlways) this.el.insertBefore(row, this.#newest[0]?.row ?? null);
    else {
      this.el.append(row);
      this.#newest.push({ row, entry, event });
    }
    return existing ? 0 : 1;
  }

  #findRow(entry) {
    return entry.id ? this.el.querySelector(`[data-entry-id="${CSS.escape(entry.id)}"]`) : null;
  }

  /** A later search may show that one of the newest entries does not match it. */
  #markUnmatched() {
    for (const item of this.#newest) {
      const question = item.isMarked ? "" : findUnmatchedQuery(item.entry, item.event, this.#events);
      if (!question) continue;
      markUnmatchedRow(item.row, question, this.template);
      item.isMarked = true;
    }
  }
}
