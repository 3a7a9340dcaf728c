// Shows one run in the editor: its steps in the log, its states on the canvas. It handles the events in their order.

import { getFamily, getOfferName } from "../canvas/node_offers.js";
import { Previews, createLabel } from "./edge_previews.js";
import { getNodeName, nameNodes } from "../graph_queries.js";
import { formatBytes, formatSeconds } from "../../common/format.js";
import { hideReasoning } from "../../common/reasoning.js";
import { describeWait, getState } from "../../canvas/view/node_state.js";
import { t } from "../../common/translations.js";

const BAD = new Set(["failed", "partial"]);
const EMPTY = 2; // bytes of an empty output
// Parts of an agent's step that are calls → their labels.
const CALLS = {
  "agent-model": () => t("Model"),
  "agent-tool": (title) => title,
  "agent-question": () => t("Question"),
};

/** Return the number of the call's round, or of its to-do and step. */
function getCallNumber(part) {
  const [first, second, third] = part.split(".");
  if (first === "todo") return `${second}.${third}.`;
  if (first === "simple") return `${Number(second) + 1}.`;
  return /^\d+$/.test(first) ? `${first}.` : { plan: t("Plan"), answer: t("Answer") }[first] ?? "";
}

export class RunView {
  constructor(editor, log) {
    this.editor = editor;
    this.rows = log?.querySelector("[data-log-rows]");
    this.template = document.getElementById("log-row");
    this.log = log;
    this.previews = new Previews(editor, (node) => this.#label(node));
    this.reset();
  }

  reset() {
    this.run = "";
    this.status = "";
    this.began = 0;
    this.pinned = new Set(); // nodes with pinned outputs
    this.longest = 0.001;
    this.failedNode = "";
    this.steps = new Map();
    this.texts = new Map();
    this.sizes = new Map(); // node → label data of its edges before a preview is known
    this.previews.reset("");
    this.rows?.replaceChildren();
    this.editor.canvas.clearPaint();
  }

  handle(name, data) {
    this[`on_${name}`]?.(data);
  }

  on_run_started() {
    this.status = "running";
  }

  on_node_state_change(data) {
    if (this.status === "paused" && data.status === "running") this.on_run_resumed(); // a delay has ended
    if (!data.reused) this.began ||= data.at; // reused steps ran earlier
    this.#paint(data);
    this.#updateLog(data);
    this.editor.emit("node-state", data);
  }

  /** Show a call of an agent as a row of the log, below those of its step. */
  on_agent_log(data) {
    const { part, kind, title } = data;
    const label = CALLS[kind]?.(title);
    if (!label) return;
    this.#updateLog({ ...data, title: `↳ ${getCallNumber(part)} ${label}`, kind: "agent" });
    if (data.status === "running") this.editor.canvas.paintNode(data.node, { text: label });
  }

  on_text_chunk({ source, text, offset }) {
    if (!source || offset === 0) this.texts.delete(source);
    if (!source) return;
    const answer = (this.texts.get(source) ?? "") + text;
    this.texts.set(source, answer);
    this.editor.canvas.paintNode(source, { text: hideReasoning(answer).slice(-60) });
  }

  on_run_paused({ nodes, reason }) {
    this.status = "paused";
    this.pauseReason = reason;
    this.pausedNodes = nodes;
  }

  /** Return whether the run continues with an answer or at a time, and not when somebody resumes it. */
  get isWaiting() {
    return this.pauseReason === "input" || this.pauseReason === "time";
  }

  on_run_resumed() {
    this.status = "running";
    for (const node of this.pausedNodes ?? []) this.editor.canvas.paintNode(node, { state: "idle", word: "", text: "" });
    this.pausedNodes = [];
  }

  on_step_edited({ node, size }) {
    this.editor.canvas.paintNode(node, { size: formatBytes(size) });
    this.#edges(node, { size, edited: true });
  }

  on_run_finished(data) {
    this.status = data.status;
    this.failedNode = data.error_node ?? "";
    if (this.failedNode) this.editor.canvas.paintNode(this.failedNode, { state: "failed", text: data.error });
  }

  // ——— canvas

  #paint(data) {
    const { node, status, elapsed, size, error, rounds } = data;
    const isInRound = rounds?.length;
    const wait = describeWait(data);
    this.editor.canvas.paintNode(node, {
      state: getState(data),
      time: elapsed == null ? "" : formatSeconds(elapsed),
      size: status === "completed" ? formatBytes(size) : "",
      word: wait.word,
      text: error ?? (wait.text || (isInRound ? t("round {n}", { n: rounds.at(-1) + 1 }) : "")),
    });
    if (status === "completed" || status === "failed") this.#edges(node, data);
    if (status === "skipped") for (const edge of this.#edgesFrom(node)) this.editor.canvas.paintEdge(edge.id, { taken: false, text: "" });
  }

  #edges(node, { size, items, handle, status, edited }) {
    const takenHandle = edited ? null : handle;
    const notTaken = new Set();
    for (const edge of this.#edgesFrom(node)) {
      const isTaken = edited ? undefined : this.#isTaken(edge, takenHandle, status);
      if (isTaken === false) notTaken.add(edge.id);
      if (isTaken !== undefined) this.editor.canvas.paintEdge(edge.id, isTaken === false ? { taken: isTaken, text: "" } : { taken: isTaken });
    }
    const previous = this.sizes.get(node);
    this.sizes.set(node, { count: items == null ? "" : items === 1 ? t("1 item") : t("{n} items", { n: items }), size: formatBytes(size), notTaken: edited ? (previous?.notTaken ?? notTaken) : notTaken });
    if (this.previews.run !== this.run) this.previews.reset(this.run);
    if (size > EMPTY && items !== 0) this.previews.request(node);
    this.#label(node);
  }

  /** Label the edges with a preview and the size of the data; edges without data have no label. */
  #label(node) {
    const label = this.sizes.get(node);
    if (!label) return;
    const paint = createLabel(label, this.previews.get(node));
    for (const edge of this.#edgesFrom(node)) if (!label.notTaken.has(edge.id)) this.editor.canvas.paintEdge(edge.id, paint);
  }

  #isTaken(edge, handle, status) {
    if (handle != null) return edge.fp === handle;
    return status === "completed" ? edge.fp !== "fail-branch" : null;
  }

  #edgesFrom(node) {
    return [...this.editor.model.edges.values()].filter((edge) => edge.from === node);
  }

  // ——— log

  #updateLog(data) {
    if (!this.rows || !this.template) return;
    const key = `${data.node}@${(data.rounds ?? []).join(".")}#${data.part ?? ""}`;
    let step = this.steps.get(key);
    if (!step) {
      const el = this.template.content.firstElementChild.cloneNode(true);
      step = { el, at: data.at, node: data.node };
      this.steps.set(key, step);
      this.rows.append(el);
      el.dataset.node = data.node;
    }
    if (data.status === "running" || data.status === "retrying") step.at = step.ran ?? data.at;
    if (data.status === "running") step.ran = data.at;
    step.kind = data.kind || step.kind;
    step.elapsed = data.elapsed ?? step.elapsed;
    const { el } = step;
    const put = (name, text) => (el.querySelector(`[data-${name}]`).textContent = text);
    const state = getState(data);
    el.dataset.state = state;
    el.dataset.kind = step.kind ?? "";
    const words = describeWait(data).word || getStateLabel(state);
    put("state-words", words);
    el.querySelector("[data-state-words]").title = words; // its column is narrow
    put("title", (data.title || getName(this.editor, data.node, step.kind)) + ((data.rounds ?? []).length ? ` · ${data.rounds.map((n) => n + 1).join(".")}` : ""));
    put("kind", step.kind ? getOfferName(this.editor, step.kind) : "");
    put("at", data.reused ? "" : `+${formatSeconds(Math.max(0, step.at - this.began))}`);
    put("time", data.elapsed == null ? "" : formatSeconds(data.elapsed));
    put("tokens", data.tokens ? t("{n} tokens", { n: data.tokens }) : "");
    put("size", data.status === "completed" ? formatBytes(data.size) : "");
    put("marks", [data.model && getModelName(data.model), this.pinned.has(data.node) && t("Pinned"), data.reused && t("Reused"), data.attempt > 1 && t("Attempt {n}", { n: data.attempt })].filter(Boolean).join(" · "));
    const error = el.querySelector("[data-error]");
    error.hidden = !data.error;
    error.textContent = nameNodes(this.editor, data.error ?? "");
    this.#drawLine(step, data);
  }

  /** Draw the duration of the step; all lines are scaled when the run gets longer. */
  #drawLine(step, data) {
    if (data.reused) return;
    const end = (step.ran ?? step.at) - this.began + (data.elapsed ?? 0);
    if (end > this.longest) {
      this.longest = end;
      for (const otherStep of this.steps.values()) this.#scaleLine(otherStep);
    }
    this.#scaleLine(step);
  }

  #scaleLine(step) {
    const rect = step.el.querySelector("[data-line]");
    const start = ((step.at - this.began) / this.longest) * 100;
    rect.setAttribute("x", String(Math.max(0, Math.min(99, start))));
    rect.setAttribute("width", String(Math.max(1, ((step.elapsed ?? 0) / this.longest) * 100)));
  }

  filter(which, words) {
    const needle = words.trim().toLowerCase();
    for (const { el, elapsed, kind = "" } of this.steps.values()) {
      const matches = {
        failed: () => BAD.has(el.dataset.state),
        model: () => getFamily(this.editor, kind) === "model",
        memory: () => getFamily(this.editor, kind) === "memory",
        slow: () => (elapsed ?? 0) >= 1,
      }[which]?.() ?? true;
      el.hidden = !matches || (needle !== "" && !el.textContent.toLowerCase().includes(needle));
    }
  }

  /** Leave the error of a node's steps out of the log, where it is only shown when somebody points at a step. */
  hideError(node) {
    for (const step of this.steps.values()) {
      if (step.node !== node) continue;
      const error = step.el.querySelector("[data-error]");
      step.el.title = error.textContent;
      error.hidden = true;
    }
  }

  hasStep(node) {
    return [...this.steps.values()].some((step) => step.node === node);
  }

  /**
   * Return the node that failed the run, or the one that made the answer: the last model or sub-workflow that answered, or
   * the last that ran.
   */
  findAnswerStep() {
    if (this.failedNode) return this.failedNode;
    const all = [...this.steps.values()].filter(({ el }) => ["completed", "partial", "failed"].includes(el.dataset.state));
    const answers = ({ kind }) => getFamily(this.editor, kind) === "model" || kind === "sub-workflow";
    return all.findLast(answers)?.node ?? all.at(-1)?.node;
  }
}

/** Return the name of a node without a title, such as the start of a container: that on the canvas, or that of its type. */
function getName(editor, id, kind) {
  const name = getNodeName(editor, id);
  return name === id && kind ? getOfferName(editor, kind) : name;
}

/** Return the name of the model that a step asked, as the run's page has it. */
function getModelName(model) {
  return model.startsWith("offline/") ? t("Offline demo model") : model;
}

/** Return the announcement at the end of a run. */
export function getEndMessage(status) {
  const messages = {
    succeeded: () => t("Run succeeded"),
    "partial-succeeded": () => t("Run partially succeeded"),
    failed: () => t("Run failed"),
    stopped: () => t("Run stopped"),
  };
  return messages[status]?.() ?? getStateLabel(status);
}

export function getStateLabel(status) {
  const words = {
    running: () => t("Running"),
    completed: () => t("Succeeded"),
    partial: () => t("Partially succeeded"),
    failed: () => t("Failed"),
    skipped: () => t("Skipped"),
    paused: () => t("Paused"),
    retrying: () => t("Retrying"),
    stopped: () => t("Stopped"),
    succeeded: () => t("Succeeded"),
    "partial-succeeded": () => t("Partially succeeded"),
    queued: () => t("Queued"),
  };
  return words[status]?.() ?? status;
}
