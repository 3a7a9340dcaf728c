// Decisions that a page which is gone left open: the next page of this person goes on with them, so that what was written
// there and not accepted isn't lost sight of.

import { CLIENT, onceGone } from "./tab.js";
import { ask } from "./wire.js";

/** Calls back with how many there are, once the page they were met in is gone. */
export function takeOver(editor, then) {
  const { ledger } = editor.edits;
  const steps = ledger.clashes.filter(({ client }) => !client); // an undo is no page's own
  if (steps.length) then(steps.length);
  const clients = new Set(ledger.clashes.map(({ client }) => client).filter((client) => client && client !== CLIENT));
  for (const client of clients) {
    onceGone(client, async () => {
      const left = ledger.clashes.filter((entry) => entry.client === client);
      if (!left.length) return; // another page was quicker, or they are decided
      for (const entry of left) ledger.update(entry.id, { client: CLIENT, wasElsewhere: true });
      await meanwhile(editor, client, Math.min(...left.map(({ base }) => base)));
      then(left.length);
    });
  }
}

/** What others made of those fields while no page listened: that is what there is to decide about. */
async function meanwhile(editor, client, base) {
  if (!Number.isFinite(base)) return;
  const url = new URL(editor.urls.changes, location.href);
  url.searchParams.set("after", base);
  const { kind, body } = await ask(url);
  if (kind !== "done" || body.reload) return;
  for (const change of body.changes) if (change.client !== client) editor.edits.deciding.heard(change);
}
