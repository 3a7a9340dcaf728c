// <run-stream data-events="…"> follows one run. Its source reconnects by itself after the last event, so that a dropped
// connection or a restarted server loses nothing.

import { hideReasoning, mayHoldReasoning } from "../common/reasoning.js";
import { createFile, listFiles, nameFiles, splitAtFiles } from "./file_values.js";
import { paintNode, resetGraph } from "./graph_states.js";
import { LastingSource } from "./lasting_source.js";
import { RecalledList } from "./recalled_list.js";
import { createGoneRow, createWrittenRow } from "./recollections.js";

const template = (id) => document.getElementById(id);

const EVENT_NAMES = [
  "run_started", "node_state_change", "text_chunk", "memory_recalled", "memory_written", "memory_forgotten", "memory_ended",
  "memory_forget_asked",
  "memory_retrieval_error", "human_input_required", "run_paused", "run_resumed", "step_edited", "agent_log", "answered", "run_finished",
];
const ROUNDS_DELAY = 300; // milliseconds, in which further calls of an agent join a request for its rounds
const getRunId = (address) => /([0-9a-f-]{36})/.exec(address)?.[1] ?? "";

class RunStream extends HTMLElement {
  #source = null;
  #titles = new Map(); // of failed nodes
  #questionsTimer = 0;
  #roundsTimer = 0;
  #isPaused = false;
  #answer = ""; // as it was streamed, with its reasoning
  #recalled = null; // the list of recalled memories, once there are any

  connectedCallback() {
    document.addEventListener("htmx:before:swap", this.#keepOpen);
    if (this.dataset.events) this.follow(this.dataset.events);
  }

  /** Follow a run from its first event, and stop following another one. */
  follow(address) {
    this.#source?.close();
    this.dataset.events = address;
    this.#recalled = null;
    this.#answer = "";
    const run = getRunId(address);
    const handle = (event) => {
      const { type: name } = event;
      const data = JSON.parse(event.data);
      this.#handlers[name]?.(data);
      this.dispatchEvent(new CustomEvent("run-event", { bubbles: true, detail: { run, name, data, number: Number(event.lastEventId) || 0 } }));
    };
    this.#source = new LastingSource(address, Object.fromEntries(EVENT_NAMES.map((name) => [name, handle])));
    this.dispatchEvent(new CustomEvent("run-following", { bubbles: true, detail: { run } }));
    const graph = this.#graph;
    if (graph) resetGraph(graph);
  }

  stop() {
    this.#source?.close();
    this.#source = null;
  }

  disconnectedCallback() {
    document.removeEventListener("htmx:before:swap", this.#keepOpen);
    this.#source?.close();
  }

  get #graph() {
    return document.querySelector(".graph");
  }

  #findElement(name) {
    const id = this.dataset[name];
    return id ? document.getElementById(id) : null;
  }

  #handlers = {
    node_state_change: (event) => {
      if (this.#isPaused && event.status === "running") this.#onResumed(); // a delay has ended
      const graph = this.#graph;
      if (graph) paintNode(graph, event);
      if (event.status === "failed" && event.title) this.#titles.set(event.node, event.title);
      if (event.kind === "answer" && event.status === "completed") this.#showStop(false);
    },
    answered: () => this.#showStop(false), // what a visitor gets of the end of an answer
    text_chunk: (event) => {
      this.#showStop(true);
      const text = this.#findElement("text");
      if (!text) return;
      // a chunk that starts over (after a crash, or for a late reader) carries its offset
      const startsOver = event.offset != null && event.offset < this.#answer.length;
      if (startsOver) this.#answer = this.#answer.slice(0, event.offset);
      const mustHide = startsOver || mayHoldReasoning(this.#answer);
      this.#answer += event.text;
      if (mustHide || mayHoldReasoning(this.#answer)) text.textContent = hideReasoning(this.#answer);
      else text.append(event.text);
      if (event.text.includes("?token=")) text.textContent = nameFiles(text.textContent);
      this.#scrollToEnd(text);
    },
    memory_recalled: (event) => {
      const list = this.#findElement("recalled");
      if (!list) return;
      this.#recalled ??= new RecalledList(list, template("recalled-row"));
      this.#reveal(list, this.#recalled.add(event));
    },
    memory_written: (event) => {
      if (event.scope === "run") return; // a note of the run is no memory
      const list = this.#findElement("written");
      list?.append(createWrittenRow(event.entry, template("written-row"), event.replaced));
      this.#reveal(list, 1);
    },
    memory_forgotten: (event) => this.#showWish(event.entries, "forgotten"),
    memory_forget_asked: (event) => this.#showWish(event.entries, "asked"),
    memory_ended: (event) => this.#showGone(event.entries, "ended"),
    human_input_required: ({ wait }) => {
      if (!document.getElementById(`question-${wait.replaceAll("-", "")}`)) this.#loadQuestions();
    },
    run_paused: () => {
      this.#isPaused = true;
      this.#showWaiting(false);
      // A form that is shown stays: somebody may have begun to fill it in.
      if (!this.#findElement("questions")?.querySelector("form")) this.#loadQuestions();
    },
    run_resumed: () => this.#onResumed(),
    agent_log: () => this.#refreshRounds(),
    run_finished: (event) => this.#onFinished(event),
  };

  /** Show what a person asked to forget, unless the page says so below the answer. */
  #showWish(entries, label) {
    if (!("withoutWishes" in this.dataset)) this.#showGone(entries, label);
  }

  /** Show the entries that were forgotten or no longer hold. They have a count of their own: nothing was remembered. */
  #showGone(entries, label) {
    const list = this.#findElement("gone");
    const text = template("written-row")?.dataset[label];
    if (!list || !text || !entries?.length) return;
    list.append(...entries.map((entry) => createGoneRow(entry, text)));
    this.#reveal(list, entries.length);
  }

  #onResumed() {
    this.#isPaused = false;
    this.#showWaiting(true);
    this.#loadQuestions();
  }

  /** Offer to stop the run only while an answer is being written: what the run remembers after it goes on. */
  #showStop(on) {
    const form = this.closest(".turn")?.querySelector(".turn-stop");
    if (form) form.hidden = !on;
  }

  /** Show or hide that the answer is being written. */
  #showWaiting(on) {
    this.#findElement("text")?.toggleAttribute("data-waiting", on);
  }

  /** Load what the run waits for now; several events at once load it one time. */
  #loadQuestions() {
    const questions = this.#findElement("questions");
    if (!questions) return;
    clearTimeout(this.#questionsTimer);
    this.#questionsTimer = setTimeout(() => {
      window.htmx.trigger(this.#findElement("questions"), "run-waiting");
      // The form that was answered may be gone before the event of its answer reaches the number in the navigation.
      window.htmx.trigger(document.body, "waiting-changed");
    }, 60);
  }

  /** Load the rounds again. */
  #refreshRounds() {
    this.#roundsTimer ||= setTimeout(() => {
      this.#roundsTimer = 0;
      const rounds = this.#findElement("rounds");
      if (rounds) window.htmx.trigger(rounds, "rounds-changed");
    }, ROUNDS_DELAY);
  }

  /** Leave open and closed what somebody opened and closed in the rounds, or in what is refreshed at the end, when they are replaced. */
  #keepOpen = ({ detail }) => {
    const element = detail.ctx.sourceElement;
    if (!element.id || ![this.dataset.rounds, this.dataset.refresh].includes(element.id)) return;
    const changed = [...element.querySelectorAll("details[id]")].filter((el) => el.open !== (el.dataset.open === "yes"));
    const states = new Map(changed.map((el) => [el.id, el.open]));
    const restore = (event) => {
      if (event.detail.ctx.sourceElement !== element) return;
      document.removeEventListener("htmx:after:swap", restore);
      for (const [id, isOpen] of states) {
        const el = document.getElementById(id);
        if (el) el.open = isOpen;
      }
    };
    document.addEventListener("htmx:after:swap", restore); // the element itself is gone by then
  };

  #reveal(list, added) {
    const box = list?.closest("[data-count-box]");
    if (!box || added === 0) return;
    box.hidden = false;
    const why = box.parentElement.querySelector(":scope > [data-why]");
    if (why) why.hidden = false; // there is something to explain now
    const count = box.querySelector("[data-count]");
    count.textContent = String(Number(count.textContent || 0) + added);
    this.#scrollToEnd(box);
  }

  #scrollToEnd(element) {
    const log = element.closest(".chat-log");
    if (log) log.scrollTop = log.scrollHeight;
  }

  /** Return the error message: that of the page where it has one, else the error behind the name of its node. */
  #getErrorMessage(event) {
    const { stopped, failed } = this.dataset;
    if (event.status === "stopped" && stopped) return stopped;
    if (failed) return failed;
    const { error = "", error_node: node } = event;
    const title = this.#titles.get(node);
    if (!title) return error;
    const id = new RegExp(`(?<![\\w.])${node.replace(/[^\w]/g, "\\$&")}\\.(?=[A-Za-z_])`, "g");
    return `${title}: ${error.replace(id, () => `${title} › `)}`;
  }

  /** Return whether the outputs are shown apart, each with its name: several ones, files, and what is no text. */
  #hasNamedOutputs({ outputs }) {
    if (!("namedOutputs" in this.dataset)) return false;
    const values = Object.values(outputs ?? {});
    return values.length > 1 || values.some((value) => typeof value !== "string");
  }

  /** Show the outputs of a run that streamed nothing; without a value the page's words for that take the bubble's place. */
  #showOutputs(text, outputs) {
    const isAnswer = typeof outputs.answer === "string" && !this.#hasNamedOutputs({ outputs });
    const answer = isAnswer ? hideReasoning(outputs.answer) : "";
    if (answer.trim()) return text.append(...splitAtFiles(answer));
    const { nothing, empty } = this.dataset;
    const isEmptyAnswer = isAnswer && Boolean(empty);
    const outputsWithValue = isEmptyAnswer ? [] : Object.entries(outputs).filter(([, value]) => value != null && value !== "");
    const placeholder = isEmptyAnswer ? empty : nothing;
    if (isEmptyAnswer) this.#offerExplanation();
    if (!outputsWithValue.length && placeholder) {
      text.replaceWith(Object.assign(document.createElement("p"), { className: "hint chat-none", textContent: placeholder }));
      return;
    }
    text.hidden = outputsWithValue.length === 0;
    for (const [name, value] of outputsWithValue) {
      const part = Object.assign(document.createElement("div"), { className: "run-output" });
      part.append(Object.assign(document.createElement("b"), { textContent: name }), this.#createValue(value));
      text.append(part);
    }
  }

  /** Offer *Why?* of an answer that was empty, also where no memory was used. */
  #offerExplanation() {
    const why = document.querySelector(`[data-why="${getRunId(this.dataset.events)}"]`);
    if (why) why.hidden = false;
  }

  #createValue(value) {
    const element = document.createElement("div");
    const files = listFiles(value);
    if (files) element.append(...files.map(createFile));
    else if (typeof value === "string") element.append(...splitAtFiles(value.trim()));
    else element.textContent = JSON.stringify(value, null, 2);
    element.classList.toggle("run-files", Boolean(files));
    return element;
  }

  #onFinished(event) {
    this.#source.close();
    clearTimeout(this.#roundsTimer);
    const text = this.#findElement("text");
    if (text) {
      delete text.dataset.waiting;
      if (event.status === "failed" || event.status === "stopped") {
        const errorBubble = document.createElement("div");
        errorBubble.className = "bubble bubble-it bubble-bad";
        errorBubble.setAttribute("role", "alert");
        errorBubble.textContent = this.#getErrorMessage(event);
        text.after(errorBubble);
        if ("namedOutputs" in this.dataset) text.textContent = text.textContent.trim();
        if (!text.textContent) text.remove();
      } else if (!text.textContent.trim() || this.#hasNamedOutputs(event)) {
        text.textContent = ""; // several outputs streamed one after the other, without their names
        this.#showOutputs(text, event.outputs ?? {});
      } else if (this.#answer.includes("?token=")) {
        text.replaceChildren(...splitAtFiles(hideReasoning(this.#answer)));
      }
      this.#scrollToEnd(text);
    }
    this.dispatchEvent(new CustomEvent("run-finished", { bubbles: true, detail: event }));
    const refresh = this.#findElement("refresh");
    if (refresh) window.htmx.trigger(refresh, "run-finished");
  }
}

customElements.define("run-stream", RunStream);
