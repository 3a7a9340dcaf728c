// The panel at the right shows the selected node, keeps its form in step with all edits, and leads to its fields.

import { ROOT, getNodeName } from "../editor/graph_queries.js";
import { isNarrow } from "../editor/panels.js";
import { t } from "../common/translations.js";
import * as code from "./code.js";
import * as conditions from "./conditions.js";
import { CONTROL, getPath, showValue } from "./controls.js";
import { Form } from "./form.js";
import * as kindControls from "./kind_controls.js";
import * as lists from "./lists.js";
import * as metadata from "./metadata.js";
import * as previews from "./previews.js";
import { createSkeleton, installOverview, setUpOverview } from "./selection_overview.js";
import { pickVariable } from "./variable_picker.js";
import { Problems } from "./problems.js";
import * as schema from "./schema.js";
import * as tools from "./tools.js";
import { Tabs } from "./tabs.js";
import { getAtPath, parseJson, isEqual } from "../common/json_paths.js";
import { Variables, paintVariable } from "./variables.js";
import { setUpWorkflow } from "./workflow.js";
import * as templateEditor from "./template_editor.js";

const RELOAD_DELAY = 350; // ms after an edit before the form is fetched again
const SKELETON_DELAY = 150; // ms after which the form of the node before gives way to a skeleton; a quick answer doesn't flicker
const MAX_WAIT = 2000; // ms; a node that an undo has just brought back is not on the server before
const RETRY_DELAY = 4000; // ms between two attempts to reach the server
const MAX_FETCHES = 3; // of one form that is being edited; what comes after the last one is merged as a change
const ENHANCERS = [templateEditor, code, conditions, schema, kindControls, lists, metadata, tools];
// Operations that no form shows.
const POSITION_OPS = new Set(["move", "resize"]);

export function install(editor) {
  editor.inspector = new Inspector(editor);
}

class Inspector {
  #target = null; // "node:…", "edge:…", "nodes:…" or "": what the panel shows
  #request = null;
  #rendered = Promise.resolve();
  #blocks = new Map(); // field → the last HTML of the server for it
  #reloadTimer = null;
  #seen = new Map(); // target → its last HTML, for times without the server
  #redrawnField = null; // whose control has just been given a value with which the field looks different
  #isForeign = false; // whether fields may have changed, or only problems and variables
  #skeletonTimer = null;
  #added = new Set(); // ids of nodes that this tab added and that were not shown yet
  #drawn = null; // the target whose content is shown and can be edited

  constructor(editor) {
    this.editor = editor;
    this.root = editor.root.querySelector("#panel-node");
    this.variables = new Variables([]);
    this.problems = new Problems(this);
    this.tabs = new Tabs(this);
    lists.watch(this);
    previews.watch(this);
    installOverview(this);
    this.root.addEventListener("click", (event) => this.#pickVariable(event));
    editor.addEventListener("selection", () => this.#follow());
    editor.addEventListener("repeated-click", () => this.#showPanel());
    editor.addEventListener("scope", () => this.#follow());
    editor.addEventListener("change", (event) => this.#onChange(event.detail));
    editor.addEventListener("open", (event) => this.open(event.detail));
    editor.addEventListener("panel", (event) => event.detail.name === "node" && this.#target === null && this.#showTarget(this.#findTarget()));
    editor.addEventListener("run", () => this.tabs.invalidate());
    editor.edits.unsavedChanges.addEventListener("change", () => this.form?.showPendingValues());
    this.#follow();
  }

  get panel() {
    return this.root.querySelector("[data-inspector]");
  }

  get page() {
    return this.editor.root.dataset.page;
  }

  /**
   * Show a node and go to one of its fields, or show an edge, which the canvas may not draw. With `focus` the focus moves into
   * the settings, with `keepFocus` it stays.
   */
  async open({ id, field = null, tab = null, focus = false, keepFocus = false, isEdge = false }) {
    if (this.editor.model.nodes.get(id)?.isNote) return; // notes are edited in place
    this.editor.panel("node");
    const focusedBefore = document.activeElement;
    await this.#showTarget(isEdge || this.editor.model.edges.has(id) ? `edge:${id}` : `node:${id}`);
    if (field) this.tabs.open("settings");
    if (tab) this.tabs.open(tab);
    const isTypingElsewhere = document.activeElement !== focusedBefore && !this.root.contains(document.activeElement) && isTextField(document.activeElement);
    this.problems.goTo(field, { keepFocus: keepFocus || isTypingElsewhere });
    if (focus && !field && !isTypingElsewhere) this.#focusFirstControl();
  }

  /** Focus the first control; or the tabs when there is none, or when it would add a row. */
  #focusFirstControl() {
    const controls = [...this.root.querySelectorAll(".insp-form :is(input, select, textarea, button, summary)")];
    const firstControl = controls.find((control) => !control.disabled && control.checkVisibility());
    const isSafeTarget = firstControl && !firstControl.matches("[data-row]"); // a key that is held a little too long would add another row
    (isSafeTarget ? firstControl : this.root.querySelector("[data-tab][aria-selected=true]"))?.focus();
  }

  /** Activate the behaviour of a new part of the form. */
  enhance(part) {
    for (const enhancer of ENHANCERS) enhancer.enhance(part, this);
    for (const button of queryAll(part, ".insp-variable")) paintVariable(button, this.variables);
    if (!this.editor.canEdit) lockControls(part);
  }

  /** Fetch the whole fragment again. What is being typed stays, unless the fragment is `redrawn`. */
  async reload({ redrawn: redrawn = false } = {}) {
    clearTimeout(this.#reloadTimer);
    const target = this.#target;
    if (this.#request) return; // another form is on its way, and it is fetched after all edits
    const html = await this.#fetch(target);
    if (html == null || target !== this.#target || this.#request) return;
    if (this.form?.isBusy) return this.#reloadLater(RELOAD_DELAY, this.#isForeign);
    if (redrawn) return this.#draw(html);
    const page = parseHtml(html);
    if (this.#isOutdated(page)) return this.#reloadLater(RELOAD_DELAY, this.#isForeign);
    if (this.#target?.startsWith("node:") && this.panel?.dataset.inspector === "node") this.#merge(page);
    else if (!this.root.contains(document.activeElement)) this.#draw(html);
  }

  #findTarget() {
    const selected = [...this.editor.selection].filter((id) => !this.editor.model.nodes.get(id)?.isNote);
    if (selected.length > 1) return `nodes:${selected.filter((id) => this.editor.model.nodes.has(id)).join("\n")}`;
    if (selected.length === 0) return this.editor.canvas.scope === ROOT ? "" : `node:${this.editor.canvas.scope}`; // the open container
    return this.editor.model.edges.has(selected[0]) ? `edge:${selected[0]}` : `node:${selected[0]}`;
  }

  #follow() {
    const target = this.#findTarget();
    if (target === this.#target) return;
    if (target.startsWith("node:") && this.#target !== null) this.#showPanel();
    this.#showTarget(target);
  }

  /** Show the panel, unless this person closed the side or sees one view at a time. */
  #showPanel() {
    if (!isNarrow() && !this.editor.panels.isClosed("right")) this.editor.panel("node");
  }

  /** Show a target; resolves when it is shown, also for a second caller. */
  #showTarget(target) {
    const isShown = target === this.#target && (this.panel || this.#request);
    if (!isShown) this.#rendered = this.#fetchAndDraw(target);
    return this.#rendered;
  }

  /** Only the last of two overlapping requests is drawn, since the other one would replace a form in use. */
  async #fetchAndDraw(target) {
    clearTimeout(this.#reloadTimer);
    this.#target = target;
    this.#request?.abort();
    const request = (this.#request = new AbortController());
    if (this.#drawn !== target) this.#lock(target);
    const html = await this.#fetchAfterEdits(target, request);
    if (this.#request !== request) return;
    this.#request = null;
    if (this.#target !== target) return;
    if (html === undefined) return this.#drawWithoutServer(target);
    if (html === null) {
      this.#target = null;
      return this.#drawMessage(t("These settings could not be loaded."));
    }
    this.#seen.set(target, html);
    this.#draw(html);
    if (this.current?.revision < this.editor.edits.revision) this.#reloadLater();
  }

  /**
   * Lock the form that is shown, since what is typed into it now would be meant for another node. The new node's name and icon
   * appear at once, and a skeleton takes the place of the form when the server needs a moment.
   */
  #lock(target) {
    const node = target.startsWith("node:") ? this.editor.model.nodes.get(target.slice("node:".length)) : null;
    if (this.root.contains(document.activeElement)) document.activeElement.blur(); // saves what was typed
    this.form?.flush();
    for (const part of this.root.children) part.inert = true;
    this.root.setAttribute("aria-busy", "true");
    this.#drawn = null;
    const skeleton = createSkeleton(this.editor, node);
    if (node) this.root.querySelector(".insp-head")?.replaceWith(skeleton.querySelector(".insp-head").cloneNode(true));
    clearTimeout(this.#skeletonTimer);
    this.#skeletonTimer = setTimeout(() => this.root.replaceChildren(skeleton), SKELETON_DELAY);
  }

  #unlock() {
    clearTimeout(this.#skeletonTimer);
    this.root.removeAttribute("aria-busy");
  }

  /** Fetch a target with all edits of this page in it; a fragment from before one of them would bring back what was removed. */
  async #fetchAfterEdits(target, request) {
    let html;
    for (let attempt = 0; attempt < MAX_FETCHES; attempt++) {
      await this.#saveInput();
      if (this.#request !== request) return;
      html = await this.#fetch(target, request.signal);
      if (this.#request !== request || !html) return html;
      const isUnsaved = this.form?.isBusy || this.form?.isDirty;
      if (!isUnsaved && !this.#isOutdated(parseHtml(html))) break;
    }
    return html;
  }

  /** Show the settings as they were last seen, or say that they need the server; they are fetched when it is back. */
  #drawWithoutServer(target) {
    if (this.#seen.has(target)) {
      this.#draw(this.#seen.get(target));
      return this.#fetchWhenOnline(target);
    }
    this.#drawMessage(t("These settings need the server. They appear when you are online again."));
    return this.#fetchWhenOnline(target);
  }

  #drawMessage(text) {
    const message = document.createElement("div");
    message.className = "empty";
    message.append(Object.assign(document.createElement("p"), { textContent: text }));
    this.#unlock();
    this.root.replaceChildren(message);
    this.form = null;
    this.current = {};
  }

  #fetchWhenOnline(target) {
    const { edits } = this.editor;
    const fetchAgain = () => {
      if (this.#target !== target) return stop.abort();
      if (edits.state === "offline" || !navigator.onLine) return;
      stop.abort();
      this.#fetchAndDraw(target);
    };
    const stop = new AbortController();
    const timer = this.form ? 0 : setInterval(fetchAgain, RETRY_DELAY); // a form in use is not replaced without need
    stop.signal.addEventListener("abort", () => clearInterval(timer));
    window.addEventListener("online", fetchAgain, { signal: stop.signal });
    edits.addEventListener("state", fetchAgain, { signal: stop.signal });
  }

  /** Save pending input first, since another node may read it, and wait a moment for it; a dead network is not waited for. */
  async #saveInput() {
    const { edits } = this.editor;
    this.form?.flush();
    const end = performance.now() + MAX_WAIT;
    while (edits.state === "saving" && performance.now() < end) {
      await Promise.race([new Promise((resolve) => edits.addEventListener("state", resolve, { once: true })), new Promise((resolve) => setTimeout(resolve, MAX_WAIT))]);
    }
  }

  /** Return the HTML for a target; null when the server refused, undefined when it could not be reached. */
  async #fetch(target, signal) {
    if (target === null) return null;
    const [kind, ...rest] = target.split(":");
    const id = rest.join(":");
    const url = new URL(kind === "node" ? `nodes/${encodeURIComponent(id)}/` : "inspector/", new URL(this.page, location.href));
    if (kind === "edge") url.searchParams.set("edge", id);
    if (kind === "nodes") for (const nodeId of id.split("\n")) url.searchParams.append("node", nodeId);
    try {
      return await previews.fetchFragment(url, signal);
    } catch (error) {
      if (error.name !== "AbortError") console.warn("inspector", error);
      return undefined;
    }
  }

  #draw(html) {
    this.#unlock();
    this.#drawn = this.#target;
    const fragment = document.createRange().createContextualFragment(html);
    this.#blocks = collectBlocks(fragment);
    this.#isForeign = false;
    this.root.replaceChildren(fragment);
    this.form = null;
    this.current = parseJson(this.root.querySelector("#insp-data")?.textContent ?? "", {});
    const kind = this.panel?.dataset.inspector;
    if (kind === "node") this.#setUpNode();
    else if (kind === "workflow") setUpWorkflow(this);
    else if (kind) setUpOverview(this);
    this.root.scrollTop = 0;
  }

  #getNodeTitle(id) {
    return this.editor.model.nodes.has(id) ? getNodeName(this.editor, id) : null;
  }

  #setUpNode() {
    const { current, editor } = this;
    this.variables = new Variables(current.sources, (id) => this.#getNodeTitle(id));
    this.form = new Form({
      editor,
      root: this.root.querySelector("[data-form]"),
      data: current.data,
      shown: current.shown,
      op: { op: "set", id: current.id },
      about: () => current.title || current.id,
    });
    this.form.addEventListener("saved", (event) => this.#onSaved(event.detail));
    this.form.addEventListener("refused", () => this.#reloadLater(0));
    this.form.showPendingValues();
    this.enhance(this.panel);
    this.problems.show(current.problems);
    if (this.#added.delete(current.id)) this.tabs.beginWithSettings();
    this.tabs.setUp();
    this.#setUpTitle();
  }

  #setUpTitle() {
    const title = this.root.querySelector(".insp-title");
    title.addEventListener("keydown", (event) => event.key === "Enter" && !event.isComposing && title.blur());
    title.addEventListener("change", () => {
      const newTitle = title.value.trim();
      if (!newTitle || newTitle === this.current.title) return (title.value = this.current.title);
      this.current.title = newTitle;
      this.editor.edits.send([{ op: "rename", id: this.current.id, title: newTitle }], { label: t("Rename to {name}", { name: newTitle }) });
    });
  }

  /** The form shows its own edits already; problems and variables come from the server. */
  #onSaved({ path, el }) {
    previews.refresh(this, path);
    if (el && "redraws" in el.dataset) {
      this.#redrawnField = String(path[0]);
      this.#reloadLater(0);
    } else if (!this.#isForeign) this.#reloadLater(RELOAD_DELAY, false);
  }

  /** Return whether a page was rendered before the last change that this tab applied. */
  #isOutdated(page) {
    const values = parseJson(page.querySelector("#insp-data")?.textContent ?? "", {});
    return values.revision < this.editor.edits.revision;
  }

  #onChange(change) {
    this.#noteAdded(change.parts ?? [change]);
    if (this.#target === null) return this.#follow(); // what the server did not have may have come
    const id = this.current?.id;
    if (change.html?.gone?.includes(id)) return this.#follow(); // maybe to a node that is being fetched already
    if (change.ops?.some((op) => op.op === "disconnect" && `edge:${op.id}` === this.#target)) return this.#follow();
    if (change.ops?.some((op) => op.op === "add" && op.node?.id === id && op.node.kind !== this.current.kind)) return this.reload({ redrawn: true });
    // Several changes that arrive together may be of different people, and some of them our own.
    const unseen = (change.parts ?? [change]).map((part) => this.#noteUnseen(part, id));
    if (change.resync || unseen.some(Boolean)) this.#reloadLater();
  }

  #noteAdded(changes) {
    const own = changes.filter(({ client, kind }) => client === this.editor.edits.client && kind === "edit");
    for (const { op, node } of own.flatMap(({ ops = [] }) => ops)) if (op === "add" && node) this.#added.add(node.id);
  }

  /** Tell the form of operations of one change that it doesn't show yet, and return whether there are any. */
  #noteUnseen(change, id) {
    const unseen = (change.ops ?? []).filter((op) => !this.#isShown(op, change));
    const own = unseen.filter((op) => op.id === id && op.path);
    if (this.form && id && own.length) this.form.conflicts(own, change);
    return unseen.length > 0;
  }

  /**
   * Return whether the form shows the effect of an operation already, as it does for our own. For operations by others this
   * cannot be told from the data, since a reload may have brought them before the change arrived.
   */
  #isShown(op, change) {
    if (POSITION_OPS.has(op.op)) return true;
    if (change.client !== this.editor.edits.client) return false;
    if (this.panel?.dataset.inspector === "workflow") return op.op === "feature" && this.form && isEqual(getAtPath(this.form.data, op.path), op.remove ? undefined : op.value);
    if (!this.form || op.id !== this.current?.id) return false;
    if (op.op === "rename") return op.title === this.current.title;
    if (op.op !== "set") return false;
    if (op.insert || (op.remove && typeof op.path.at(-1) === "number")) return this.form.isBusy;
    // What was typed since is on its way: the form shows that, and not what the server confirms only now.
    return isEqual(getAtPath(this.form.data, op.path), op.remove ? undefined : op.value) || this.form.isChangeUnderWay(op.path);
  }

  #reloadLater(pause = RELOAD_DELAY, isForeign = true) {
    this.#isForeign ||= isForeign;
    clearTimeout(this.#reloadTimer);
    this.#reloadTimer = setTimeout(() => this.reload(), pause);
  }

  /** Update the form field by field: equal fields stay, others are replaced unless somebody types in them. */
  #merge(page) {
    const values = parseJson(page.querySelector("#insp-data").textContent, this.current);
    const blocks = collectBlocks(page);
    this.current = values;
    this.form.receive(values.data, values.shown, values.revision);
    this.variables = new Variables(values.sources, (id) => this.#getNodeTitle(id));
    if (this.#isForeign) this.#mergeFields(page, blocks);
    this.form.showPendingValues();
    this.#isForeign = false;
    const title = this.root.querySelector(".insp-title");
    if (title !== document.activeElement) title.value = values.title;
    for (const part of ["outputs", "docs"]) this.#swapPart(page, part);
    for (const button of this.root.querySelectorAll(".insp-variable")) paintVariable(button, this.variables);
    templateEditor.repaint(this.root, this.variables);
    this.problems.show(values.problems);
    this.tabs.refresh();
  }

  #mergeFields(page, blocks) {
    for (const [field, html] of blocks) {
      const block = this.#findBlock(field);
      if (!block || this.#blocks.get(field) === html) continue;
      const next = findBlock(page, field);
      const focused = [...block.querySelectorAll(CONTROL)].indexOf(document.activeElement);
      const isInUse = block.contains(document.activeElement) && !(field === this.#redrawnField && focused >= 0);
      if (isInUse || this.#isTypedIn(block)) this.#updateValues(block, next);
      else this.#replaceBlock(block, next);
      if (!isInUse && focused >= 0) this.#findBlock(field)?.querySelectorAll(CONTROL)[focused]?.focus();
    }
    this.#redrawnField = null;
    this.#blocks = blocks;
  }

  #swapPart(page, name) {
    const select = `[data-redraw="${name}"]`;
    const body = this.root.querySelector(select);
    if (body.hidden || !body.contains(document.activeElement)) body.replaceChildren(...page.querySelector(select).childNodes);
  }

  #isTypedIn(block) {
    return [...block.querySelectorAll(CONTROL)].some((el) => this.form.isDirtyAt(el));
  }

  /** Update only values, and none that are being typed, so that rows in use stay. */
  #updateValues(block, next) {
    const values = new Map([...next.querySelectorAll(CONTROL)].map((el) => [getPath(el).join("."), el]));
    for (const el of block.querySelectorAll(CONTROL)) {
      if (values.has(getPath(el).join("."))) this.form.put(el, this.form.getValue(getPath(el)));
    }
  }

  #replaceBlock(block, next) {
    const open = [...block.querySelectorAll("details")].map((details) => details.open);
    const replacement = document.importNode(next, true);
    replacement.querySelectorAll("details").forEach((section, at) => (section.open ||= open[at] ?? false));
    block.replaceWith(replacement);
    this.enhance(replacement);
    this.form.showDependent();
  }

  #findBlock(field) {
    return findBlock(this.root, field);
  }

  #pickVariable(event) {
    const button = event.target.closest(".insp-variable");
    if (!button || !this.editor.canEdit || button.disabled) return;
    const { wants = "", place = "" } = button.dataset;
    pickVariable(button, this.variables.list({ place }), {
      wants: wants.split(" ").filter(Boolean),
      canBeEmpty: button.dataset.empty === "remove",
      onPick: (variable) => {
        showValue(button, variable ? variable.at : []);
        paintVariable(button, this.variables);
        button.dispatchEvent(new Event("change", { bubbles: true }));
      },
    });
  }
}

const parseHtml = (html) => new DOMParser().parseFromString(html, "text/html");

function collectBlocks(root) {
  const fields = [...root.querySelectorAll("[data-field]")].filter((field) => !field.parentElement?.closest("[data-field]"));
  return new Map(fields.map((field) => [field.dataset.field, field.outerHTML]));
}

const findBlock = (root, field) => [...root.querySelectorAll(`[data-field="${CSS.escape(field)}"]`)].find((block) => !block.parentElement.closest("[data-field]"));

/** Make everything readable and copyable, but not changeable, for people who cannot edit. */
function lockControls(part) {
  for (const control of queryAll(part, "input, textarea")) {
    if (control.closest("[data-recall]")) continue;
    if (["checkbox", "radio"].includes(control.type)) control.disabled = true;
    else control.readOnly = true;
  }
  for (const control of queryAll(part, "select, .insp-variable, [data-row], [data-insert-variable]")) if (!control.closest("[data-recall]")) control.disabled = true;
}

const isTextField = (element) => Boolean(element?.matches("input, textarea, [contenteditable]"));
const queryAll = (part, selector) => [...(part.matches?.(selector) ? [part] : []), ...part.querySelectorAll(selector)];
