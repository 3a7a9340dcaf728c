// Runs from the editor: the whole workflow, one node, up to or from a node; the status bar, pauses, the log and memory in
// the dock, and earlier runs. It relies on the events of a run only.

import { formatClock } from "../../common/format.js";
import { createRandomId } from "../../common/random_ids.js";
import { buildAddress } from "../../common/urls.js";
import { AnswerExplanation } from "./answer_explanation.js";
import { Breakpoints } from "./breakpoints.js";
import { getSelectedNodes, getNodeName, getOnlySelectedNode, nameNodes } from "../graph_queries.js";
import { askForValues } from "./missing_inputs.js";
import { RunView, getEndMessage, getStateLabel } from "./run_view.js";
import { t } from "../../common/translations.js";

const LIVE = new Set(["queued", "running", "paused"]);
const QUESTIONS_DELAY = 60; // ms in which further events load nothing again
const RESTORE_DELAY = 150; // ms until the page is interactive
const MEMORY_DELAY = 400; // ms to wait for further memory events

export function install(editor) {
  if (editor.root.dataset.canRun !== "yes") return;
  editor.runs = new Runs(editor);
}

function describePause(reason, names, until) {
  if (reason === "step") return t("Next: {names}", { names });
  if (reason === "input") return t("Waiting for an answer");
  if (reason === "time") return t("Waits until {time}", { time: formatClock(until) });
  return t("Paused before {names}", { names });
}

const getPinned = (element) => (element.dataset.pinned ?? "").split(" ").filter(Boolean);

class Runs {
  #memoryTimer = 0;
  #questionsTimer = 0;
  #lastId = "";
  #starting = new Set(); // commands whose run begins
  #seen = new Map(); // run → number of the last event that the page or its reader has had

  constructor(editor) {
    this.editor = editor;
    this.root = editor.root;
    this.panel = this.root.querySelector("#panel-run");
    this.log = this.root.querySelector("#panel-log");
    this.stream = this.log?.querySelector("[data-follow]");
    this.view = new RunView(editor, this.log);
    this.breakpoints = new Breakpoints(editor);
    this.explanation = new AnswerExplanation(editor, this);
    this.stepping = false;
    this.isOld = false;
    this.restored = ""; // the run that the page showed again when it was loaded
    this.#commands();
    this.#listen();
    this.#showLastRun();
    const pins = document.getElementById("pins");
    for (const id of pins ? JSON.parse(pins.textContent) : []) editor.canvas.paintNode(id, { pinned: true });
  }

  get run() {
    return this.view.run;
  }

  get isLive() {
    return LIVE.has(this.view.status);
  }

  get isPaused() {
    return this.view.status === "paused";
  }

  // ——— starting

  get form() {
    return this.panel.querySelector("form[data-chat-form], #run-card > form");
  }

  /** Return the options of every run from the editor. */
  options(more = {}) {
    const sandbox = this.panel.querySelector("[data-sandbox]")?.checked;
    return {
      breakpoints: this.breakpoints.list(),
      ...(sandbox ? { memory: "sandbox" } : {}),
      ...(this.stepping ? { step: true } : {}),
      ...more,
    };
  }

  start({ step = false } = {}) {
    const wasShown = this.editor.panels.getVisiblePanel("right") === "run";
    this.editor.panel("run");
    const { form } = this;
    if (!form) return;
    this.stepping = step;
    // Who sees the form for the first time has made no mistake yet.
    const firstEmpty = form.querySelector(":invalid");
    if (firstEmpty && !wasShown) return firstEmpty.focus();
    const box = form.querySelector("textarea[name=query]");
    if (box && !box.value.trim()) {
      box.focus();
      this.editor.say(t("Enter a message first."));
      return;
    }
    form.requestSubmit();
  }

  /** Run a part of the workflow as a run of its own. The same command has no further effect while the run begins. */
  async part(extent, node, values) {
    const command = JSON.stringify([extent, node, values]);
    if (this.#starting.has(command)) return;
    this.#starting.add(command);
    try {
      await this.#startPart(extent, node, values);
    } finally {
      this.#starting.delete(command);
    }
  }

  async #startPart(extent, node, values) {
    const reuse = this.run && !this.isLive ? this.run : this.#lastRun();
    const options = this.options({ [extent]: [node], breakpoints: extent === "only" ? [] : this.breakpoints.list() });
    if (reuse && (extent !== "until" || !this.form?.checkValidity?.() || this.#isChat)) options.reuse = reuse;
    if (values) options.values = values;
    const body = new FormData(this.form ?? undefined);
    body.set("debug", JSON.stringify(options));
    body.set("sys.form_id", createRandomId()); // each command starts a run of its own, however often it is sent
    const response = await this.#post(this.editor.urls.try, body);
    if (response.ok && !response.data.error) return this.open(response.data, { warnings: response.data.warnings });
    const { error } = response.data;
    if (error?.needs_values) {
      this.editor.panel("run");
      askForValues(this.panel, this.editor, error.problems, (answers) => this.part(extent, node, answers));
      return undefined;
    }
    return this.#showError(error);
  }

  get #isChat() {
    return this.root.dataset.mode === "advanced-chat" || this.root.dataset.mode === "chat";
  }

  #lastRun() {
    return this.panel.querySelector("[data-open-run]")?.dataset.openRun ?? "";
  }

  #showError(error) {
    if (error?.html) {
      this.panel.querySelector("#run-refused")?.replaceChildren(document.createRange().createContextualFragment(error.html));
      return;
    }
    const fieldProblem = error?.problems?.find((problem) => problem.field);
    const message = fieldProblem ? `${fieldProblem.field}: ${fieldProblem.message}` : (error?.message ?? t("The run did not start."));
    this.editor.panel("run");
    this.#showMessage(message);
    this.editor.say(message);
  }

  // ——— following

  /** Show the last run again, with its states and its log, unless a stream in the panel does so by itself. */
  #showLastRun() {
    const run = JSON.parse(document.getElementById("last-run")?.textContent ?? "null");
    if (!run || this.panel.querySelector("run-stream")) return;
    this.restored = run.id;
    const show = () => this.run || this.open(run, { focus: null });
    customElements.whenDefined("run-stream").then(() => setTimeout(show, RESTORE_DELAY));
  }

  /** Show a run on the canvas from its first event on. */
  open(run, { warnings = [], focus = "log" } = {}) {
    this.#begin(run.id, run.page);
    this.#markSeen(run.id, run.seen);
    this.view.pinned = new Set(run.pinned ?? []);
    this.view.status = run.status ?? "queued";
    this.isOld = !this.isLive; // events of an ended run are replayed
    this.#showWarnings(warnings);
    if (focus) this.editor.panel(focus);
    this.stream?.follow(run.events);
    this.#showState();
  }

  #begin(id, page) {
    this.view.reset();
    this.panel.querySelector("[data-run-questions]")?.replaceChildren();
    this.panel.querySelector("#run-refused")?.replaceChildren();
    this.view.run = id;
    this.#showMessage(""); // of the run before
    this.#lastId = id;
    this.root.dataset.runId = id;
    this.stepping = false;
    this.log?.querySelector("[data-log-empty]")?.setAttribute("hidden", "");
    for (const link of this.root.querySelectorAll("[data-run-page]")) {
      link.href = page ?? "#";
      link.hidden = !page;
    }
    for (const button of this.panel.querySelectorAll("[data-save-case]")) button.dataset.saveCase = id;
    this.#refreshMemory();
    this.editor.emit("run", { id });
  }

  #onEvent(event) {
    const { run, name, data, number } = event.detail;
    const isNews = this.#markSeen(run, number);
    if (run !== this.run) return;
    this.view.handle(name, data);
    if (name.startsWith("memory_")) this.#refreshMemory();
    if (name === "human_input_required" || name === "run_resumed") this.#refreshQuestions();
    if (name === "run_paused") this.#onPaused(data, isNews);
    if (name === "run_finished") this.#onFinished(data, isNews);
    if (name.startsWith("run_")) this.#showState();
  }

  /** Remember that the events up to this number have happened, and return whether there was a new one. */
  #markSeen(run, number) {
    const last = this.#seen.get(run) ?? 0;
    this.#seen.set(run, Math.max(last, Number(number) || 0));
    return number > last;
  }

  #onPaused({ nodes, reason, until }, isNews) {
    const names = nodes.map((id) => getNodeName(this.editor, id)).join(", ");
    const message = describePause(reason, names, until);
    this.#showMessage(reason === "input" ? "" : message); // the pill says it already
    if (isNews && !this.isOld) {
      this.editor.say(message);
      if (nodes[0]) this.editor.canvas.reveal(nodes[0]);
    }
    this.#refreshMemory();
    this.#refreshQuestions();
    this.editor.emit("run", { id: this.run, status: "paused" }); // other views of this run are out of date
  }

  #onFinished(data, isNews) {
    const error = nameNodes(this.editor, data.error ?? "");
    this.#showMessage(error && data.error_node ? `${getNodeName(this.editor, data.error_node)}: ${error}` : error);
    if (error) this.#hideRepetitions(data.error_node);
    this.#refreshMemory();
    if (isNews && !this.isOld) {
      this.#announceEnd(data.status);
      this.#refreshList();
    }
    this.editor.emit("run", { id: this.run, status: data.status });
    this.editor.emit("run-over", { id: this.run, status: data.status });
  }

  /** Announce the end. The chat shows an answer itself, so that its end is for screen readers only. */
  #announceEnd(status) {
    const isAnswered = status === "succeeded" && this.#isChat && this.#isChatVisible;
    this.editor[isAnswered ? "hint" : "say"](getEndMessage(status));
  }

  get #isChatVisible() {
    return this.panel.querySelector(`[data-why="${CSS.escape(this.run)}"]`) !== null && this.panel.checkVisibility();
  }

  // ——— resuming

  async resume(mode) {
    if (!this.run) return;
    if (mode === "stop" && !this.isPaused) return this.#stop();
    const body = new FormData();
    body.set("mode", mode);
    body.set("breakpoints", "1");
    for (const id of this.breakpoints.list()) body.append("breakpoint", id);
    const response = await this.#post(this.#address("resume"), body);
    if (!response.ok) return this.#showError(response.data.error);
    this.#showMessage("");
    return undefined;
  }

  #stop() {
    return this.#post(this.#address("cancel"), new FormData());
  }

  #address(action) {
    return buildAddress(this.editor.urls.run_place, this.run) + `${action}/`;
  }

  async #post(address, body) {
    const token = JSON.parse(document.body.getAttribute("hx-headers:inherited") ?? "{}")["X-CSRFToken"];
    const response = await fetch(address, { method: "POST", body, headers: { "X-CSRFToken": token, Accept: "application/json" } });
    const isJson = response.headers.get("content-type")?.includes("json");
    return { ok: response.ok, data: isJson ? await response.json() : {} };
  }

  // ——— display

  #showState() {
    const { status } = this.view;
    for (const pill of this.root.querySelectorAll("[data-run-state]")) {
      pill.hidden = !status;
      pill.textContent = this.isPaused && this.view.isWaiting ? t("Waiting") : getStateLabel(status);
      pill.dataset.status = status;
    }
    for (const box of this.root.querySelectorAll("[data-run-now]")) box.hidden = !status;
    for (const id of ["continue", "step"]) this.#setCommandVisible(id, this.isPaused && !this.view.isWaiting);
    this.#setCommandVisible("stop", this.isLive);
    for (const button of this.panel.querySelectorAll("[data-save-case]")) button.hidden = !this.editor.canEdit || this.isLive || !this.editor.urls.tests;
    this.root.dataset.run = status;
  }

  #setCommandVisible(command, on) {
    for (const button of this.root.querySelectorAll(`.run-now [data-command="${command}"], .log-bar [data-command="${command}"]`)) button.hidden = !on;
  }

  #showMessage(text) {
    this.message = text;
    for (const el of this.root.querySelectorAll("[data-run-words]")) {
      el.textContent = text;
      el.title = text;
    }
    if (text) for (const box of this.root.querySelectorAll("[data-run-now]")) box.hidden = false;
  }

  /** A failure is told once: by the turn or the card of the run, or else in the log by its step, or else in the bars. */
  #hideRepetitions(errorNode) {
    const id = CSS.escape(this.run);
    const isInPanel = this.panel.querySelector(`[data-why="${id}"], run-stream[data-events*="${id}"]`) !== null;
    if (isInPanel && errorNode) this.view.hideError(errorNode);
    if (!isInPanel && !(errorNode && this.view.hasStep(errorNode))) return;
    for (const el of this.root.querySelectorAll("[data-run-words]")) el.textContent = el.title = "";
  }

  #showWarnings(warnings) {
    const list = this.panel.querySelector("[data-run-warnings]");
    if (!list) return;
    const messages = {
      older: (name) => t("{name}: results are older than the current settings.", { name }),
      again: (name) => t("{name} runs again because an earlier node changed.", { name }),
    };
    list.replaceChildren(
      ...warnings.map(({ node, code }) => {
        const item = document.createElement("li");
        item.textContent = messages[code]?.(getNodeName(this.editor, node)) ?? code;
        return item;
      }),
    );
    list.hidden = !warnings.length;
  }

  /** Fetch the memory of the run and what the workflow knows when the panel is visible, and again after memory events. */
  #refreshMemory() {
    const panel = this.root.querySelector("#panel-memory");
    if (!panel) return;
    clearTimeout(this.#memoryTimer);
    this.#memoryTimer = setTimeout(() => {
      if (this.editor.panels.getVisiblePanel("dock") !== "memory") return;
      if (this.run) window.htmx.ajax("GET", this.#address("memory"), { target: panel.querySelector("[data-run-memory]"), swap: "innerHTML" });
      window.htmx.ajax("GET", this.#knownAddress, { target: panel.querySelector("[data-known-memory]"), swap: "innerHTML" });
    }, MEMORY_DELAY);
  }

  /** Return the address of what the workflow knows about the person, conversation and group that the panel shows. */
  get #knownAddress() {
    const query = new URLSearchParams();
    for (const name of ["person", "conversation", "sys.group_id"]) {
      const value = this.form?.elements[name]?.value;
      if (value) query.set(name, value);
    }
    return `${this.editor.urls.known_memory}?${query}`;
  }

  /** Show what the run asks, unless the chat or the run's own card beside it shows it already. */
  #refreshQuestions() {
    const slot = this.panel.querySelector("[data-run-questions]");
    if (!slot || !this.run || this.isOld) return;
    clearTimeout(this.#questionsTimer);
    this.#questionsTimer = setTimeout(() => {
      const shown = document.getElementById(`questions-${this.run}`);
      if (shown && !slot.contains(shown)) return;
      window.htmx.ajax("GET", this.#address("waits"), { target: slot, swap: "innerHTML" });
    }, QUESTIONS_DELAY);
  }

  #refreshList() {
    const card = this.panel.querySelector("#runs-card");
    if (card && this.editor.urls.run_list) window.htmx.ajax("GET", this.editor.urls.run_list, { target: card, swap: "outerHTML" });
  }

  // ——— events

  #listen() {
    this.root.addEventListener("run-following", (event) => this.#onFollowing(event));
    this.root.addEventListener("run-event", (event) => this.#onEvent(event));
    this.root.addEventListener("click", (event) => this.#onClick(event));
    // Captured: the options must be in the form before htmx reads it.
    this.panel.addEventListener("submit", (event) => this.#onSubmit(event), true);
    this.log?.addEventListener("input", () => this.#filter());
    this.log?.addEventListener("change", () => this.#filter());
    this.editor.addEventListener("panel", ({ detail }) => detail.name === "memory" && this.#refreshMemory());
    this.panel.querySelector("[data-sandbox]")?.addEventListener("change", (event) => {
      this.panel.querySelector("[data-sandbox-hint]").hidden = !event.target.checked;
    });
  }

  /** A form or a chat began a run with its own stream, which delivers the events. */
  #onFollowing(event) {
    const { run } = event.detail;
    this.#markSeen(run, event.target.dataset.seen);
    if (event.target === this.stream || run === this.#lastId) return;
    this.stream?.stop?.();
    const page = buildAddress(this.editor.urls.run_place, run);
    this.#begin(run, page);
    const turn = this.panel.querySelector(`[data-why="${CSS.escape(run)}"]`) ?? event.target;
    this.view.pinned = new Set(getPinned(turn));
    this.view.status = event.target.dataset.status || "queued";
    this.isOld = !this.isLive; // the page shows an ended run again
    if (!this.isOld) this.editor.panels.offer("dock");
    this.#showWarnings([]);
    this.#showState();
  }

  #onSubmit(event) {
    if (event.target !== this.form) return;
    let field = event.target.querySelector("input[name=debug]");
    if (!field) {
      field = Object.assign(document.createElement("input"), { type: "hidden", name: "debug" });
      event.target.append(field);
    }
    field.value = JSON.stringify(this.options());
  }

  #onClick(event) {
    const part = event.target.closest("[data-run-node]");
    if (part) {
      this.editor.canvas.pick([part.dataset.node]);
      this.editor.commands.run(part.dataset.runNode);
      return;
    }
    const openItem = event.target.closest("[data-open-run]");
    if (openItem) {
      const { openRun: id, events, page, status, seen } = openItem.dataset;
      openItem.closest("details")?.removeAttribute("open");
      this.open({ id, events, page, status, seen, pinned: getPinned(openItem) });
      return;
    }
    const why = event.target.closest("[data-why]");
    if (why && !event.metaKey && !event.ctrlKey) {
      event.preventDefault();
      const { why: id, events, status } = why.dataset;
      this.explanation.toggle(why, { id, events, status, page: why.href, pinned: getPinned(why) });
      return;
    }
    const decide = event.target.closest("[data-decide]");
    if (decide && !event.metaKey && !event.ctrlKey) {
      event.preventDefault();
      const { decide: id, events } = decide.dataset;
      if (this.run === id) this.editor.panel("memory");
      else this.open({ id, events, page: decide.href, status: "succeeded", pinned: getPinned(decide) }, { focus: "memory" });
      return;
    }
    const step = event.target.closest("[data-step], [data-select-node]");
    if (step) this.#selectNode(step.dataset.selectNode ?? step.closest("[data-node]").dataset.node);
  }

  #selectNode(node) {
    this.editor.canvas.focus(node);
    this.editor.emit("open", { id: node, tab: "last", keepFocus: true });
  }

  #filter() {
    this.view.filter(this.log.querySelector("[data-log-filter]").value, this.log.querySelector("[data-log-search]").value);
  }

  #commands() {
    const isNodeSelected = (e) => getOnlySelectedNode(e) && !getOnlySelectedNode(e).isNote;
    const part = (extent) => (e) => this.part(extent, getOnlySelectedNode(e).id);
    this.editor.commands.add(
      { id: "run", label: t("Run workflow"), keys: "Mod+Enter", group: "run", anywhere: true, run: () => this.start() },
      { id: "start-stepping", label: t("Step through"), group: "run", run: () => this.start({ step: true }) },
      { id: "run-node", label: t("Run this node"), group: "run", menu: ["node"], when: isNodeSelected, run: part("only") },
      { id: "run-until", label: t("Run to here"), group: "run", menu: ["node"], when: isNodeSelected, run: part("until") },
      { id: "run-from", label: t("Run from here"), group: "run", menu: ["node"], when: isNodeSelected, run: part("from") },
      { id: "toggle-breakpoint", label: () => (this.breakpoints.has(getSelectedNodes(this.editor)) ? t("Remove breakpoint") : t("Set breakpoint")), words: "breakpoint pause debug", keys: "F9", group: "run", menu: ["node"], when: (e) => e.selection.size > 0, run: () => this.breakpoints.toggle() },
      { id: "clear-breakpoints", label: t("Remove all breakpoints"), group: "run", when: () => this.breakpoints.all.size > 0, run: () => this.breakpoints.clear() },
      { id: "continue", label: t("Continue"), keys: "F8", group: "run", anywhere: true, when: () => this.isPaused, run: () => this.resume("continue") },
      { id: "step", label: t("Step"), keys: "F10", group: "run", anywhere: true, when: () => this.isPaused, run: () => this.resume("step") },
      { id: "stop", label: t("Stop run"), keys: "Shift+F8", group: "run", anywhere: true, when: () => this.isLive, run: () => this.resume("stop") },
      { id: "clear-run", label: t("Clear run from canvas"), group: "run", when: () => Boolean(this.run), run: () => this.#clear() },
      { id: "show-log", label: t("Show log"), group: "run", run: () => this.editor.panel("log") },
      { id: "show-memory", label: t("Show memory of the run"), group: "run", run: () => this.editor.panel("memory") },
    );
  }

  #clear() {
    this.view.reset();
    this.#showMessage("");
    this.#showWarnings([]);
    this.#showState();
  }
}
