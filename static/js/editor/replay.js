// What happened to the draft, applied in the order it happened, whoever did it and however this tab heard of it.

import { snapshotChange } from "./resync.js";
import { ask, fetchPage } from "./wire.js";

// What a waiting gesture shows at once and an older state of the server would show differently again.
const SHOWN_AT_ONCE = new Set(["move", "resize", "reparent", "delete", "disconnect"]);

export class Replay {
  #turn = Promise.resolve();

  /** `waiting` answers the operations that the server hasn't got yet. */
  constructor(editor, waiting) {
    this.editor = editor;
    this.waiting = waiting;
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
      if (body.reload) return this.#resync();
      const before = this.revision;
      const news = body.changes.filter(({ revision }) => revision > before);
      if (news.length) this.#apply(news.length === 1 ? news[0] : merged(news));
      if (this.revision >= body.revision) return true;
      // a draft that was replaced as a whole has no operations to tell
      if (this.revision === before) return this.#resync();
    }
  }

  #apply(change) {
    if (change.revision <= this.revision) return;
    if (change.everything) return void this.#resync(); // an import, or what takes one back
    // Of several the fragments say all there is to draw; their operations in a row would undo one another.
    this.editor.canvas.apply(change.isMerged ? { ...change, ops: [] } : change);
    this.#keepShown();
    this.revision = change.revision;
    this.editor.emit("change", change);
  }

  /** No card jumps back to where the server still has it while its last move is on the way. */
  #keepShown() {
    const ops = this.waiting().filter((op) => SHOWN_AT_ONCE.has(op.op));
    if (ops.length) this.editor.canvas.apply({ ops, html: { nodes: {}, edges: {}, gone: [] } });
  }

  async #resync(ids) {
    const page = await fetchPage(this.editor.root.dataset.page || location.href);
    const change = page && snapshotChange(this.editor, page, ids);
    if (!change) return false;
    this.editor.canvas.apply(change);
    this.#keepShown();
    if (!ids) this.revision = Math.max(this.revision, change.revision);
    this.editor.emit("change", change);
    return true;
  }
}

/**
 * Several changes as one. Each node and edge is drawn as it is after the last that touched it, and with that one alone,
 * so one after the other they would draw edges to nodes that aren't there yet.
 */
function merged(changes) {
  const nodes = Object.assign({}, ...changes.map(({ html }) => html.nodes));
  const edges = Object.assign({}, ...changes.map(({ html }) => html.edges));
  const gone = [...new Set(changes.flatMap(({ html }) => html.gone))].filter((id) => !(id in nodes) && !(id in edges));
  const clients = new Set(changes.map(({ client }) => client));
  return {
    ...changes.at(-1),
    base: changes[0].base,
    client: clients.size === 1 ? changes[0].client : "",
    ops: changes.flatMap(({ ops }) => ops),
    html: { nodes, edges, gone },
    checked: [...new Set(changes.flatMap(({ checked }) => checked ?? []))],
    isMerged: true,
  };
}
