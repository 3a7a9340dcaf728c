// <run-stream data-events="…">: follows one run. EventSource reconnects by itself with Last-Event-ID,
// so a dropped connection or a restarted server loses nothing.

import { paintNode, resetGraph } from "./graph.js";
import { RecalledList } from "./recalled-list.js";
import { written } from "./recollections.js";

const template = (id) => document.getElementById(id);

const HEARD = [
  "run_started", "node_state_change", "text_chunk", "memory_recalled", "memory_written", "memory_retrieval_error",
  "run_paused", "run_resumed", "step_edited", "run_finished",
];
const runOf = (address) => /([0-9a-f-]{36})/.exec(address)?.[1] ?? "";

class RunStream extends HTMLElement {
  #source = null;
  #titles = new Map(); // of nodes that failed
  #recalled = null; // the list of it, once there is something

  connectedCallback() {
    if (this.dataset.events) this.follow(this.dataset.events);
  }

  /** Follow a run, from its beginning; another one that was followed is let go. */
  follow(address) {
    this.#source?.close();
    this.dataset.events = address;
    this.#recalled = null;
    this.#source = new EventSource(address);
    for (const name of HEARD) {
      this.#source.addEventListener(name, (event) => {
        const data = JSON.parse(event.data);
        this.#acts[name]?.(data);
        this.dispatchEvent(new CustomEvent("run-event", { bubbles: true, detail: { run: runOf(address), name, data } }));
      });
    }
    this.dispatchEvent(new CustomEvent("run-following", { bubbles: true, detail: { run: runOf(address) } }));
    const graph = this.#graph;
    if (graph) resetGraph(graph);
  }

  stop() {
    this.#source?.close();
    this.#source = null;
  }

  disconnectedCallback() {
    this.#source?.close();
  }

  get #graph() {
    return document.querySelector(".graph");
  }

  #part(name) {
    const id = this.dataset[name];
    return id ? document.getElementById(id) : null;
  }

  #acts = {
    node_state_change: (event) => {
      const graph = this.#graph;
      if (graph) paintNode(graph, event);
      if (event.status === "failed" && event.title) this.#titles.set(event.node, event.title);
    },
    text_chunk: (event) => {
      const text = this.#part("text");
      if (!text) return;
      // a piece that starts over (after a crash, or for a late reader) says where it belongs
      if (event.offset != null && event.offset < text.textContent.length) text.textContent = text.textContent.slice(0, event.offset);
      text.append(event.text);
      this.#follow(text);
    },
    memory_recalled: (event) => {
      const list = this.#part("recalled");
      if (!list) return;
      this.#recalled ??= new RecalledList(list, template("recalled-row"));
      this.#reveal(list, this.#recalled.add(event));
    },
    memory_written: (event) => {
      const list = this.#part("written");
      list?.append(written(event.entry, template("written-row")));
      this.#reveal(list, 1);
    },
    run_finished: (event) => this.#finish(event),
  };

  #reveal(list, more) {
    const box = list?.closest("[data-count-box]");
    if (!box || more === 0) return;
    box.hidden = false;
    const count = box.querySelector("[data-count]");
    count.textContent = String(Number(count.textContent || 0) + more);
    this.#follow(box);
  }

  #follow(element) {
    const log = element.closest(".chat-log");
    if (log) log.scrollTop = log.scrollHeight;
  }

  /** In the page's own words, where it has some: a chat isn't the place for a traceback. */
  #bad(event) {
    const { stopped, failed, failedAt } = this.dataset;
    if (event.status === "stopped" && stopped) return stopped;
    const title = this.#titles.get(event.error_node);
    if (title && failedAt) return failedAt.replace("{node}", () => title);
    return failed ?? event.error ?? "";
  }

  /** What came out of a run that streamed nothing; of one that gave nothing no empty bubble stays. */
  #give(text, outputs) {
    if (typeof outputs.answer === "string" && outputs.answer) return text.append(outputs.answer);
    const given = Object.entries(outputs).filter(([, value]) => value != null && value !== "");
    const { nothing } = this.dataset;
    if (!given.length && nothing) {
      text.replaceWith(Object.assign(document.createElement("p"), { className: "hint chat-none", textContent: nothing }));
      return;
    }
    text.hidden = given.length === 0;
    for (const [name, value] of given) {
      const line = document.createElement("div");
      line.append(Object.assign(document.createElement("b"), { textContent: name }), " ", typeof value === "string" ? value : JSON.stringify(value));
      text.append(line);
    }
  }

  #finish(event) {
    this.#source.close();
    const text = this.#part("text");
    if (text) {
      delete text.dataset.waiting;
      if (event.status === "failed" || event.status === "stopped") {
        const wrong = document.createElement("div");
        wrong.className = "bubble bubble-it bubble-bad";
        wrong.setAttribute("role", "alert");
        wrong.textContent = this.#bad(event);
        text.after(wrong);
        if (!text.textContent) text.remove();
      } else if (!text.textContent) this.#give(text, event.outputs ?? {});
      this.#follow(text);
    }
    this.dispatchEvent(new CustomEvent("run-finished", { bubbles: true, detail: event }));
    const refresh = this.#part("refresh");
    if (refresh) window.htmx.trigger(refresh, "run-finished");
  }
}

customElements.define("run-stream", RunStream);
