// One run as the editor shows it: its steps in the log, its states on the canvas. Fed with events, in order.

import { nameOfKind } from "./offering.js";
import { Previews, labelled } from "./previews.js";
import { bytes, seconds } from "./units.js";
import { t } from "./words.js";

const BAD = new Set(["failed"]);
const EMPTY = 2; // bytes of outputs without anything in them

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
    this.pinned = new Set(); // nodes that gave what is pinned to them
    this.longest = 0.001;
    this.steps = new Map();
    this.texts = new Map();
    this.sizes = new Map(); // node → what its edges say of the data before it is known
    this.previews.reset("");
    this.rows?.replaceChildren();
    this.editor.canvas.clearPaint();
  }

  hear(name, data) {
    this[`on_${name}`]?.(data);
  }

  on_run_started() {
    this.status = "running";
  }

  on_node_state_change(data) {
    if (!data.reused) this.began ||= data.at; // what was kept ran long before
    this.#paint(data);
    this.#write(data);
    this.editor.emit("node-state", data);
  }

  on_text_chunk({ source, text, offset }) {
    if (!source || offset === 0) this.texts.delete(source);
    if (!source) return;
    const said = (this.texts.get(source) ?? "") + text;
    this.texts.set(source, said);
    this.editor.canvas.paintNode(source, { text: said.slice(-60) });
  }

  on_run_paused({ nodes }) {
    this.status = "paused";
    this.held = nodes;
  }

  on_run_resumed() {
    this.status = "running";
    for (const node of this.held ?? []) this.editor.canvas.paintNode(node, { state: "idle" });
    this.held = [];
  }

  on_step_edited({ node, size }) {
    this.editor.canvas.paintNode(node, { size: bytes(size) });
    this.#edges(node, { size, edited: true });
  }

  on_run_finished(data) {
    this.status = data.status;
  }

  // ——— canvas

  #paint(data) {
    const { node, status, elapsed, size, error, rounds } = data;
    const inside = rounds?.length;
    this.editor.canvas.paintNode(node, {
      state: status,
      time: elapsed == null ? "" : seconds(elapsed),
      size: status === "completed" ? bytes(size) : "",
      text: error ?? (inside ? t("round {n}", { n: rounds.at(-1) + 1 }) : ""),
    });
    if (status === "completed" || status === "failed") this.#edges(node, data);
    if (status === "skipped") for (const edge of this.#from(node)) this.editor.canvas.paintEdge(edge.id, { taken: false, text: "" });
  }

  #edges(node, { size, items, handle, status, edited }) {
    const chosen = edited ? null : handle;
    const away = new Set();
    for (const edge of this.#from(node)) {
      const taken = edited ? undefined : this.#takes(edge, chosen, status);
      if (taken === false) away.add(edge.id);
      if (taken !== undefined) this.editor.canvas.paintEdge(edge.id, taken === false ? { taken, text: "" } : { taken });
    }
    const before = this.sizes.get(node);
    this.sizes.set(node, { count: items == null ? "" : items === 1 ? t("one item") : t("{n} items", { n: items }), size: bytes(size), away: edited ? (before?.away ?? away) : away });
    if (this.previews.run !== this.run) this.previews.reset(this.run);
    if (size > EMPTY && items !== 0) this.previews.want(node);
    this.#label(node);
  }

  /** Beginning and size of what went along; nothing where nothing went. */
  #label(node) {
    const known = this.sizes.get(node);
    if (!known) return;
    const paint = labelled(known, this.previews.of(node));
    for (const edge of this.#from(node)) if (!known.away.has(edge.id)) this.editor.canvas.paintEdge(edge.id, paint);
  }

  #takes(edge, handle, status) {
    if (handle != null) return edge.fp === handle;
    return status === "completed" ? edge.fp !== "fail-branch" : null;
  }

  #from(node) {
    return [...this.editor.model.edges.values()].filter((edge) => edge.from === node);
  }

  // ——— log

  #write(data) {
    if (!this.rows || !this.template) return;
    const key = `${data.node}@${(data.rounds ?? []).join(".")}`;
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
    el.dataset.state = data.status;
    el.dataset.kind = step.kind ?? "";
    put("state-words", stateWord(data.status));
    put("title", (data.title || data.node) + ((data.rounds ?? []).length ? ` · ${data.rounds.map((n) => n + 1).join(".")}` : ""));
    put("kind", step.kind ? nameOfKind(this.editor, step.kind) : "");
    put("at", data.reused ? "" : `+${seconds(Math.max(0, step.at - this.began))}`);
    put("time", data.elapsed == null ? "" : seconds(data.elapsed));
    put("tokens", data.tokens ? t("{n} tokens", { n: data.tokens }) : "");
    put("size", data.status === "completed" ? bytes(data.size) : "");
    put("marks", [this.pinned.has(data.node) && t("pinned"), data.reused && t("kept"), data.attempt > 1 && t("try {n}", { n: data.attempt })].filter(Boolean).join(" · "));
    const error = el.querySelector("[data-error]");
    error.hidden = !data.error;
    error.textContent = data.error ?? "";
    this.#line(step, data);
  }

  /** The step's place in the run's time; all lines stretch when the run gets longer. */
  #line(step, data) {
    if (data.reused) return;
    const end = (step.ran ?? step.at) - this.began + (data.elapsed ?? 0);
    if (end > this.longest) {
      this.longest = end;
      for (const other of this.steps.values()) this.#stretch(other);
    }
    this.#stretch(step);
  }

  #stretch(step) {
    const rect = step.el.querySelector("[data-line]");
    const from = ((step.at - this.began) / this.longest) * 100;
    rect.setAttribute("x", String(Math.max(0, Math.min(99, from))));
    rect.setAttribute("width", String(Math.max(1, ((step.elapsed ?? 0) / this.longest) * 100)));
  }

  filter(which, words) {
    const wanted = words.trim().toLowerCase();
    for (const { el, elapsed, kind = "" } of this.steps.values()) {
      const fits = {
        failed: () => BAD.has(el.dataset.state),
        model: () => ["llm", "agent", "question-classifier", "parameter-extractor"].includes(kind),
        memory: () => kind.startsWith("memory") || kind.includes("memory"),
        slow: () => (elapsed ?? 0) >= 1,
      }[which]?.() ?? true;
      el.hidden = !fits || (wanted !== "" && !el.textContent.toLowerCase().includes(wanted));
    }
  }

  /** The step that made the answer: the last model that spoke, else the last node that ran. */
  culprit() {
    const all = [...this.steps.values()].filter(({ el }) => ["completed", "failed"].includes(el.dataset.state));
    return all.findLast(({ kind }) => ["llm", "agent"].includes(kind))?.node ?? all.at(-1)?.node;
  }
}

export function stateWord(status) {
  const words = {
    running: () => t("running"),
    completed: () => t("done"),
    failed: () => t("failed"),
    skipped: () => t("skipped"),
    paused: () => t("paused"),
    retrying: () => t("trying again"),
    stopped: () => t("stopped"),
    succeeded: () => t("succeeded"),
    "partial-succeeded": () => t("succeeded in part"),
    queued: () => t("waiting"),
  };
  return words[status]?.() ?? status;
}
