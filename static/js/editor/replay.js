// What happened to the draft, applied in the order it happened, whoever did it and however this tab heard of it.

import { fetchPage, ask } from "./wire.js";
import { snapshotChange } from "./resync.js";

export class Replay {
  #turn = Promise.resolve();

  constructor(editor) {
    this.editor = editor;
    this.revision = Number(editor.root.dataset.revision);
  }

  /** One Change that this tab was answered. What others did before it is fetched first. */
  receive(change) {
    return this.#inTurn(async () => {
      if (change.revision > this.revision + 1) await this.#fetch();
      if (change.revision > this.revision + 1) await this.#resync(); // what came between can't be had
      this.#apply(change);
    });
  }

  /** Everything up to now that this tab hasn't seen. Resolves to whether the server answered. */
  catchUp() {
    return this.#inTurn(() => this.#fetch());
  }

  /** Put these nodes and edges back as the server has them; without ids, everything. */
  restore(ids) {
    return this.#inTurn(() => this.#resync(ids));
  }

  #inTurn(act) {
    const turn = this.#turn.then(act);
    this.#turn = turn.catch((error) => console.warn("changes", error));
    return turn;
  }

  async #fetch() {
    for (;;) {
      const url = new URL(this.editor.urls.changes, location.href);
      url.searchParams.set("after", this.revision);
      const { kind, body } = await ask(url);
      if (kind !== "done") return false;
      const before = this.revision;
      for (const change of body.changes) this.#apply(change);
      if (this.revision >= body.revision) return true;
      // a draft that was replaced as a whole has no operations to tell
      if (this.revision === before) return this.#resync();
    }
  }

  #apply(change) {
    if (change.revision <= this.revision) return;
    this.editor.canvas.apply(change);
    this.revision = change.revision;
    this.editor.emit("change", change);
  }

  async #resync(ids) {
    const page = await fetchPage(this.editor.root.dataset.page || location.href);
    const change = page && snapshotChange(this.editor, page, ids);
    if (!change) return false;
    this.editor.canvas.apply(change);
    if (!ids) this.revision = Math.max(this.revision, change.revision);
    this.editor.emit("change", change);
    return true;
  }
}
