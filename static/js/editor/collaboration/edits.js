// The queue through which every edit goes: one at a time, in order, stored until the server has it.

import { sortConflicts } from "./conflict_rules.js";
import { PendingDecisions } from "./pending_decisions.js";
import { UnsavedChanges } from "./unsaved_changes.js";
import { Queue } from "./queue.js";
import { Replay, IMMEDIATE_OPS } from "./replay.js";
import { CLIENT, stayAlive } from "./tabs.js";
import { sendRequest } from "./requests.js";
import { t } from "../../common/translations.js";

const FIRST_PAUSE = 400;
const MAX_PAUSE = 8000;
const MAX_LABEL_LENGTH = 255;
const MAX_FAILURES = 4;
const PLACELESS = new Set(["header", "variable"]); // operations that concern no node

/**
 * Events: "state" (saved, saving, offline, conflict), "waiting" (a gesture was queued), "change" (detail: Change) and
 * "accepted" (detail: the Change that answers a gesture of this tab, also when the page had received it in another way before).
 */
export class Edits extends EventTarget {
  #queue;
  #replay;
  #resolvers = new Map(); // gesture → functions that resolve the promises of its senders
  #isRunning = false;
  #offlineReason = null; // "offline" or "signed-out" while nothing can be sent
  #pause = FIRST_PAUSE;
  #endPause = () => {};
  #state = "saved";

  constructor(editor) {
    super();
    this.editor = editor;
    this.client = CLIENT;
    const storageKey = `${editor.root.dataset.workflow}:${editor.root.dataset.me}`;
    this.unsavedChanges = new UnsavedChanges(storageKey);
    this.pendingDecisions = new PendingDecisions(this.unsavedChanges);
    this.#queue = new Queue(storageKey);
    this.#replay = new Replay(editor, () => this.#queue.all.flatMap(({ ops }) => ops));
    this.unsavedChanges.addEventListener("change", () => this.#updateState());
    editor.addEventListener("change", ({ detail }) => {
      for (const part of detail.parts ?? [detail]) this.pendingDecisions.applyChanges(part);
      this.#emit("change", detail);
    });
    addEventListener("online", () => this.wake());
    addEventListener("beforeunload", (event) => {
      if (this.#queue.hasUnstored) event.preventDefault();
    });
    stayAlive();
  }

  get revision() {
    return this.#replay.revision;
  }

  get state() {
    return this.#state;
  }

  /** Return why nothing can be sent: null, "offline" or "signed-out". */
  get offlineReason() {
    return this.#offlineReason;
  }

  /** Return the gestures that the server has not confirmed yet. */
  get waiting() {
    return this.#queue.all;
  }

  /**
   * Send one gesture, which becomes one undo step. Resolves to the Change, or to null when it was not accepted, which is
   * announced and reported here. Operations on a field that waits for a decision join that decision instead of being sent.
   * `texts`: dotted paths of text fields.
   */
  send(ops, { label = "", texts = [] } = {}) {
    if (!this.editor.canEdit) return Promise.resolve(null);
    if (ops.some(({ op }) => !PLACELESS.has(op))) this.#storeLayout();
    const name = label.slice(0, MAX_LABEL_LENGTH);
    const independent = this.pendingDecisions.join(ops, name);
    return independent.length ? this.#add({ kind: "edit", ops: independent, label: name, texts }) : Promise.resolve(null);
  }

  /** Send the outcome of a decided conflict as our own operations, which win. They are queued before the conflict is removed. */
  decide(entry, ops) {
    const resolve = Object.fromEntries(ops.map((_op, at) => [at, "mine"]));
    const { base, client, label } = entry;
    const request = ops.length ? this.#add({ kind: "edit", ops, label, resolve, client }, base) : Promise.resolve(null);
    this.unsavedChanges.remove(entry.id);
    return request;
  }

  /** Send the outcome of an undo or redo that met later edits: "mine" or "theirs" for each conflict. */
  decideStep(entry, resolve) {
    const request = this.#add({ kind: entry.way, ops: [], label: "", resolve, undoes: entry.undoes });
    this.unsavedChanges.remove(entry.id);
    return request;
  }

  undo() {
    return this.editor.canEdit ? this.#add({ kind: "undo", ops: [], label: "" }) : Promise.resolve(null);
  }

  redo() {
    return this.editor.canEdit ? this.#add({ kind: "redo", ops: [], label: "" }) : Promise.resolve(null);
  }

  /** Retry at once, since the network or the server seems to be back. */
  wake() {
    this.#pause = FIRST_PAUSE;
    this.#endPause();
  }

  catchUp() {
    return this.#replay.catchUp();
  }

  /** Reset nodes and edges to the state of the server. */
  restore(ids) {
    return this.#replay.restore(ids);
  }

  /** Send edits that an earlier page or a closed tab could not send; called once the page is ready. */
  start() {
    if (!this.editor.canEdit) return;
    this.#queue.takeOver((count) => {
      this.editor.say(t("Sending saved edits: {n}", { n: count }));
      this.#run();
    });
    this.#updateState();
  }

  /** Store the places of nodes that have none yet, as a step of its own: undoing an edit leaves the graph as it was shown. */
  #storeLayout() {
    const ops = this.editor.canvas.unplaced.take();
    if (ops.length) this.#add({ kind: "edit", ops, label: t("Auto-layout applied") });
  }

  #add(gesture, base = this.revision) {
    const queued = this.#queue.add({ ...gesture, base });
    this.#emit("waiting", this.#queue.size);
    const promise = new Promise((resolve) => {
      this.#resolvers.set(queued, [...(this.#resolvers.get(queued) ?? []), resolve]);
    });
    this.#run();
    return promise;
  }

  async #run() {
    if (this.#isRunning) return;
    this.#isRunning = true;
    try {
      while (this.#queue.first) {
        this.#updateState();
        await this.#sendNext(this.#queue.first);
      }
    } finally {
      this.#isRunning = false;
      this.#updateState();
    }
  }

  async #sendNext(gesture) {
    this.#queue.markTried(gesture);
    const response = await this.#post(gesture);
    if (response.kind === "broken") {
      gesture.failures = (gesture.failures ?? 0) + 1;
      if (gesture.failures >= MAX_FAILURES) return this.#onRefused(gesture, response);
    }
    const handler = { done: this.#onAccepted, conflict: this.#onConflict, refused: this.#onRefused }[response.kind];
    if (!handler) return this.#waitFor(response.kind);
    this.#offlineReason = null;
    this.#pause = FIRST_PAUSE;
    await handler.call(this, gesture, response);
  }

  #post({ kind, ops, label, base, key, client, resolve, undoes }) {
    const { urls } = this.editor;
    if (kind === "edit") return sendRequest(urls.draft, { method: "PATCH", body: { base, key, client, label, ops, resolve } });
    return sendRequest(urls[kind], { method: "POST", body: { base, key, client, resolve, undoes } });
  }

  async #onAccepted(gesture, { body }) {
    this.#queue.remove(gesture);
    await this.#replay.receive(body);
    const hasNoEffect = body.base === body.revision; // The edit had no effect, so that its immediate display must be reset.
    if (hasNoEffect && gesture.ops.some(({ op }) => IMMEDIATE_OPS.has(op) || op === "connect")) await this.#replay.restore(collectTouchedIds(gesture.ops));
    // Our later gestures were made with this one applied, but without changes by others in between.
    for (const queued of body.client ? this.#queue.all : []) {
      if (queued.base === body.revision - 1) this.#queue.rebase(queued, body.revision);
    }
    this.#emit("accepted", body);
    this.#resolve(gesture, body);
  }

  /**
   * Send again what does not conflict and store the rest for a decision. The rest is stored before the gesture is removed, so
   * that nothing is lost in between.
   */
  async #onConflict(gesture, { body }) {
    const { message, conflicts } = body.error;
    if (gesture.kind !== "edit") return this.#onStepConflict(gesture, body);
    const { toResend, resolve, ask: undecided } = sortConflicts(gesture.ops, conflicts);
    const { label, base, client, texts = [] } = gesture;
    const newConflicts = this.pendingDecisions.filterNew(undecided, label).map((conflict) => ({ ...conflict, isText: texts.includes(conflict.op.path?.join(".") ?? conflict.op.field) }));
    if (newConflicts.length) this.unsavedChanges.add({ kind: "conflict", label, base, client, message, ops: newConflicts.map(({ op }) => op), conflicts: newConflicts });
    if (toResend.length) {
      const next = this.#queue.replace(gesture, { kind: "edit", ops: toResend, label, base, client, texts, resolve });
      this.#resolvers.set(next, this.#resolvers.get(gesture) ?? []);
      this.#resolvers.delete(gesture);
    } else {
      this.#queue.remove(gesture);
    }
    await this.#replay.restore(collectTouchedIds(undecided.map(({ op }) => op)));
    if (undecided.length) this.editor.say(message);
    if (!toResend.length) this.#resolve(gesture, null);
  }

  /** Ask once what should hold when later edits by others are in the way of an undo or redo. */
  async #onStepConflict(gesture, body) {
    const { message, conflicts, undoes } = body.error;
    const isOpen = this.unsavedChanges.conflicts.some((entry) => entry.way && entry.undoes === undoes);
    if (gesture.resolve || undoes == null) return this.#onRefused(gesture, { body });
    if (!isOpen) this.unsavedChanges.add({ kind: "conflict", way: gesture.kind, undoes, label: gesture.label, message, ops: [], conflicts });
    this.#queue.remove(gesture);
    this.#resolve(gesture, null);
    await this.#replay.catchUp();
    this.editor.say(message);
  }

  async #onRefused(gesture, { body, status }) {
    const error = body?.error ?? {};
    const problems = (error.problems ?? []).map(({ message }) => message);
    const message = [...new Set([error.message, ...problems])].filter(Boolean).join(" ") || t("The server returned error {status}.", { status });
    // A refused undo leaves nothing to store; the message is enough.
    if (gesture.kind === "edit") this.unsavedChanges.add({ kind: "refused", label: gesture.label, message, ops: gesture.ops });
    this.#queue.remove(gesture);
    this.#resolve(gesture, null);
    await this.#replay.restore(collectTouchedIds(gesture.ops));
    this.editor.say(gesture.label ? t("Rejected: {what}. {why}", { what: gesture.label, why: message }) : message);
    this.#emit("refused", { gesture, message });
  }

  async #waitFor(kind) {
    const reason = kind === "signed-out" ? "signed-out" : "offline";
    if (reason !== this.#offlineReason) {
      this.#offlineReason = reason;
      this.editor.say(reason === "offline" ? t("Offline. Edits are saved and sent later.") : t("You are signed out. Sign in in another tab to send your edits."));
    }
    this.#updateState();
    const pause = this.#pause * (0.75 + Math.random() / 2); // spread the retries, so that not all tabs call a restarted server at once
    this.#pause = Math.min(this.#pause * 2, MAX_PAUSE);
    await new Promise((resolve) => {
      this.#endPause = resolve;
      setTimeout(resolve, pause);
    });
    this.#endPause = () => {};
  }

  #resolve(gesture, change) {
    for (const resolve of this.#resolvers.get(gesture) ?? []) resolve(change);
    this.#resolvers.delete(gesture);
  }

  #updateState() {
    const state = this.#computeState();
    if (state === this.#state) return;
    this.#state = state;
    this.#emit("state", state);
  }

  #computeState() {
    if (this.#queue.size > 0) return this.#offlineReason ? "offline" : "saving";
    if (this.unsavedChanges.conflicts.length > 0) return "conflict";
    return "saved"; // refused edits are not part of the draft and have a badge of their own
  }

  #emit(name, detail) {
    this.dispatchEvent(new CustomEvent(name, { detail }));
  }
}

/** Return the ids of everything that the operations changed on the page before the server answered. */
function collectTouchedIds(ops) {
  return ops.flatMap((op) => [op.id, op.node?.id, op.note?.id, op.edge?.id, ...(op.ids ?? [])]).filter(Boolean);
}
