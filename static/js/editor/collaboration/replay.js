// Applies changes of the draft in the order in which they happened, whoever made them and however this tab received them.

import { isSame, computeShape } from "./draft_checksum.js";
import { sendRequest, fetchPage } from "./requests.js";

// Operations that a waiting gesture shows at once and an older state from the server would show differently.
export const IMMEDIATE_OPS = new Set(["move", "resize", "reparent", "delete", "disconnect"]);

const MAX_PARTS = 60; // more ids than this load faster with the whole page
const FIRST_PAUSE = 1000; // ms until a failed request is repeated
const MAX_PAUSE = 30_000;

export class Replay {
  #turn = Promise.resolve();
  #toRestore = new Set(); // ids to reset to the state of the server
  #timer = 0;
  #pause = FIRST_PAUSE;
  #differedAt = -1; // the revision at which the page differed from the server
  #isComparable = true; // whether a freshly read page matched the shape that the server reported

  /** `waiting` returns the operations that the server has not confirmed yet. */
  constructor(editor, waiting) {
    this.editor = editor;
    this.waiting = waiting;
    this.revision = Number(editor.root.dataset.revision);
  }

  /**
   * Apply the Change that answers a gesture of this tab. Earlier changes by others are fetched first. When they cannot be
   * fetched, this change waits too, since a gap would never be filled.
   */
  receive(change) {
    return this.#inTurn(async () => {
      const hasNoEffect = change.base === change.revision; // then the revision belongs to a change by somebody else
      const behind = change.revision - this.revision;
      if (behind > (hasNoEffect ? 0 : 1)) await this.#fetch();
      if (hasNoEffect) return;
      if (change.revision > this.revision + 1) this.#retryLater();
      else await this.#apply(change);
    });
  }

  /** Fetch all changes that this tab has not applied. Resolves to whether the server answered. */
  catchUp() {
    return this.#inTurn(() => this.#fetch());
  }

  /** Reset these nodes and edges to the state of the server, as soon as it answers; changes by others come first. */
  restore(ids) {
    for (const id of ids) this.#toRestore.add(id);
    return this.catchUp();
  }

  #retryLater() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.catchUp(), this.#pause);
    this.#pause = Math.min(this.#pause * 2, MAX_PAUSE);
  }

  #inTurn(task) {
    const turn = this.#turn.then(task);
    this.#turn = turn.catch((error) => console.warn("changes", error));
    return turn;
  }

  async #fetch() {
    for (;;) {
      const url = new URL(this.editor.urls.changes, location.href);
      url.searchParams.set("after", this.revision);
      const requested = this.#toRestore.size <= MAX_PARTS ? [...this.#toRestore] : [];
      for (const id of requested) url.searchParams.append("part", id);
      const { kind, body } = await sendRequest(url);
      if (kind !== "done") {
        if (this.#toRestore.size) this.#retryLater();
        return false;
      }
      this.#pause = FIRST_PAUSE;
      if (body.reload) return this.#resync();
      const previous = this.revision;
      const unseen = body.changes.filter(({ revision }) => revision > previous);
      if (unseen.length) await this.#apply(unseen.length === 1 ? unseen[0] : mergeChanges(unseen));
      if (body.parts) this.#applyParts(requested, body.parts);
      if (this.revision >= body.revision) return this.#toRestore.size ? this.#restoreRemaining() : this.#compare(body.shape);
      // A draft that was replaced as a whole has no operations.
      if (this.revision === previous) return this.#resync();
    }
  }

  /**
   * A safety net: when the page shows other nodes or edges than this revision of the draft has, it is read again. It does
   * not compare while gestures wait, since these are shown already.
   */
  async #compare(shape) {
    if (!shape || shape.revision !== this.revision || this.waiting().length || !this.#isComparable) return true;
    if (isSame(shape, computeShape(this.editor.model))) return true;
    if (this.#differedAt === this.revision) {
      this.#isComparable = false; // when a fresh page differs too, the comparison itself is wrong
      return true;
    }
    this.#differedAt = this.revision;
    console.info("changes: the page shows something else than the server has; reading it anew");
    return (await this.#resync()) && this.#compare(shape);
  }

  async #apply(change) {
    if (change.revision <= this.revision) return;
    if (change.everything) return void (await this.#resync()); // an import, or the undo of one
    // For several changes the fragments contain everything to draw; their operations in a row would undo one another.
    this.editor.canvas.apply(change.isMerged ? { ...change, ops: [] } : change);
    if (change.kind === "undo" && this.editor.canvas.unplaced.isStacked()) return void (await this.#resync());
    this.#reapplyWaiting();
    this.revision = change.revision;
    this.editor.emit("change", change);
  }

  /** Apply the waiting operations again, so that no card jumps back while its last move is under way. */
  #reapplyWaiting() {
    const ops = this.waiting().filter((op) => IMMEDIATE_OPS.has(op.op));
    if (ops.length) this.editor.canvas.apply({ ops, html: { nodes: {}, edges: {}, gone: [] } });
  }

  /** Restore the ids that were added during the request. */
  #restoreRemaining() {
    return this.#toRestore.size <= MAX_PARTS ? this.#fetch() : this.#resync([...this.#toRestore]);
  }

  /** Apply the present state of the server; deleted nodes stay deleted. */
  #applyParts(ids, html) {
    for (const id of ids) this.#toRestore.delete(id);
    const change = { revision: this.revision, resync: true, author: null, ops: [], html, problems: null };
    this.editor.canvas.apply(change);
    this.#reapplyWaiting();
    this.editor.emit("change", change);
  }

  /** Read the ids, or everything, from a fresh page; a failed request is repeated later. */
  async #resync(ids) {
    const page = await fetchPage(this.editor.root.dataset.page || location.href);
    const change = page && buildSnapshotChange(this.editor, page, ids);
    if (!change) {
      this.#retryLater();
      return false;
    }
    for (const id of ids ?? this.#toRestore) this.#toRestore.delete(id);
    this.editor.canvas.apply(change);
    this.#reapplyWaiting();
    if (!ids) this.revision = Math.max(this.revision, change.revision);
    this.editor.emit("change", change);
    return true;
  }
}

/**
 * Merge several changes. Each node and edge is drawn in its state after the last change that touched it, so that applying
 * them one by one would draw edges to nodes that do not exist yet.
 */
function mergeChanges(changes) {
  const nodes = Object.assign({}, ...changes.map(({ html }) => html.nodes));
  const edges = Object.assign({}, ...changes.map(({ html }) => html.edges));
  const removed = [...new Set(changes.flatMap(({ html }) => html.gone))].filter((id) => !(id in nodes) && !(id in edges));
  const clients = new Set(changes.map(({ client }) => client));
  return {
    ...changes.at(-1),
    base: changes[0].base,
    client: clients.size === 1 ? changes[0].client : "",
    ops: changes.flatMap(({ ops }) => ops),
    html: { nodes, edges, gone: removed },
    // the problems of a node come with the last change that touched it
    problems: changes.flatMap(({ problems }) => problems ?? []),
    checked: [...new Set(changes.flatMap(({ checked }) => checked ?? []))],
    isMerged: true,
    parts: changes, // each with its own author and operations
  };
}

/**
 * Return a change with the nodes and edges of a page, for these ids or all; null when the page has no canvas (signed out,
 * deleted). With the ids come elements that are missing here, since a deleted node takes its edges and content along.
 */
function buildSnapshotChange(editor, page, ids) {
  const root = page.getElementById("editor");
  if (!root) return null;
  const requested = ids && new Set(ids);
  const { nodes: nodesHere, edges: edgesHere } = editor.model;
  const isRequested = (id) => !requested || requested.has(id);
  const isNeeded = (id) => isRequested(id) || !(nodesHere.has(id) || edgesHere.has(id));
  const nodes = collectElements(page, "wf-node[data-id]", isNeeded);
  const edges = collectElements(page, "path.wf-edge[data-id]", isNeeded);
  const existing = [...nodesHere.keys(), ...edgesHere.keys()];
  return {
    revision: Number(root.dataset.revision),
    resync: true,
    author: null,
    ops: [],
    isUnplaced: "unplaced" in root.querySelector("[data-canvas]").dataset,
    html: { nodes, edges, gone: existing.filter((id) => isRequested(id) && !(id in nodes) && !(id in edges)) },
    problems: null,
  };
}

function collectElements(page, selector, isNeeded) {
  const elements = [...page.querySelectorAll(selector)].map((el) => [el.dataset.id, el.outerHTML]);
  return Object.fromEntries(elements.filter(([id]) => isNeeded(id)));
}
