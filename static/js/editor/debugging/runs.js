// Running from the editor: the whole, one node, up to or from here; the strip that says how it is going;
// pauses; the log and memory in the dock; earlier runs. What a run does comes from its events alone.

import { addressOf } from "./address.js";
import { Breakpoints } from "./breakpoints.js";
import { chosenNodes, nameOf, only } from "./graph.js";
import { askForValues } from "./run_needs.js";
import { RunView, stateWord } from "./run_view.js";
import { t } from "./words.js";

const LIVE = new Set(["queued", "running", "paused"]);
const MEMORY_WAITS = 400; // ms in which more memory events may come

export function install(editor) {
  if (editor.root.dataset.canRun !== "yes") return;
  editor.runs = new Runs(editor);
}

const pinnedBy = (element) => (element.dataset.pinned ?? "").split(" ").filter(Boolean);

class Runs {
  #memoryTimer = 0;
  #seen = "";

  constructor(editor) {
    this.editor = editor;
    this.root = editor.root;
    this.panel = this.root.querySelector("#panel-run");
    this.log = this.root.querySelector("#panel-log");
    this.stream = this.log?.querySelector("[data-follow]");
    this.view = new RunView(editor, this.log);
    this.breakpoints = new Breakpoints(editor);
    this.stepping = false;
    this.isOld = false;
    this.#commands();
    this.#listen();
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

  /** What goes with every run from here. */
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
    this.editor.panel("run");
    const { form } = this;
    if (!form) return;
    this.stepping = step;
    const box = form.querySelector("textarea[name=query]");
    if (box && !box.value.trim()) {
      box.focus();
      this.editor.say(t("Say something first."));
      return;
    }
    form.requestSubmit();
  }

  /** A part of the workflow, as a run of its own. */
  async part(extent, node, values) {
    const reuse = this.run && !this.isLive ? this.run : this.#lastRun();
    const asked = this.options({ [extent]: [node], breakpoints: extent === "only" ? [] : this.breakpoints.list() });
    if (reuse && (extent !== "until" || !this.form?.checkValidity?.() || this.#isChat)) asked.reuse = reuse;
    if (values) asked.values = values;
    const body = new FormData(this.form ?? undefined);
    body.set("debug", JSON.stringify(asked));
    const answer = await this.#post(this.editor.urls.try, body);
    if (answer.ok && !answer.data.error) return this.open(answer.data, { warnings: answer.data.warnings });
    const { error } = answer.data;
    if (error?.needs_values) {
      this.editor.panel("run");
      askForValues(this.panel, this.editor, error.problems, (given) => this.part(extent, node, given));
      return undefined;
    }
    return this.#refused(error);
  }

  get #isChat() {
    return this.root.dataset.mode === "advanced-chat" || this.root.dataset.mode === "chat";
  }

  #lastRun() {
    return this.panel.querySelector("[data-open-run]")?.dataset.openRun ?? "";
  }

  #refused(error) {
    const about = error?.problems?.find((problem) => problem.field);
    const said = about ? `${about.field}: ${about.message}` : (error?.message ?? t("It didn't start."));
    this.editor.panel("run");
    this.#words(said);
    this.editor.say(said);
  }

  // ——— following

  /** Paint the canvas with a run, from its first event on. */
  open(run, { warnings = [], focus = "log" } = {}) {
    this.#begin(run.id, run.page);
    this.view.pinned = new Set(run.pinned ?? []);
    this.view.status = run.status ?? "queued";
    this.isOld = !this.isLive; // told again, not happening
    this.#warn(warnings);
    if (focus) this.editor.panel(focus);
    this.stream?.follow(run.events);
    this.#show();
  }

  #begin(id, page) {
    this.view.reset();
    this.view.run = id;
    this.#seen = id;
    this.root.dataset.runId = id;
    this.stepping = false;
    this.log?.querySelector("[data-log-empty]")?.setAttribute("hidden", "");
    for (const link of this.root.querySelectorAll("[data-run-page]")) {
      link.href = page ?? "#";
      link.hidden = !page;
    }
    for (const button of this.panel.querySelectorAll("[data-save-case]")) button.dataset.saveCase = id;
    this.#memory(true);
    this.editor.emit("run", { id });
  }

  #hear(event) {
    const { run, name, data } = event.detail;
    if (run !== this.run) return;
    this.view.hear(name, data);
    if (name.startsWith("memory_")) this.#memory();
    if (name === "run_paused") this.#paused(data);
    if (name === "run_finished") this.#finished(data);
    if (name.startsWith("run_")) this.#show();
  }

  #paused({ nodes, reason }) {
    const names = nodes.map((id) => nameOf(this.editor, id)).join(", ");
    const said = reason === "step" ? t("Next: {names}", { names }) : t("Paused before {names}", { names });
    this.#words(said);
    this.editor.say(said);
    if (nodes[0]) this.editor.canvas.reveal(nodes[0]);
    this.#memory();
    this.editor.emit("run", { id: this.run, status: "paused" }); // what is shown of it elsewhere is old
  }

  #finished(data) {
    this.#words(data.error ? `${data.error_node ? `${nameOf(this.editor, data.error_node)}: ` : ""}${data.error}` : "");
    this.#memory();
    if (!this.isOld) {
      this.editor.say(t("The run is over: {state}", { state: stateWord(data.status) }));
      this.#list();
    }
    this.editor.emit("run", { id: this.run, status: data.status });
    this.editor.emit("run-over", { id: this.run, status: data.status });
  }

  /** Answers "why": the steps behind a turn, and the node that spoke. */
  why(run) {
    const opened = () => {
      const node = this.view.culprit();
      if (!node) return;
      this.editor.canvas.focus(node);
      this.editor.emit("open", { id: node, tab: "last" });
      this.editor.panel("log");
      this.#memory(true);
    };
    if (this.run === run.id && !this.isLive) return opened();
    this.editor.addEventListener("run-over", opened, { once: true });
    return this.open({ status: "succeeded", ...run });
  }

  // ——— going on

  async resume(mode) {
    if (!this.run) return;
    if (mode === "stop" && !this.isPaused) return this.#stop();
    const body = new FormData();
    body.set("mode", mode);
    body.set("breakpoints", "1");
    for (const id of this.breakpoints.list()) body.append("breakpoint", id);
    const answer = await this.#post(this.#address("resume"), body);
    if (!answer.ok) return this.#refused(answer.data.error);
    this.#words("");
    return undefined;
  }

  #stop() {
    return this.#post(this.#address("cancel"), new FormData());
  }

  #address(what) {
    return addressOf(this.editor.urls.run_place, this.run) + `${what}/`;
  }

  async #post(address, body) {
    const token = JSON.parse(document.body.getAttribute("hx-headers:inherited") ?? "{}")["X-CSRFToken"];
    const response = await fetch(address, { method: "POST", body, headers: { "X-CSRFToken": token, Accept: "application/json" } });
    const isJson = response.headers.get("content-type")?.includes("json");
    return { ok: response.ok, data: isJson ? await response.json() : {} };
  }

  // ——— what is seen of it

  #show() {
    const { status } = this.view;
    for (const pill of this.root.querySelectorAll("[data-run-state]")) {
      pill.hidden = !status;
      pill.textContent = stateWord(status);
      pill.dataset.status = status;
    }
    for (const box of this.root.querySelectorAll("[data-run-now]")) box.hidden = !status;
    for (const id of ["continue", "step"]) this.#offer(id, this.isPaused);
    this.#offer("stop", this.isLive);
    for (const button of this.panel.querySelectorAll("[data-save-case]")) button.hidden = !this.editor.canEdit || this.isLive || !this.editor.urls.tests;
    this.root.dataset.run = status;
  }

  #offer(command, on) {
    for (const button of this.root.querySelectorAll(`.run-now [data-command="${command}"], .log-bar [data-command="${command}"]`)) button.hidden = !on;
  }

  #words(text) {
    for (const el of this.root.querySelectorAll("[data-run-words]")) {
      el.textContent = text;
      el.title = text;
    }
    if (text) for (const box of this.root.querySelectorAll("[data-run-now]")) box.hidden = false;
  }

  #warn(warnings) {
    const list = this.panel.querySelector("[data-run-warnings]");
    if (!list) return;
    const said = {
      older: (name) => t("{name}: its results are older than its settings.", { name }),
      again: (name) => t("{name} runs again: the way to it has changed.", { name }),
    };
    list.replaceChildren(
      ...warnings.map(({ node, code }) => {
        const item = document.createElement("li");
        item.textContent = said[code]?.(nameOf(this.editor, node)) ?? code;
        return item;
      }),
    );
    list.hidden = !warnings.length;
  }

  /** The dock's memory: asked for when it is seen, and again when something was remembered. */
  #memory(fresh = false) {
    const panel = this.root.querySelector("#panel-memory");
    if (!panel || !this.run) return;
    if (fresh) panel.dataset.run = "";
    clearTimeout(this.#memoryTimer);
    this.#memoryTimer = setTimeout(() => {
      if (this.editor.panels.shown("dock") !== "memory") {
        panel.dataset.run = "";
        return;
      }
      panel.dataset.run = this.run;
      window.htmx.ajax("GET", this.#address("memory"), { target: panel, swap: "innerHTML" });
    }, MEMORY_WAITS);
  }

  #list() {
    const card = this.panel.querySelector("#runs-card");
    if (card && this.editor.urls.run_list) window.htmx.ajax("GET", this.editor.urls.run_list, { target: card, swap: "outerHTML" });
  }

  // ——— who asks for it

  #listen() {
    this.root.addEventListener("run-following", (event) => this.#followed(event));
    this.root.addEventListener("run-event", (event) => this.#hear(event));
    this.root.addEventListener("click", (event) => this.#click(event));
    // Captured: the options must be in the form before htmx reads it.
    this.panel.addEventListener("submit", (event) => this.#submitting(event), true);
    this.log?.addEventListener("input", () => this.#filter());
    this.log?.addEventListener("change", () => this.#filter());
    this.editor.addEventListener("panel", ({ detail }) => detail.name === "memory" && this.#memory(true));
    this.panel.querySelector("[data-sandbox]")?.addEventListener("change", (event) => {
      this.panel.querySelector("[data-sandbox-hint]").hidden = !event.target.checked;
    });
  }

  /** A form or a chat began a run by itself: its own stream tells, and nobody else needs to ask. */
  #followed(event) {
    const { run } = event.detail;
    if (event.target === this.stream || run === this.#seen) return;
    this.stream?.stop?.();
    const place = addressOf(this.editor.urls.run_place, run);
    this.#begin(run, place);
    const turn = this.panel.querySelector(`[data-why="${CSS.escape(run)}"]`) ?? event.target;
    this.view.pinned = new Set(pinnedBy(turn));
    this.view.status = "queued";
    this.isOld = false;
    this.#warn([]);
    this.#show();
  }

  #submitting(event) {
    if (event.target !== this.form) return;
    let field = event.target.querySelector("input[name=debug]");
    if (!field) {
      field = Object.assign(document.createElement("input"), { type: "hidden", name: "debug" });
      event.target.append(field);
    }
    field.value = JSON.stringify(this.options());
  }

  #click(event) {
    const part = event.target.closest("[data-run-node]");
    if (part) {
      this.editor.canvas.pick([part.dataset.node]);
      this.editor.commands.run(part.dataset.runNode);
      return;
    }
    const old = event.target.closest("[data-open-run]");
    if (old) {
      const { openRun: id, events, page, status } = old.dataset;
      old.closest("details")?.removeAttribute("open");
      this.open({ id, events, page, status, pinned: pinnedBy(old) });
      return;
    }
    const why = event.target.closest("[data-why]");
    if (why && !event.metaKey && !event.ctrlKey) {
      event.preventDefault();
      const { why: id, events } = why.dataset;
      this.why({ id, events, page: why.href, pinned: pinnedBy(why) });
      return;
    }
    const decide = event.target.closest("[data-decide]");
    if (decide && !event.metaKey && !event.ctrlKey) {
      event.preventDefault();
      const { decide: id, events } = decide.dataset;
      if (this.run === id) this.editor.panel("memory");
      else this.open({ id, events, page: decide.href, status: "succeeded", pinned: pinnedBy(decide) }, { focus: "memory" });
      return;
    }
    const step = event.target.closest("[data-step], [data-select-node]");
    if (step) this.#select(step.dataset.selectNode ?? step.closest("[data-node]").dataset.node);
  }

  #select(node) {
    this.editor.canvas.focus(node);
    this.editor.emit("open", { id: node, tab: "last", keepFocus: true });
  }

  #filter() {
    this.view.filter(this.log.querySelector("[data-log-filter]").value, this.log.querySelector("[data-log-search]").value);
  }

  #commands() {
    const chosen = (e) => only(e) && !only(e).isNote;
    const part = (extent) => (e) => this.part(extent, only(e).id);
    this.editor.commands.add(
      { id: "run", label: t("Run the workflow"), keys: "Mod+Enter", group: "run", anywhere: true, run: () => this.start() },
      { id: "start-stepping", label: t("Run step by step"), group: "run", run: () => this.start({ step: true }) },
      { id: "run-node", label: t("Run this node"), group: "run", menu: ["node"], when: chosen, run: part("only") },
      { id: "run-until", label: t("Run up to here"), group: "run", menu: ["node"], when: chosen, run: part("until") },
      { id: "run-from", label: t("Run from here"), group: "run", menu: ["node"], when: chosen, run: part("from") },
      { id: "toggle-breakpoint", label: () => (this.breakpoints.has(chosenNodes(this.editor)) ? t("Remove the breakpoint") : t("Set a breakpoint: pause before it")), words: "breakpoint pause debug", keys: "F9", group: "run", menu: ["node"], when: (e) => e.selection.size > 0, run: () => this.breakpoints.toggle() },
      { id: "clear-breakpoints", label: t("Remove all breakpoints"), group: "run", when: () => this.breakpoints.all.size > 0, run: () => this.breakpoints.clear() },
      { id: "continue", label: t("Continue"), keys: "F8", group: "run", anywhere: true, when: () => this.isPaused, run: () => this.resume("continue") },
      { id: "step", label: t("Step"), keys: "F10", group: "run", anywhere: true, when: () => this.isPaused, run: () => this.resume("step") },
      { id: "stop", label: t("Stop the run"), keys: "Shift+F8", group: "run", anywhere: true, when: () => this.isLive, run: () => this.resume("stop") },
      { id: "clear-run", label: t("Take the run off the canvas"), group: "run", when: () => Boolean(this.run), run: () => this.#clear() },
      { id: "show-log", label: t("Show the log"), group: "run", run: () => this.editor.panel("log") },
      { id: "show-memory", label: t("Show the memory of the run"), group: "run", run: () => this.editor.panel("memory") },
    );
  }

  #clear() {
    this.view.reset();
    this.#words("");
    this.#warn([]);
    this.#show();
  }
}
