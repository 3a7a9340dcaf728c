// What happened to the draft, applied in the order it happened, whoever did it and however this tab heard of it.

import { snapshotChange } from "./resync.js";
import { isSame, shapeOf } from "./shape.js";
import { ask, fetchPage } from "./wire.js";

// What a waiting gesture shows at once and an older state of the server would show differently again.
export const SHOWN_AT_ONCE = new Set(["move", "resize", "reparent", "delete", "disconnect"]);

const MOST_PARTS = 60; // ids asked for one by one; more come quicker with the whole page
const FIRST_PAUSE = 1000; // ms until what couldn't be had is asked for again
const LONGEST_PAUSE = 30_000;

export class Replay {
  #turn = Promise.resolve();
  #owed = new Set(); // ids still to be put back as the server has them
  #timer = 0;
  #pause = FIRST_PAUSE;
  #differed = -1; // the revision at which the page showed something else than the server has
  #isComparable = true; // a fresh page has shown what the server says it consists of

  /** `waiting` answers the operations that the server hasn't got yet. */
  constructor(editor, waiting) {
    this.editor = editor;
    this.waiting = waiting;
    this.revision = Number(editor.root.dataset.revision);
  }

  /**
   * One Change that this tab was answered. What others did before it is fetched first; where that can't be had now the
   * change waits for it too: with a gap in between, the gap would never be told.
   */
  receive(change) {
    return this.#inTurn(async () => {
      const isNothing = change.base === change.revision; // so the revision it names is somebody else's
      const behind = change.revision - this.revision;
      if (behind > (isNothing ? 0 : 1)) await this.#fetch();
      if (isNothing) return;
      if (change.revision > this.revision + 1) this.#later();
      else await this.#apply(change);
    });
  }

  /** Everything up to now that this tab hasn't seen. Resolves to whether the server answered. */
  catchUp() {
    return this.#inTurn(() => this.#fetch());
  }

  /** Put these nodes and edges back as the server has them, now or as soon as it answers; what others did comes first. */
  restore(ids) {
    for (const id of ids) this.#owed.add(id);
    return this.catchUp();
  }

  #later() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.catchUp(), this.#pause);
    this.#pause = Math.min(this.#pause * 2, LONGEST_PAUSE);
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
      const owed = this.#owed.size <= MOST_PARTS ? [...this.#owed] : [];
      for (const id of owed) url.searchParams.append("part", id);
      const { kind, body } = await ask(url);
      if (kind !== "done") {
        if (this.#owed.size) this.#later();
        return false;
      }
      this.#pause = FIRST_PAUSE;
      if (body.reload) return this.#resync();
      const before = this.revision;
      const news = body.changes.filter(({ revision }) => revision > before);
      if (news.length) await this.#apply(news.length === 1 ? news[0] : merged(news));
      if (body.parts) this.#putBack(owed, body.parts);
      if (this.revision >= body.revision) return this.#owed.size ? this.#settle() : this.#compare(body.shape);
      // a draft that was replaced as a whole has no operations to tell
      if (this.revision === before) return this.#resync();
    }
  }

  /**
   * A net below everything else: where the page shows other nodes or edges than the draft of this revision has, it is
   * read anew. What waits here is shown already and not there yet, so then nothing is compared.
   */
  async #compare(shape) {
    if (!shape || shape.revision !== this.revision || this.waiting().length || !this.#isComparable) return true;
    if (isSame(shape, shapeOf(this.editor.model))) return true;
    if (this.#differed === this.revision) {
      this.#isComparable = false; // read anew it still differs: then it isn't the page that is wrong
      return true;
    }
    this.#differed = this.revision;
    console.info("changes: the page shows something else than the server has; reading it anew");
    return (await this.#resync()) && this.#compare(shape);
  }

  async #apply(change) {
    if (change.revision <= this.revision) return;
    if (change.everything) return void (await this.#resync()); // an import, or what takes one back
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

  /** What came to be owed while the server was asked is asked for in turn. */
  #settle() {
    return this.#owed.size <= MOST_PARTS ? this.#fetch() : this.#resync([...this.#owed]);
  }

  /** As the server has them now; what is gone there too stays away. */
  #putBack(ids, html) {
    for (const id of ids) this.#owed.delete(id);
    const change = { revision: this.revision, resync: true, author: null, ops: [], html, problems: null };
    this.editor.canvas.apply(change);
    this.#keepShown();
    this.editor.emit("change", change);
  }

  /** The ids, or everything, as a fresh page has it. What can't be had now is asked for again. */
  async #resync(ids) {
    const page = await fetchPage(this.editor.root.dataset.page || location.href);
    const change = page && snapshotChange(this.editor, page, ids);
    if (!change) {
      this.#later();
      return false;
    }
    for (const id of ids ?? this.#owed) this.#owed.delete(id);
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
    // each node's problems come with the last change that touched it
    problems: changes.flatMap(({ problems }) => problems ?? []),
    checked: [...new Set(changes.flatMap(({ checked }) => checked ?? []))],
    isMerged: true,
  };
}
