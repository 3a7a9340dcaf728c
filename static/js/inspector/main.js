// The panel at the right: shows what is chosen, keeps its form in step with everybody's edits, and leads to its fields.

import { ROOT } from "../editor/graph.js";
import { isNarrow } from "../editor/panels.js";
import { t } from "../editor/words.js";
import * as code from "./code.js";
import * as conditions from "./conditions.js";
import { CONTROL, pathOf, show } from "./controls.js";
import { Form } from "./form.js";
import * as http from "./http.js";
import * as lists from "./lists.js";
import * as looks from "./looks.js";
import { installOverview, setUpOverview } from "./overview.js";
import { pickFor } from "./picker.js";
import { Problems } from "./problems.js";
import * as schema from "./schema.js";
import { Tabs } from "./tabs.js";
import { get, read, same } from "./trees.js";
import { Variables, paint } from "./variables.js";
import { setUpWorkflow } from "./workflow.js";
import * as writing from "./writing.js";

const SOON = 350; // ms after somebody's edit before the form is asked for again
const PATIENCE = 600; // ms
const PARTS = [writing, code, conditions, schema, http, lists];
// What nobody's form shows.
const PLACES = new Set(["move", "resize"]);

export function install(editor) {
  editor.inspector = new Inspector(editor);
}

class Inspector {
  #chosen = null; // "node:…", "edge:…", "nodes:…" or "": what is shown
  #asked = null;
  #shown = Promise.resolve();
  #blocks = new Map(); // field → the HTML the server last gave for it
  #waiting = null;
  #isForeign = false; // whether fields may have to be exchanged, or only what is said about them

  constructor(editor) {
    this.editor = editor;
    this.root = editor.root.querySelector("#panel-node");
    this.variables = new Variables([]);
    this.problems = new Problems(this);
    this.tabs = new Tabs(this);
    lists.watch(this);
    looks.watch(this);
    installOverview(this);
    this.root.addEventListener("click", (event) => this.#pick(event));
    editor.addEventListener("selection", () => this.#follow());
    editor.addEventListener("scope", () => this.#follow());
    editor.addEventListener("change", (event) => this.#changed(event.detail));
    editor.addEventListener("open", (event) => this.open(event.detail));
    editor.addEventListener("panel", (event) => event.detail.name === "node" && this.#chosen === null && this.#show(this.#wanted()));
    editor.addEventListener("run", () => this.tabs.stale());
    editor.edits.ledger.addEventListener("change", () => this.form?.showMine());
    this.#follow();
  }

  get panel() {
    return this.root.querySelector("[data-inspector]");
  }

  get page() {
    return this.editor.root.dataset.page;
  }

  /** Show a node, and lead to one of its fields; who asked by key goes on in its settings, or stays where they are. */
  async open({ id, field = null, tab = null, focus = false, keepFocus = false }) {
    if (this.editor.model.nodes.get(id)?.isNote) return; // written in place
    this.editor.panel("node");
    await this.#show(this.editor.model.edges.has(id) ? `edge:${id}` : `node:${id}`);
    if (field) this.tabs.open("settings");
    if (tab) this.tabs.open(tab);
    this.problems.goTo(field, { keepFocus });
    if (focus && !field) this.#enter();
  }

  /** To the first thing that can be set; where there is none, or rows would be added first, to the tabs. */
  #enter() {
    const controls = [...this.root.querySelectorAll(".insp-form :is(input, select, textarea, button, summary)")];
    const settable = controls.find((control) => !control.disabled && control.checkVisibility());
    const isSafe = settable && !settable.matches("[data-row]"); // a key held a little long would add another
    (isSafe ? settable : this.root.querySelector("[data-tab][aria-selected=true]"))?.focus();
  }

  /** Everything in a new part of the form begins to work. */
  enhance(part) {
    for (const one of PARTS) one.enhance(part, this);
    for (const button of all(part, ".insp-variable")) paint(button, this.variables);
    if (!this.editor.canEdit) lock(part);
  }

  /** The whole fragment again; what is being typed stays, unless it is `drawn` anew. */
  async reload({ drawn = false } = {}) {
    clearTimeout(this.#waiting);
    const chosen = this.#chosen;
    const html = await this.#fetch(chosen);
    if (html === null || chosen !== this.#chosen) return;
    if (this.form?.isBusy) return this.#later(SOON, this.#isForeign);
    if (drawn) return this.#draw(html);
    const page = new DOMParser().parseFromString(html, "text/html");
    if (this.#isOld(page)) return this.#later(SOON, this.#isForeign);
    if (this.#chosen?.startsWith("node:") && this.panel?.dataset.inspector === "node") this.#merge(page);
    else if (!this.root.contains(document.activeElement)) this.#draw(html);
  }

  #wanted() {
    const chosen = [...this.editor.selection].filter((id) => !this.editor.model.nodes.get(id)?.isNote);
    if (chosen.length > 1) return `nodes:${chosen.filter((id) => this.editor.model.nodes.has(id)).join("\n")}`;
    if (chosen.length === 0) return this.editor.canvas.scope === ROOT ? "" : `node:${this.editor.canvas.scope}`; // what one looks into
    return this.editor.model.edges.has(chosen[0]) ? `edge:${chosen[0]}` : `node:${chosen[0]}`;
  }

  #follow() {
    const wanted = this.#wanted();
    if (wanted === this.#chosen) return;
    // Somebody who closed the panel, or sees one thing at a time, isn't taken there by a mere choice.
    if (wanted.startsWith("node:") && !isNarrow() && !this.editor.panels.isClosed("right") && this.#chosen !== null) this.editor.panel("node");
    this.#show(wanted);
  }

  /** Resolves once it is there, also for who asks a second time while it is on its way. */
  #show(wanted) {
    const isThere = wanted === this.#chosen && (this.panel || this.#asked);
    if (!isThere) this.#shown = this.#fetchAndDraw(wanted);
    return this.#shown;
  }

  /** Of two that are on their way only the later is drawn: the other would come under the hands of who types already. */
  async #fetchAndDraw(wanted) {
    clearTimeout(this.#waiting);
    this.#chosen = wanted;
    this.#asked?.abort();
    const asked = (this.#asked = new AbortController());
    await this.#settled();
    if (this.#asked !== asked) return;
    const html = await this.#fetch(wanted, asked.signal);
    if (this.#asked !== asked) return;
    this.#asked = null;
    if (this.#chosen !== wanted) return;
    if (html === null) {
      this.#chosen = null;
      return;
    }
    this.#draw(html);
  }

  /** What was typed in one node is what another may read: it gets a moment to arrive; a dead network isn't waited for. */
  async #settled() {
    const { edits } = this.editor;
    this.form?.flush();
    const end = performance.now() + PATIENCE;
    while (edits.state === "saving" && performance.now() < end) {
      await Promise.race([new Promise((resolve) => edits.addEventListener("state", resolve, { once: true })), new Promise((resolve) => setTimeout(resolve, PATIENCE))]);
    }
  }

  async #fetch(chosen, signal) {
    if (chosen === null) return null;
    const [kind, ...rest] = chosen.split(":");
    const id = rest.join(":");
    const url = new URL(kind === "node" ? `nodes/${encodeURIComponent(id)}/` : "inspector/", new URL(this.page, location.href));
    if (kind === "edge") url.searchParams.set("edge", id);
    if (kind === "nodes") for (const one of id.split("\n")) url.searchParams.append("node", one);
    try {
      return await looks.fragment(url, signal);
    } catch (error) {
      if (error.name !== "AbortError") console.warn("inspector", error);
      return null;
    }
  }

  #draw(html) {
    const fragment = document.createRange().createContextualFragment(html);
    this.#blocks = blocksOf(fragment);
    this.#isForeign = false;
    this.root.replaceChildren(fragment);
    this.form = null;
    this.held = read(this.root.querySelector("#insp-held")?.textContent ?? "", {});
    const kind = this.panel?.dataset.inspector;
    if (kind === "node") this.#setUpNode();
    else if (kind === "workflow") setUpWorkflow(this);
    else if (kind) setUpOverview(this);
    this.root.scrollTop = 0;
  }

  #setUpNode() {
    const { held, editor } = this;
    this.variables = new Variables(held.sources);
    this.form = new Form({
      editor,
      root: this.root.querySelector("[data-form]"),
      data: held.data,
      shown: held.shown,
      op: { op: "set", id: held.id },
      about: () => held.title || held.id,
    });
    this.form.addEventListener("saved", (event) => this.#saved(event.detail));
    this.form.addEventListener("refused", () => this.#later(0));
    this.form.showMine();
    this.enhance(this.panel);
    this.problems.show(held.problems);
    this.tabs.setUp();
    this.#setUpTitle();
  }

  #setUpTitle() {
    const title = this.root.querySelector(".insp-title");
    title.addEventListener("keydown", (event) => event.key === "Enter" && !event.isComposing && title.blur());
    title.addEventListener("change", () => {
      const wanted = title.value.trim();
      if (!wanted || wanted === this.held.title) return (title.value = this.held.title);
      this.held.title = wanted;
      this.editor.edits.send([{ op: "rename", id: this.held.id, title: wanted }], { label: t("Rename to {name}", { name: wanted }) });
    });
  }

  /** The form shows its own edits already; what they make of problems and variables, the server says. */
  #saved({ path, el }) {
    looks.refresh(this, path);
    if (el && "redraws" in el.dataset) this.#later(0);
    else if (!this.#isForeign) this.#later(SOON, false);
  }

  /** Drawn before what this tab has heard of since: it would take that back. */
  #isOld(page) {
    const held = read(page.querySelector("#insp-held")?.textContent ?? "", {});
    return held.revision < this.editor.edits.revision;
  }

  #changed(change) {
    if (this.#chosen === null) return;
    const id = this.held?.id;
    if (change.html?.gone?.includes(id)) return this.#show("");
    const news = (change.ops ?? []).filter((op) => !this.#isKnown(op, change));
    const own = news.filter((op) => op.id === id && op.path);
    if (this.form && id && own.length) this.form.clashes(own, change);
    if (change.resync || news.length) this.#later();
  }

  /**
   * Whether an operation says what the form shows already, as our own do. Of others' that can't be told from the form's
   * data: a reload may have brought these earlier than the change was heard of, and left alone what one was in.
   */
  #isKnown(op, change) {
    if (PLACES.has(op.op)) return true;
    if (change.client !== this.editor.edits.client) return false;
    if (this.panel?.dataset.inspector === "workflow") return op.op === "feature" && this.form && same(get(this.form.data, op.path), op.remove ? undefined : op.value);
    if (!this.form || op.id !== this.held?.id) return false;
    if (op.op === "rename") return op.title === this.held.title;
    if (op.op !== "set") return false;
    if (op.insert || (op.remove && typeof op.path.at(-1) === "number")) return this.form.isBusy;
    return same(get(this.form.data, op.path), op.remove ? undefined : op.value);
  }

  #later(pause = SOON, isForeign = true) {
    this.#isForeign ||= isForeign;
    clearTimeout(this.#waiting);
    this.#waiting = setTimeout(() => this.reload(), pause);
  }

  /** Field by field: what is the same stays, what differs is exchanged, unless somebody is in it. */
  #merge(page) {
    const held = read(page.querySelector("#insp-held").textContent, this.held);
    const blocks = blocksOf(page);
    this.held = held;
    this.form.receive(held.data, held.shown, held.revision);
    this.variables = new Variables(held.sources);
    if (this.#isForeign) this.#mergeFields(page, blocks);
    this.form.showMine();
    this.#isForeign = false;
    const title = this.root.querySelector(".insp-title");
    if (title !== document.activeElement) title.value = held.title;
    for (const tab of ["output", "docs"]) this.#swapTab(page, tab);
    for (const button of this.root.querySelectorAll(".insp-variable")) paint(button, this.variables);
    writing.repaint(this.root, this.variables);
    this.problems.show(held.problems);
    this.tabs.refresh();
  }

  #mergeFields(page, blocks) {
    for (const [field, html] of blocks) {
      const block = this.#block(field);
      if (!block || this.#blocks.get(field) === html) continue;
      const next = blockIn(page, field);
      if (block.contains(document.activeElement) || this.#isTypedIn(block)) this.#patch(block, next);
      else this.#exchange(block, next);
    }
    this.#blocks = blocks;
  }

  #swapTab(page, name) {
    const select = `[data-tab-body="${name}"]`;
    const now = this.root.querySelector(select);
    if (now.hidden || !now.contains(document.activeElement)) now.replaceChildren(...page.querySelector(select).childNodes);
  }

  #isTypedIn(block) {
    return [...block.querySelectorAll(CONTROL)].some((el) => this.form.isDirtyAt(el));
  }

  /** Only values, and not those being typed: rows somebody works in aren't taken away. */
  #patch(block, next) {
    const values = new Map([...next.querySelectorAll(CONTROL)].map((el) => [pathOf(el).join("."), el]));
    for (const el of block.querySelectorAll(CONTROL)) {
      if (values.has(pathOf(el).join("."))) this.form.put(el, this.form.at(pathOf(el)));
    }
  }

  #exchange(block, next) {
    const open = [...block.querySelectorAll("details")].map((one) => one.open);
    const made = document.importNode(next, true);
    made.querySelectorAll("details").forEach((one, at) => (one.open ||= open[at] ?? false));
    block.replaceWith(made);
    this.enhance(made);
    this.form.showDependent();
  }

  #block(field) {
    return blockIn(this.root, field);
  }

  #pick(event) {
    const button = event.target.closest(".insp-variable");
    if (!button || !this.editor.canEdit || button.disabled) return;
    const { wants = "", place = "" } = button.dataset;
    pickFor(button, this.variables.list({ place }), {
      wants: wants.split(" ").filter(Boolean),
      canBeEmpty: button.dataset.empty === "remove",
      onPick: (variable) => {
        show(button, variable ? variable.at : []);
        paint(button, this.variables);
        button.dispatchEvent(new Event("change", { bubbles: true }));
      },
    });
  }
}

function blocksOf(root) {
  const found = [...root.querySelectorAll("[data-field]")].filter((one) => !one.parentElement?.closest("[data-field]"));
  return new Map(found.map((one) => [one.dataset.field, one.outerHTML]));
}

const blockIn = (root, field) => [...root.querySelectorAll(`[data-field="${CSS.escape(field)}"]`)].find((one) => !one.parentElement.closest("[data-field]"));

/** For who may only look: everything can be read and copied, nothing changed. */
function lock(part) {
  for (const one of all(part, "input, textarea")) {
    if (one.closest("[data-recall]")) continue;
    if (["checkbox", "radio"].includes(one.type)) one.disabled = true;
    else one.readOnly = true;
  }
  for (const one of all(part, "select, .insp-variable, [data-row], [data-insert-variable]")) if (!one.closest("[data-recall]")) one.disabled = true;
}

const all = (part, selector) => [...(part.matches?.(selector) ? [part] : []), ...part.querySelectorAll(selector)];
