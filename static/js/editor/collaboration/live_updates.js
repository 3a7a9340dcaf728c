// Hears what happens to the draft while it is open here, and catches up with it after any silence.

import { ask } from "./wire.js";
import { t } from "./words.js";

const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 10_000;
const SLEPT = 30_000; // ms out of sight after which nothing is taken for granted

export function install(editor) {
  const line = new Live(editor);
  line.open();
  editor.edits.start();
}

/** Events of the editor from here: "presence", "cursor", "comment", "published-somewhere", "run-status",
 * "live" (open or not). */
class Live {
  #source = null;
  #pause = FIRST_PAUSE;
  #timer = 0;
  #hiddenAt = 0;

  constructor(editor) {
    this.editor = editor;
    document.addEventListener("visibilitychange", () => this.#seen());
    addEventListener("pageshow", (event) => event.persisted && this.#again());
    addEventListener("pagehide", () => this.#source?.close());
    addEventListener("online", () => this.#again());
  }

  open() {
    clearTimeout(this.#timer);
    this.#source?.close();
    const { editor } = this;
    const url = new URL(editor.urls.live, location.href);
    url.searchParams.set("client", editor.edits.client);
    url.searchParams.set("last_event_id", editor.edits.revision);
    this.#source = new EventSource(url);
    this.#source.addEventListener("open", () => this.#opened());
    this.#source.addEventListener("error", () => this.#failed());
    for (const [name, act] of Object.entries(ACTS)) {
      this.#source.addEventListener(name, (event) => act(editor, JSON.parse(event.data)));
    }
  }

  #opened() {
    this.#pause = FIRST_PAUSE;
    this.editor.emit("live", { isOpen: true });
    this.editor.edits.wake(); // where this gets through, edits do
    this.editor.edits.catchUp();
  }

  #failed() {
    this.editor.emit("live", { isOpen: false });
    // A broken connection the browser mends by itself; an answer that isn't a stream ends it.
    if (this.#source.readyState !== EventSource.CLOSED) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#retry(), this.#pause);
    this.#pause = Math.min(this.#pause * 2, LONGEST_PAUSE);
  }

  /** Not for ever: who was taken off the team is told so, once. */
  async #retry() {
    const url = new URL(this.editor.urls.changes, location.href);
    url.searchParams.set("after", this.editor.edits.revision);
    const { status } = await ask(url);
    if (status === 404 || status === 403) this.editor.say(t("You can't see this workflow any more."));
    else this.open();
  }

  #again() {
    this.open();
    this.editor.edits.wake();
  }

  #seen() {
    if (document.hidden) this.#hiddenAt = Date.now();
    else if (this.#hiddenAt && Date.now() - this.#hiddenAt > SLEPT) this.#again();
  }
}

const ACTS = {
  revision: (editor, { revision, client }) => {
    if (revision > editor.edits.revision && client !== editor.edits.client) editor.edits.catchUp();
  },
  presence: (editor, { people }) => editor.emit("presence", { people }),
  cursor: (editor, cursor) => editor.emit("cursor", cursor),
  comment: (editor, comment) => editor.emit("comment", comment),
  published: (editor) => editor.emit("published-somewhere"),
  run: (editor, run) => editor.emit("run-status", run),
};
