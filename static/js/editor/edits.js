// Every edit goes through here: one at a time, in order, kept until the server has it, whatever happens in between.

import { sorted } from "./clashing.js";
import { Deciding } from "./deciding.js";
import { Ledger } from "./ledger.js";
import { Queue } from "./queue.js";
import { Replay, SHOWN_AT_ONCE } from "./replay.js";
import { CLIENT, stayAlive } from "./tab.js";
import { ask } from "./wire.js";
import { t } from "./words.js";

const FIRST_PAUSE = 400;
const LONGEST_PAUSE = 8000;
const LONGEST_LABEL = 255;
const TRIES_OF_A_BROKEN_ONE = 4;

/** Events: "state" (saved, saving, offline, clash), "waiting" (a gesture came to wait) and "change" (detail: Change). */
export class Edits extends EventTarget {
  #queue;
  #replay;
  #askers = new Map(); // gesture → those who wait for its answer
  #running = false;
  #away = null; // why nothing is sent: "offline" or "signed-out"
  #pause = FIRST_PAUSE;
  #wake = () => {};
  #state = "saved";

  constructor(editor) {
    super();
    this.editor = editor;
    this.client = CLIENT;
    const place = `${editor.root.dataset.workflow}:${editor.root.dataset.me}`;
    this.ledger = new Ledger(place);
    this.deciding = new Deciding(this.ledger);
    this.#queue = new Queue(place);
    this.#replay = new Replay(editor, () => this.#queue.all.flatMap(({ ops }) => ops));
    this.ledger.addEventListener("change", () => this.#show());
    editor.addEventListener("change", ({ detail }) => {
      this.deciding.heard(detail);
      this.#emit("change", detail);
    });
    addEventListener("online", () => this.wake());
    addEventListener("beforeunload", (event) => {
      if (this.#queue.couldBeLost) event.preventDefault();
    });
    stayAlive();
  }

  get revision() {
    return this.#replay.revision;
  }

  get state() {
    return this.#state;
  }

  /** Why nothing gets through: null, "offline" or "signed-out". */
  get away() {
    return this.#away;
  }

  /** Gestures the server hasn't got yet. */
  get waiting() {
    return this.#queue.all;
  }

  /**
   * One gesture, one undo step. Resolves to the Change, or to null when it wasn't accepted: then it was said and reported.
   * What a decision waits about isn't sent, but joins it. `texts`: paths of fields, with dots, that are for texts.
   */
  send(ops, { label = "", texts = [] } = {}) {
    if (!this.editor.canEdit) return Promise.resolve(null);
    const name = label.slice(0, LONGEST_LABEL);
    const free = this.deciding.join(ops, name);
    return free.length ? this.#add({ kind: "edit", ops: free, label: name, texts }) : Promise.resolve(null);
  }

  /** A clash was decided: what is to hold is sent as it was made, and wins. Handed over before it is struck off. */
  decide(entry, ops) {
    const resolve = Object.fromEntries(ops.map((_op, at) => [at, "mine"]));
    const { base, client, label } = entry;
    const sent = ops.length ? this.#add({ kind: "edit", ops, label, resolve, client }, base) : Promise.resolve(null);
    this.ledger.remove(entry.id);
    return sent;
  }

  /** The same of an undo or a redo that others' later edits stood in the way of: by clash, "mine" or "theirs". */
  decideStep(entry, resolve) {
    const sent = this.#add({ kind: entry.way, ops: [], label: "", resolve, undoes: entry.undoes });
    this.ledger.remove(entry.id);
    return sent;
  }

  undo() {
    return this.editor.canEdit ? this.#add({ kind: "undo", ops: [], label: "" }) : Promise.resolve(null);
  }

  redo() {
    return this.editor.canEdit ? this.#add({ kind: "redo", ops: [], label: "" }) : Promise.resolve(null);
  }

  /** Try again now: the network, or the server, seems to be back. */
  wake() {
    this.#pause = FIRST_PAUSE;
    this.#wake();
  }

  catchUp() {
    return this.#replay.catchUp();
  }

  /** As the server has it: these ids. */
  restore(ids) {
    return this.#replay.restore(ids);
  }

  /** Once the page stands: send what an earlier page, or a tab that is gone, couldn't. */
  start() {
    if (!this.editor.canEdit) return;
    this.#queue.takeOver((count) => {
      this.editor.say(t("Edits that were still waiting are sent now: {n}", { n: count }));
      this.#run();
    });
    this.#show();
  }

  #add(gesture, base = this.revision) {
    const added = this.#queue.add({ ...gesture, base });
    this.#emit("waiting", this.#queue.size);
    const answer = new Promise((resolve) => {
      this.#askers.set(added, [...(this.#askers.get(added) ?? []), resolve]);
    });
    this.#run();
    return answer;
  }

  async #run() {
    if (this.#running) return;
    this.#running = true;
    try {
      while (this.#queue.first) {
        this.#show();
        await this.#turn(this.#queue.first);
      }
    } finally {
      this.#running = false;
      this.#show();
    }
  }

  async #turn(gesture) {
    this.#queue.try(gesture);
    const answer = await this.#post(gesture);
    if (answer.kind === "broken") {
      gesture.failures = (gesture.failures ?? 0) + 1;
      if (gesture.failures >= TRIES_OF_A_BROKEN_ONE) return this.#refused(gesture, answer);
    }
    const act = { done: this.#accepted, clash: this.#clashed, refused: this.#refused }[answer.kind];
    if (!act) return this.#waitFor(answer.kind);
    this.#away = null;
    this.#pause = FIRST_PAUSE;
    await act.call(this, gesture, answer);
  }

  #post({ kind, ops, label, base, key, client, resolve, undoes }) {
    const { urls } = this.editor;
    if (kind === "edit") return ask(urls.draft, { method: "PATCH", body: { base, key, client, label, ops, resolve } });
    return ask(urls[kind], { method: "POST", body: { base, key, client, resolve, undoes } });
  }

  async #accepted(gesture, { body }) {
    this.#queue.done(gesture);
    await this.#replay.receive(body);
    const isNothing = body.base === body.revision; // after all; what was shown of it at once isn't so
    if (isNothing && gesture.ops.some(({ op }) => SHOWN_AT_ONCE.has(op) || op === "connect")) await this.#replay.restore(touched(gesture.ops));
    // Later gestures were made knowing this one; what somebody else did in between they don't know.
    for (const later of body.client ? this.#queue.all : []) {
      if (later.base === body.revision - 1) this.#queue.rebase(later, body.revision);
    }
    this.#answer(gesture, body);
  }

  /** What doesn't clash goes on; the rest is written down before the gesture is given up: at no moment is it in neither place. */
  async #clashed(gesture, { body }) {
    const { message, clashes } = body.error;
    if (gesture.kind !== "edit") return this.#stepClashed(gesture, body);
    const { again, resolve, ask: asked } = sorted(gesture.ops, clashes);
    const { label, base, client, texts = [] } = gesture;
    const fresh = this.deciding.renew(asked, label).map((clash) => ({ ...clash, isText: texts.includes(clash.op.path?.join(".") ?? clash.op.field) }));
    if (fresh.length) this.ledger.add({ kind: "clash", label, base, client, message, ops: fresh.map(({ op }) => op), clashes: fresh });
    if (again.length) {
      const next = this.#queue.replace(gesture, { kind: "edit", ops: again, label, base, client, texts, resolve });
      this.#askers.set(next, this.#askers.get(gesture) ?? []);
      this.#askers.delete(gesture);
    } else {
      this.#queue.done(gesture);
    }
    await this.#replay.restore(touched(asked.map(({ op }) => op)));
    if (asked.length) this.editor.say(message);
    if (!again.length) this.#answer(gesture, null);
  }

  /** Others' later edits stand in the way of an undo or a redo: what is to hold is asked, once. */
  async #stepClashed(gesture, body) {
    const { message, clashes, undoes } = body.error;
    const isOpen = this.ledger.clashes.some((entry) => entry.way && entry.undoes === undoes);
    if (gesture.resolve || undoes == null) return this.#refused(gesture, { body });
    if (!isOpen) this.ledger.add({ kind: "clash", way: gesture.kind, undoes, label: gesture.label, message, ops: [], clashes });
    this.#queue.done(gesture);
    this.#answer(gesture, null);
    await this.#replay.catchUp();
    this.editor.say(message);
  }

  async #refused(gesture, { body, status }) {
    const error = body?.error ?? {};
    const problems = (error.problems ?? []).map(({ message }) => message);
    const message = [...new Set([error.message, ...problems])].filter(Boolean).join(" ") || t("The server answered with error {status}.", { status });
    // There is nothing to keep of an undo that can't be: the words say it.
    if (gesture.kind === "edit") this.ledger.add({ kind: "refused", label: gesture.label, message, ops: gesture.ops });
    this.#queue.done(gesture);
    this.#answer(gesture, null);
    await this.#replay.restore(touched(gesture.ops));
    this.editor.say(gesture.label ? t("Not accepted: {what}. {why}", { what: gesture.label, why: message }) : message);
    this.#emit("refused", { gesture, message });
  }

  async #waitFor(kind) {
    const away = kind === "signed-out" ? "signed-out" : "offline";
    if (away !== this.#away) {
      this.#away = away;
      this.editor.say(away === "offline" ? t("Offline. Edits are kept and sent later.") : t("You are signed out. Sign in in another tab: edits are kept and sent then."));
    }
    this.#show();
    const pause = this.#pause * (0.75 + Math.random() / 2); // not all tabs at once at a server that has just come back
    this.#pause = Math.min(this.#pause * 2, LONGEST_PAUSE);
    await new Promise((resolve) => {
      this.#wake = resolve;
      setTimeout(resolve, pause);
    });
    this.#wake = () => {};
  }

  #answer(gesture, change) {
    for (const resolve of this.#askers.get(gesture) ?? []) resolve(change);
    this.#askers.delete(gesture);
  }

  #show() {
    const state = this.#stateNow();
    if (state === this.#state) return;
    this.#state = state;
    this.#emit("state", state);
  }

  #stateNow() {
    if (this.#queue.size > 0) return this.#away ? "offline" : "saving";
    if (this.ledger.clashes.length > 0) return "clash";
    return "saved"; // what was refused is no part of the draft: it has a badge of its own
  }

  #emit(name, detail) {
    this.dispatchEvent(new CustomEvent(name, { detail }));
  }
}

/** Ids of what the operations showed at once, before the server had its say. */
function touched(ops) {
  return ops.flatMap((op) => [op.id, op.node?.id, op.note?.id, op.edge?.id, ...(op.ids ?? [])]).filter(Boolean);
}
