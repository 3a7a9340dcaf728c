// An EventSource that continues after a response that is no stream. Such a response ends the browser's own for good, and
// a proxy sends one while its server restarts.

const FIRST_PAUSE = 1000; // milliseconds, doubled after each attempt
const MAX_PAUSE = 15_000;

export class LastingSource {
  #address;
  #handlers; // name of an event → function
  #source = null;
  #lastId = "";
  #pause = FIRST_PAUSE;
  #timer = 0;
  #isClosed = false;

  constructor(address, handlers) {
    this.#address = new URL(address, location.href);
    this.#handlers = handlers;
    this.#open();
  }

  close() {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#source.close();
  }

  #open() {
    const source = new EventSource(this.#address);
    this.#source = source;
    source.addEventListener("open", () => (this.#pause = FIRST_PAUSE));
    source.addEventListener("error", () => source.readyState === EventSource.CLOSED && this.#wait());
    for (const [name, handle] of Object.entries(this.#handlers)) {
      source.addEventListener(name, (event) => {
        if (this.#isClosed) return;
        this.#lastId = event.lastEventId || this.#lastId;
        handle(event);
      });
    }
  }

  #wait() {
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => this.#retry(), this.#pause);
    this.#pause = Math.min(this.#pause * 2, MAX_PAUSE);
  }

  /** Open the stream again after the last event, unless there is nothing left or this person may not see it any more. */
  async #retry() {
    if (this.#lastId) this.#address.searchParams.set("last_event_id", this.#lastId);
    const status = await askForStatus(this.#address);
    if (this.#isClosed) return;
    if (status === 200) this.#open();
    else if (!status || status === 429 || status >= 500) this.#wait();
  }
}

/**
 * Return the status with which the server answers, or 0 without an answer. A redirect leads to the page to sign in, which
 * counts as 401. The body, which may not end, isn't read.
 */
async function askForStatus(address) {
  const control = new AbortController();
  try {
    const { status, redirected } = await fetch(address, { signal: control.signal });
    return redirected ? 401 : status;
  } catch {
    return 0;
  } finally {
    control.abort();
  }
}
