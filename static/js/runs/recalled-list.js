// What a run recalled, in a list that grows while it runs: what was searched for first, whichever node was quicker.

import { missed, missedBy, recalled } from "./recollections.js";

export class RecalledList {
  #heard = []; // what was recalled, event by event
  #unsought = []; // of the rows that nobody searched for: {row, entry, event}

  constructor(el, template) {
    this.el = el;
    this.template = template;
  }

  /** Puts in what an event brings. Answers how many memories weren't there before. */
  add(event) {
    this.#heard.push(event);
    const more = event.entries.reduce((count, entry) => count + this.#put(entry, event), 0);
    this.#miss();
    return more;
  }

  /** Two nodes of one run may recall the same memory: it is one thing that was known, and a score says more than none. */
  #put(entry, event) {
    const searched = Boolean(event.query);
    const listed = this.#listed(entry);
    const at = this.#unsought.findIndex(({ row }) => row === listed);
    if (listed && (!searched || at < 0)) return 0;
    const row = recalled(entry, this.template, { searched }).firstElementChild;
    if (listed) {
      this.#unsought.splice(at, 1);
      listed.remove();
    }
    if (searched) this.el.insertBefore(row, this.#unsought[0]?.row ?? null);
    else {
      this.el.append(row);
      this.#unsought.push({ row, entry, event });
    }
    return listed ? 0 : 1;
  }

  #listed(entry) {
    return entry.id ? this.el.querySelector(`[data-entry-id="${CSS.escape(entry.id)}"]`) : null;
  }

  /** A search that comes later may tell that one of the newest has nothing of what was asked. */
  #miss() {
    for (const one of this.#unsought) {
      const question = one.isTold ? "" : missedBy(one.entry, one.event, this.#heard);
      if (!question) continue;
      missed(one.row, question, this.template);
      one.isTold = true;
    }
  }
}
