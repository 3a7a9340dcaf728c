// Receives events about the draft while the page is open, and catches up after any interruption.

import { sendRequest } from "./requests.js";
import { t } from "../../common/translations.js";

const FIRST_PAUSE = 500;
const MAX_PAUSE = 10_000;
const MAX_HIDDEN = 30_000; // ms of being hidden after which the state is fetched again

export function install(editor) {
  const liveUpdates = new LiveUpdates(editor);
  liveUpdates.open();
  editor.edits.start();
}

/** Events emitted on the editor: "presence", "cursor", "comment", "published-somewhere", "run-status", "live" (open or not). */
class LiveUpdates {
  #source = null;
  #pause = FIRST_PAUSE;
  #timer = 0;
  #hiddenAt = 0;

  constructor(editor) {
    this.editor = editor;
    document.addEventListener("visibilitychange", () => this.#onVisibilityChange());
    addEventListener("pageshow", (event) => event.persisted && this.#reconnect());
    addEventListener("pagehide", () => this.#source?.close());
    addEventListener("online", () => this.#reconnect());
  }

  open() {
    clearTimeout(this.#timer);
    this.#source?.close();
    const { editor } = this;
    const url = new URL(editor.urls.live, location.href);
    url.searchParams.set("client", editor.edits.client);
    url.searchParams.set("last_event_id", editor.edits.revision);
    this.#source = new EventSource(url);
    this.#source.addEventListener("open", () => this.#onOpen());
    this.#source.addEventListener("error", () => this.#onError());
    for (const [name, handler] of Object.entries(HANDLERS)) {
      this.#source.addEventListener(name, (event) => handler(editor, JSON.parse(event.data)));
    }
  }

  #onOpen() {
    this.#pause = FIRST_PAUSE;
    this.editor.emit("live", { isOpen: true });
    this.editor.edits.wake(); // when the stream works, edits can be sent too
    this.editor.edits.catchUp();
  }

  #onError() {
    this.editor.emit("live", { isOpen: false });
    // The browser repairs a broken connection itself; an answer that is no stream ends it.
    if (this.#source.readyState !== EventSource.CLOSED) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#retry(), this.#pause);
    this.#pause = Math.min(this.#pause * 2, MAX_PAUSE);
  }

  /** Check why the stream ended. A person who lost access gets one message and no further attempts. */
  async #retry() {
    const url = new URL(this.editor.urls.changes, location.href);
    url.searchParams.set("after", this.editor.edits.revision);
    const { status } = await sendRequest(url);
    if (status === 404 || status === 403) this.editor.say(t("You no longer have access to this workflow."));
    else this.open();
  }

  #reconnect() {
    this.open();
    this.editor.edits.wake();
  }

  #onVisibilityChange() {
    if (document.hidden) this.#hiddenAt = Date.now();
    else if (this.#hiddenAt && Date.now() - this.#hiddenAt > MAX_HIDDEN) this.#reconnect();
  }
}

const HANDLERS = {
  revision: (editor, { revision, client }) => {
    if (revision > editor.edits.revision && client !== editor.edits.client) editor.edits.catchUp();
  },
  presence: (editor, { people }) => editor.emit("presence", { people }),
  cursor: (editor, cursor) => editor.emit("cursor", cursor),
  comment: (editor, comment) => editor.emit("comment", comment),
  published: (editor) => editor.emit("published-somewhere"),
  run: (editor, run) => editor.emit("run-status", run),
};
