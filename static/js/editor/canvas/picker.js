// Chooses one of many items by typing a few letters: nodes to add, nodes to connect to, commands. It opens at the pointer
// or beside a node.

import { askForText } from "../prompt.js";
import { goTo } from "../commands/keyboard.js";
import { ROOT, findOffer, getOutgoingEdges, getNodesInScope, isNote, getKindName, getNodeName, getOnlySelectedNode, getOutputs, getPortName, getScope, getWorkScope } from "../graph_queries.js";
import { addBetween, addNode } from "./add_nodes.js";
import { storeValue, loadValue } from "../../common/storage.js";
import { findRefusal } from "../../canvas/connection_rules.js";
import { findOfferRefusal } from "./node_offers.js";
import { search } from "../../common/fuzzy_match.js";
import { installAddButton } from "./add_buttons.js";
import { t } from "../../common/translations.js";

const RECENT_KEY = "editor-recent-kinds";
const MAX_OPTIONS = 60;
const GAP = 8;

/**
 * @typedef {object} Choice
 * @property {string} id
 * @property {string} name
 * @property {string} [hint]
 * @property {string} [group]
 * @property {boolean} [isGrouped] the heading of the group is shown in search results too
 * @property {string[]} [keys] key caps
 * @property {string[]} [words] further texts to search
 * @property {Element | null} [icon] cloned
 */

class Picker {
  #options = [];
  #selected = -1;
  #resolve = null;

  constructor(root) {
    this.box = root;
    this.input = root.querySelector("input");
    this.list = root.querySelector("[role=listbox]");
    this.none = root.querySelector("[data-picker-none]");
    this.count = root.querySelector("[data-picker-count]");
    this.row = document.getElementById("picker-row").content.firstElementChild;
    this.head = document.getElementById("picker-group").content.firstElementChild;
    this.cap = document.getElementById("key-cap").content.firstElementChild;
    this.input.addEventListener("input", () => this.#filter());
    this.input.addEventListener("keydown", (event) => this.#key(event));
    this.input.addEventListener("blur", () => requestAnimationFrame(() => this.#takeFocusBack()));
    this.list.addEventListener("pointermove", (event) => this.#point(event));
    // Pressing an option must not move the focus out of the field, since the popover would close before the click.
    this.list.addEventListener("pointerdown", (event) => event.preventDefault());
    this.list.addEventListener("click", (event) => this.#click(event));
    root.addEventListener("toggle", (event) => {
      if (event.newState === "closed") this.#finish(null);
    });
  }

  /** @returns {Promise<string | null>} the id of the chosen item, or null */
  choose({ title, choices, at, placeholder = title, again: searchMore }) {
    this.#finish(null);
    if (this.box.matches(":popover-open")) this.box.hidePopover();
    this.choices = choices;
    this.searchMore = searchMore;
    this.box.querySelector("#picker-title").textContent = title;
    this.input.placeholder = placeholder;
    this.input.value = "";
    this.box.showPopover();
    this.#filter();
    this.#place(at);
    this.input.focus();
    return new Promise((resolve) => (this.#resolve = resolve));
  }

  /** While it is open, its field has the focus: pressing anywhere else closes it, and letters are its own. */
  #takeFocusBack() {
    const isElsewhere = this.box.matches(":popover-open") && !this.box.contains(document.activeElement);
    if (isElsewhere && document.hasFocus() && !document.querySelector("dialog:modal")) this.input.focus();
  }

  #place(at) {
    const { width, height } = this.box.getBoundingClientRect();
    const area = findArea(at, width);
    const tall = Math.max(height, 240);
    const point = at instanceof Element ? placeBeside(at.getBoundingClientRect(), width, area) : at ? placeAtPointer(at, width, area) : { x: (area.left + area.right - width) / 2, y: area.top + (area.bottom - area.top) * 0.16 };
    const x = Math.max(area.left + GAP, Math.min(point.x, area.right - width - GAP));
    const y = Math.max(area.top + GAP, Math.min(point.y, area.bottom - tall - GAP));
    Object.assign(this.box.style, { left: `${x}px`, top: `${y}px` });
  }

  async #filter() {
    const query = this.input.value;
    const matches = search(query, this.choices, (choice) => [choice.name, ...(choice.words ?? []), choice.hint ?? ""]);
    this.#show(matches.slice(0, MAX_OPTIONS), !query.trim());
    if (!this.searchMore || !query.trim()) return;
    const moreMatches = await this.searchMore(query);
    if (query === this.input.value && this.#resolve) this.#show([...matches.slice(0, MAX_OPTIONS), ...moreMatches], false, this.#selected);
  }

  #show(choices, grouped, selected = 0) {
    const rows = [];
    let group = null;
    this.#options = choices.map((choice, at) => {
      if ((grouped || choice.isGrouped) && choice.group && choice.group !== group) {
        group = choice.group;
        const head = this.head.cloneNode(true);
        head.textContent = group;
        rows.push(head);
      }
      const row = this.#option(choice, at);
      rows.push(row);
      return { choice, row };
    });
    this.list.replaceChildren(...rows);
    this.none.hidden = choices.length > 0;
    this.count.textContent = choices.length === 1 ? t("1 result") : t("{n} results", { n: choices.length });
    this.#mark(choices.length ? Math.max(0, selected) : -1);
  }

  #option(choice, at) {
    const row = this.row.cloneNode(true);
    row.id = `picker-option-${at}`;
    row.querySelector("[data-name]").textContent = choice.name;
    const hint = row.querySelector("[data-hint]");
    if (choice.hint) hint.textContent = choice.hint;
    else hint.remove();
    const icon = row.querySelector("[data-icon]");
    if (choice.icon) {
      icon.append(choice.icon.cloneNode(true));
      if (choice.family) row.classList.add(`node-${choice.family}`);
    } else icon.remove();
    for (const keys of choice.keys ?? []) {
      const cap = this.cap.cloneNode(true);
      cap.textContent = keys;
      row.querySelector("[data-keys]").append(cap);
    }
    return row;
  }

  #mark(at) {
    this.#options[this.#selected]?.row.setAttribute("aria-selected", "false");
    this.#selected = at;
    const row = this.#options[at]?.row;
    row?.setAttribute("aria-selected", "true");
    row?.scrollIntoView({ block: "nearest" });
    if (row) this.input.setAttribute("aria-activedescendant", row.id);
    else this.input.removeAttribute("aria-activedescendant");
  }

  #key(event) {
    const last = this.#options.length - 1;
    const to = { ArrowDown: this.#selected + 1, ArrowUp: this.#selected - 1, PageDown: Math.min(last, this.#selected + 8), PageUp: Math.max(0, this.#selected - 8) }[event.key];
    if (to !== undefined) {
      event.preventDefault();
      if (last >= 0) this.#mark((to + last + 1) % (last + 1));
    } else if (event.key === "Enter" && !event.isComposing) {
      event.preventDefault();
      event.stopPropagation();
      this.#take(this.#options[this.#selected]?.choice);
    } else if (event.key === "Tab") {
      this.box.hidePopover(); // the focus is back where it was, and the browser moves it on
    } else if (event.key === "Escape") {
      event.preventDefault();
      event.stopPropagation();
      this.box.hidePopover();
    }
  }

  #point(event) {
    const at = this.#options.findIndex(({ row }) => row.contains(event.target));
    if (at >= 0 && at !== this.#selected) this.#mark(at);
  }

  #click(event) {
    const option = this.#options.find(({ row }) => row.contains(event.target));
    if (option) this.#take(option.choice);
  }

  #take(choice) {
    if (!choice) return;
    const resolve = this.#resolve;
    this.#resolve = null;
    this.box.hidePopover();
    resolve?.(choice.id);
  }

  #finish(id) {
    const resolve = this.#resolve;
    this.#resolve = null;
    resolve?.(id);
  }
}

/**
 * Return the area to open in: the canvas, when it was pointed at and is wide enough, so that the settings of another node
 * stay visible.
 */
function findArea(at, width) {
  const page = { left: 0, top: 0, right: document.documentElement.clientWidth, bottom: document.documentElement.clientHeight };
  const canvas = document.querySelector("[data-canvas]")?.getBoundingClientRect();
  const isOnCanvas = at && canvas && (at instanceof Element ? at.closest("[data-canvas]") : at.x >= canvas.left && at.x <= canvas.right && at.y >= canvas.top && at.y <= canvas.bottom);
  return isOnCanvas && canvas.width >= width + 2 * GAP && canvas.height >= 280 ? canvas : page;
}

const placeAtPointer = ({ x, y }, width, area) => ({ x: x + width + GAP > area.right ? x - width : x, y });

function placeBeside(node, width, area) {
  const right = node.right + GAP;
  return { x: right + width < area.right ? right : node.left - width - GAP, y: node.top };
}

export function install(editor) {
  const root = document.getElementById("picker");
  if (!root) return;
  const picker = new Picker(root);
  editor.ask = askForText;
  editor.choose = (options) => picker.choose(options);
  editor.pickKind = (options) => pickKind(editor, options);
  editor.pickNode = (options) => pickNode(editor, options);
  if (!editor.canEdit) return;
  addCommands(editor);
  listen(editor);
}

function addCommands(editor) {
  const isOneNodeSelected = (e) => Boolean(getOnlySelectedNode(e)) && !isNote(getOnlySelectedNode(e));
  editor.commands.add(
    { id: "add-node", label: t("Add node"), keys: ["/", "A"], shown: "Tab", group: "add", edits: true, menu: ["canvas"], words: t("new insert step"), when: isCanvasActive, run: (e, detail) => addAtSelection(e, detail) },
    { id: "add-by-tab", label: t("Add node after"), keys: "Tab", group: "add", edits: true, quiet: true, hidden: true, when: isNodeFocused, run: (e) => addAtSelection(e) },
    { id: "add-after", label: t("Add node after"), group: "add", edits: true, menu: ["node"], quiet: true, when: isOneNodeSelected, run: (e) => addAtSelection(e) },
    { id: "insert-after", label: t("Insert node before the next one"), keys: "I", group: "add", edits: true, menu: ["node"], when: (e) => isOneNodeSelected(e) && getOutgoingEdges(e, getOnlySelectedNode(e).id).length > 0, run: insertAfter },
    { id: "insert-here", label: t("Insert node here"), group: "add", edits: true, menu: ["edge"], quiet: true, when: (e) => Boolean(getSelectedEdge(e)), run: (e, detail) => insertInto(e, getSelectedEdge(e), detail) },
    { id: "connect", label: t("Connect to…"), keys: "C", group: "add", edits: true, menu: ["node"], when: isOneNodeSelected, run: connectFrom },
    { id: "disconnect", label: t("Remove connection…"), keys: "Shift+C", group: "add", edits: true, menu: ["node"], when: (e) => isOneNodeSelected(e) && listConnections(e, getOnlySelectedNode(e)).length > 0, run: disconnectFrom },
  );
}

// Tab moves the focus as usual unless a node has it; pressed again in the picker, it does so there too.
const isNodeFocused = () => document.activeElement?.localName === "wf-node";

function isCanvasActive(editor) {
  const active = document.activeElement;
  return active === document.body || !active || Boolean(active.closest("[data-canvas], #outline")) || editor.selection.size === 0;
}

function listen(editor) {
  const canvas = editor.root.querySelector("[data-canvas]");
  // A popover that opens while the pointer is released would be closed by that release.
  editor.addEventListener("connect-void", (event) => setTimeout(() => addFromEdge(editor, event.detail)));
  editor.addEventListener("open-void", ({ detail }) => editor.commands.run("add-node", { x: detail.clientX, y: detail.clientY, alone: true, scope: detail.scope }));
  canvas.addEventListener("dblclick", (event) => {
    if (event.target.closest("button, input, textarea, a, .wf-minimap, .wf-tools, .wf-crumbs")) return;
    const { edge } = editor.canvas.at(event.clientX, event.clientY);
    if (edge) insertInto(editor, edge, { x: event.clientX, y: event.clientY });
  });
  const addAtPort = (node, port, at) => addFromEdge(editor, { from: node.id, handle: port, out: true, clientX: at.x, clientY: at.y, beside: true });
  editor.addEventListener("port-click", ({ detail: { node, port, clientX: x, clientY: y } }) => setTimeout(() => addAtPort(node, port, { x, y })));
  installAddButton(editor, { edge: (edge, at) => insertInto(editor, edge, at), port: addAtPort });
}

async function addAtSelection(editor, detail) {
  const after = detail?.alone ? null : getOnlySelectedNode(editor);
  const scope = detail?.scope ?? getWorkScope(editor);
  const from = after && !isNote(after) ? await findFreePort(editor, after) : null;
  const kind = await pickKind(editor, { at: detail ?? after?.el, scope: from ? getScope(after) : scope, after: Boolean(from) });
  if (kind) await addNode(editor, { kind, at: detail, after: from ? { id: after.id, port: from } : null, scope: from ? getScope(after) : scope });
}

async function insertAfter(editor) {
  const node = getOnlySelectedNode(editor);
  const edges = getOutgoingEdges(editor, node.id);
  const edge = edges.length === 1 ? edges[0] : await pickEdge(editor, edges, t("Insert on which edge?"), node);
  if (edge) await insertInto(editor, edge, node.el);
}

async function insertInto(editor, edge, at) {
  if (!edge) return;
  const scope = getScope(editor.model.nodes.get(edge.from));
  const kind = await pickKind(editor, { at, scope, after: true, before: true });
  if (kind) await addBetween(editor, { kind, edge });
}

/** Choose a node for the end of an edge that was dropped on the empty canvas. */
async function addFromEdge(editor, detail) {
  const from = editor.model.nodes.get(detail.from);
  if (!from) return;
  const { handle, out, beside: placeBeside } = detail;
  const at = { x: detail.clientX, y: detail.clientY };
  const kind = await pickKind(editor, { at, scope: getScope(from), after: out, before: !out });
  if (!kind) return;
  const end = { id: from.id, port: handle };
  await addNode(editor, { kind, at: placeBeside ? null : at, scope: getScope(from), ...(out ? { after: end } : { before: end }) });
}

async function findFreePort(editor, node) {
  const outs = getOutputs(node);
  const used = new Set(getOutgoingEdges(editor, node.id).map((edge) => edge.fp));
  return outs.find((port) => !used.has(port)) ?? outs[0] ?? null;
}

/** Choose a kind of node, recently used ones first, without those that do not fit. */
async function pickKind(editor, { at, scope = ROOT, after = false, before = false } = {}) {
  const isAllowed = (kind) => (!after || kind.takes) && (!before || kind.gives) && !findOfferRefusal(editor, kind, scope);
  const recent = loadValue(RECENT_KEY, []);
  const getRank = (kind) => (recent.includes(kind.id) ? recent.indexOf(kind.id) : recent.length);
  const kinds = (editor.kinds ?? []).filter(isAllowed).map((kind) => ({ ...kind, group: recent.includes(kind.id) ? t("Recently used") : kind.group }));
  kinds.sort((a, b) => getRank(a) - getRank(b));
  const title = after || before ? t("Add and connect") : t("Add node");
  const kindId = await editor.choose({ title, placeholder: t("Search nodes…"), choices: kinds, at });
  if (kindId) storeRecent(kindId, recent);
  return kindId;
}

const storeRecent = (kind, recent) => storeValue(RECENT_KEY, [kind, ...recent.filter((other) => other !== kind)].slice(0, 4));

function pickNode(editor, { title, nodes, at }) {
  const choices = nodes.map((node) => ({ id: node.id, name: getNodeName(editor, node.id), hint: getKindName(editor, node.kind), icon: findOffer(editor, node.kind)?.icon, family: findOffer(editor, node.kind)?.family, words: [node.id] }));
  return editor.choose({ title, placeholder: t("Search by name…"), choices, at });
}

async function pickEdge(editor, edges, title, node) {
  const choices = edges.map((edge) => ({
    id: edge.id,
    name: edge.from === node.id ? t("to {name}", { name: getNodeName(editor, edge.to) }) : t("from {name}", { name: getNodeName(editor, edge.from) }),
    hint: getPortName(editor, editor.model.nodes.get(edge.from), edge.fp),
  }));
  return editor.model.edges.get(await editor.choose({ title, choices, at: node.el }));
}

const listConnections = (editor, node) => [...editor.model.edges.values()].filter((edge) => edge.from === node.id || edge.to === node.id);

function getSelectedEdge(editor) {
  const id = [...editor.selection].find((chosen) => editor.model.edges.has(chosen));
  return editor.model.edges.get(id);
}

/** Connect by keyboard: choose the output, then the target. */
async function connectFrom(editor) {
  const node = getOnlySelectedNode(editor);
  const moreMatches = getNodesInScope(editor, getScope(node));
  const listTargets = (port) => moreMatches.filter((other) => !findRefusal(editor.model, { from: node.id, fp: port, to: other.id }));
  const ports = getOutputs(node).filter((port) => listTargets(port).length);
  if (!ports.length) return connectInto(editor, node, moreMatches);
  const port = await pickPort(editor, node, ports, node);
  const target = port && (await pickNode(editor, { title: t("Connect to…"), nodes: listTargets(port), at: node.el }));
  if (target) await connect(editor, { source: node.id, handle: port, target }, node);
}

/** Connect from another node when nothing can follow this one. */
async function connectInto(editor, node, moreMatches) {
  const listFreePorts = (other) => getOutputs(other).filter((port) => !findRefusal(editor.model, { from: other.id, fp: port, to: node.id }));
  const nodes = moreMatches.filter((other) => listFreePorts(other).length);
  if (!nodes.length) return editor.say(t("No nodes to connect to"));
  const source = await pickNode(editor, { title: t("Connect from…"), nodes, at: node.el });
  const from = editor.model.nodes.get(source);
  const handle = from && (await pickPort(editor, from, listFreePorts(from), node));
  if (handle) await connect(editor, { source, handle, target: node.id }, node);
}

async function pickPort(editor, node, ports, placeBeside) {
  const choices = ports.map((port) => ({ id: port, name: getPortName(editor, node, port) }));
  return ports.length === 1 ? ports[0] : editor.choose({ title: t("From which branch?"), choices, at: placeBeside.el });
}

async function connect(editor, edge, node) {
  const label = t("Connected {from} to {to}", { from: getNodeName(editor, edge.source), to: getNodeName(editor, edge.target) });
  if (await editor.edits.send([{ op: "connect", edge }], { label })) editor.say(label);
  goTo(editor, node.id);
}

async function disconnectFrom(editor) {
  const node = getOnlySelectedNode(editor);
  const edge = await pickEdge(editor, listConnections(editor, node), t("Remove which connection?"), node);
  if (!edge) return;
  const label = t("Disconnected {from} from {to}", { from: getNodeName(editor, edge.from), to: getNodeName(editor, edge.to) });
  if (await editor.edits.send([{ op: "disconnect", id: edge.id }], { label })) editor.say(label);
  goTo(editor, node.id);
}
