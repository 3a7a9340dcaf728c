// Choosing one of many by typing a few letters: nodes to add, nodes to connect to, commands. At the pointer, or beside a node.

import { ask } from "./asking.js";
import { goTo } from "./keyboard.js";
import { ROOT, edgesFrom, inScope, isNote, kindName, nameOf, only, outsOf, portName, scopeOf, workScope } from "./graph.js";
import { addBetween, addNode } from "./adding.js";
import { keep, kept } from "./kept.js";
import { refusal } from "../canvas/rules.js";
import { refused } from "./offering.js";
import { search } from "./fuzzy.js";
import { showPlus } from "./plus.js";
import { t } from "./words.js";

const RECENT = "editor-recent-kinds";
const SHOWN = 60;
const GAP = 8;

/**
 * @typedef {object} Choice
 * @property {string} id
 * @property {string} name
 * @property {string} [hint]
 * @property {string} [group]
 * @property {string[]} [keys] key caps
 * @property {string[]} [words] where else the letters may be found
 * @property {Element | null} [icon] cloned
 */

class Picker {
  #options = [];
  #chosen = -1;
  #settle = null;

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
    this.list.addEventListener("pointermove", (event) => this.#point(event));
    // pressing an option must not take the focus out of the field: the popover would close before the click
    this.list.addEventListener("pointerdown", (event) => event.preventDefault());
    this.list.addEventListener("click", (event) => this.#click(event));
    root.addEventListener("toggle", (event) => {
      if (event.newState === "closed") this.#finish(null);
    });
  }

  /** @returns {Promise<string | null>} the id of what was chosen; null when nothing was */
  choose({ title, choices, at, placeholder = title, again }) {
    this.#finish(null);
    if (this.box.matches(":popover-open")) this.box.hidePopover();
    this.choices = choices;
    this.more = again;
    this.box.querySelector("#picker-title").textContent = title;
    this.input.placeholder = placeholder;
    this.input.value = "";
    this.box.showPopover();
    this.#filter();
    this.#place(at);
    this.input.focus();
    return new Promise((resolve) => (this.#settle = resolve));
  }

  #place(at) {
    const { width, height } = this.box.getBoundingClientRect();
    const room = roomOf(at, width);
    const tall = Math.max(height, 240);
    const point = at instanceof Element ? beside(at.getBoundingClientRect(), width, room) : at ? turned(at, width, room) : { x: (room.left + room.right - width) / 2, y: room.top + (room.bottom - room.top) * 0.16 };
    const x = Math.max(room.left + GAP, Math.min(point.x, room.right - width - GAP));
    const y = Math.max(room.top + GAP, Math.min(point.y, room.bottom - tall - GAP));
    Object.assign(this.box.style, { left: `${x}px`, top: `${y}px` });
  }

  async #filter() {
    const query = this.input.value;
    const own = search(query, this.choices, (choice) => [choice.name, ...(choice.words ?? []), choice.hint ?? ""]);
    this.#show(own.slice(0, SHOWN), !query.trim());
    if (!this.more || !query.trim()) return;
    const others = await this.more(query);
    if (query === this.input.value && this.#settle) this.#show([...own.slice(0, SHOWN), ...others], false);
  }

  #show(choices, grouped) {
    const rows = [];
    let group = null;
    this.#options = choices.map((choice, at) => {
      if (grouped && choice.group && choice.group !== group) {
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
    this.count.textContent = t("{n} to choose from", { n: choices.length });
    this.#mark(choices.length ? 0 : -1);
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
      row.classList.add(...(choice.family ?? []));
    } else icon.remove();
    for (const keys of choice.keys ?? []) {
      const cap = this.cap.cloneNode(true);
      cap.textContent = keys;
      row.querySelector("[data-keys]").append(cap);
    }
    return row;
  }

  #mark(at) {
    this.#options[this.#chosen]?.row.setAttribute("aria-selected", "false");
    this.#chosen = at;
    const row = this.#options[at]?.row;
    row?.setAttribute("aria-selected", "true");
    row?.scrollIntoView({ block: "nearest" });
    if (row) this.input.setAttribute("aria-activedescendant", row.id);
    else this.input.removeAttribute("aria-activedescendant");
  }

  #key(event) {
    const last = this.#options.length - 1;
    const to = { ArrowDown: this.#chosen + 1, ArrowUp: this.#chosen - 1, PageDown: Math.min(last, this.#chosen + 8), PageUp: Math.max(0, this.#chosen - 8) }[event.key];
    if (to !== undefined) {
      event.preventDefault();
      if (last >= 0) this.#mark((to + last + 1) % (last + 1));
    } else if (event.key === "Enter" && !event.isComposing) {
      event.preventDefault();
      event.stopPropagation();
      this.#take(this.#options[this.#chosen]?.choice);
    } else if (event.key === "Tab") {
      this.box.hidePopover(); // the focus is where it was, and the browser takes it on from there
    } else if (event.key === "Escape") {
      event.preventDefault();
      event.stopPropagation();
      this.box.hidePopover();
    }
  }

  #point(event) {
    const at = this.#options.findIndex(({ row }) => row.contains(event.target));
    if (at >= 0 && at !== this.#chosen) this.#mark(at);
  }

  #click(event) {
    const option = this.#options.find(({ row }) => row.contains(event.target));
    if (option) this.#take(option.choice);
  }

  #take(choice) {
    if (!choice) return;
    const settle = this.#settle;
    this.#settle = null;
    this.box.hidePopover();
    settle?.(choice.id);
  }

  #finish(answer) {
    const settle = this.#settle;
    this.#settle = null;
    settle?.(answer);
  }
}

/** Over the canvas, when that is what was pointed at and it is wide enough: never over the settings of another node. */
function roomOf(at, width) {
  const page = { left: 0, top: 0, right: document.documentElement.clientWidth, bottom: document.documentElement.clientHeight };
  const canvas = document.querySelector("[data-canvas]")?.getBoundingClientRect();
  const isIn = at && canvas && (at instanceof Element ? at.closest("[data-canvas]") : at.x >= canvas.left && at.x <= canvas.right && at.y >= canvas.top && at.y <= canvas.bottom);
  return isIn && canvas.width >= width + 2 * GAP && canvas.height >= 280 ? canvas : page;
}

const turned = ({ x, y }, width, room) => ({ x: x + width + GAP > room.right ? x - width : x, y });

function beside(node, width, room) {
  const right = node.right + GAP;
  return { x: right + width < room.right ? right : node.left - width - GAP, y: node.top };
}

export function install(editor) {
  const root = document.getElementById("picker");
  if (!root) return;
  const picker = new Picker(root);
  editor.ask = ask;
  editor.choose = (options) => picker.choose(options);
  editor.pickKind = (options) => pickKind(editor, options);
  editor.pickNode = (options) => pickNode(editor, options);
  if (!editor.canEdit) return;
  addCommands(editor);
  listen(editor);
}

function addCommands(editor) {
  const hasOne = (e) => Boolean(only(e)) && !isNote(only(e));
  editor.commands.add(
    { id: "add-node", label: t("Add a node"), keys: ["/", "A"], shown: "Tab", group: "add", edits: true, menu: ["canvas"], words: t("new insert step"), when: onCanvas, run: (e, detail) => addHere(e, detail) },
    { id: "add-by-tab", label: t("Add a node after this one"), keys: "Tab", group: "add", edits: true, quiet: true, hidden: true, when: isOnNode, run: (e) => addHere(e) },
    { id: "add-after", label: t("Add a node after this one"), group: "add", edits: true, menu: ["node"], quiet: true, when: hasOne, run: (e) => addHere(e) },
    { id: "insert-after", label: t("Insert a node between this and the next"), keys: "I", group: "add", edits: true, menu: ["node"], when: (e) => hasOne(e) && edgesFrom(e, only(e).id).length > 0, run: insertAfter },
    { id: "insert-here", label: t("Insert a node here"), group: "add", edits: true, menu: ["edge"], quiet: true, when: (e) => Boolean(oneEdge(e)), run: (e, detail) => insertInto(e, oneEdge(e), detail) },
    { id: "connect", label: t("Connect to…"), keys: "C", group: "add", edits: true, menu: ["node"], when: hasOne, run: connectFrom },
    { id: "disconnect", label: t("Remove a connection…"), keys: "Shift+C", group: "add", edits: true, menu: ["node"], when: (e) => hasOne(e) && connections(e, only(e)).length > 0, run: disconnectFrom },
  );
}

// Tab goes on, as everywhere, unless a node is focused; pressed once more, in the picker, it goes on from there too.
const isOnNode = () => document.activeElement?.localName === "wf-node";

function onCanvas(editor) {
  const active = document.activeElement;
  return active === document.body || !active || Boolean(active.closest("[data-canvas], #outline")) || editor.selection.size === 0;
}

function listen(editor) {
  const canvas = editor.root.querySelector("[data-canvas]");
  // a popover that opens while the pointer is being let go is closed by that very release
  editor.addEventListener("connect-void", (event) => setTimeout(() => fromVoid(editor, event.detail)));
  editor.addEventListener("open-void", ({ detail }) => editor.commands.run("add-node", { x: detail.clientX, y: detail.clientY, alone: true, scope: detail.scope }));
  canvas.addEventListener("dblclick", (event) => {
    if (event.target.closest("button, input, textarea, a, .wf-minimap, .wf-tools, .wf-crumbs")) return;
    const { edge } = editor.canvas.at(event.clientX, event.clientY);
    if (edge) insertInto(editor, edge, { x: event.clientX, y: event.clientY });
  });
  showPlus(editor, {
    edge: (edge, at) => insertInto(editor, edge, at),
    port: (node, port, at) => fromVoid(editor, { from: node.id, handle: port, out: true, clientX: at.x, clientY: at.y, beside: true }),
  });
}

async function addHere(editor, detail) {
  const after = detail?.alone ? null : only(editor);
  const scope = detail?.scope ?? workScope(editor);
  const from = after && !isNote(after) ? await firstFreePort(editor, after) : null;
  const kind = await pickKind(editor, { at: detail ?? after?.el, scope: from ? scopeOf(after) : scope, after: Boolean(from) });
  if (kind) await addNode(editor, { kind, at: detail, after: from ? { id: after.id, port: from } : null, scope: from ? scopeOf(after) : scope });
}

async function insertAfter(editor) {
  const node = only(editor);
  const edges = edgesFrom(editor, node.id);
  const edge = edges.length === 1 ? edges[0] : await pickEdge(editor, edges, t("Insert where?"), node);
  if (edge) await insertInto(editor, edge, node.el);
}

async function insertInto(editor, edge, at) {
  if (!edge) return;
  const scope = scopeOf(editor.model.nodes.get(edge.from));
  const kind = await pickKind(editor, { at, scope, after: true, before: true });
  if (kind) await addBetween(editor, { kind, edge });
}

/** An edge was let go over nothing: what should stand there? */
async function fromVoid(editor, detail) {
  const from = editor.model.nodes.get(detail.from);
  if (!from) return;
  const { handle, out, beside } = detail;
  const at = { x: detail.clientX, y: detail.clientY };
  const kind = await pickKind(editor, { at, scope: scopeOf(from), after: out, before: !out });
  if (!kind) return;
  const end = { id: from.id, port: handle };
  await addNode(editor, { kind, at: beside ? null : at, scope: scopeOf(from), ...(out ? { after: end } : { before: end }) });
}

async function firstFreePort(editor, node) {
  const outs = outsOf(node);
  const taken = new Set(edgesFrom(editor, node.id).map((edge) => edge.fp));
  return outs.find((port) => !taken.has(port)) ?? outs[0] ?? null;
}

/** The kinds of nodes, those used lately first, without those that can't stand there. */
async function pickKind(editor, { at, scope = ROOT, after = false, before = false } = {}) {
  const fits = (kind) => (!after || kind.takes) && (!before || kind.gives) && !refused(editor, kind, scope);
  const recent = kept(RECENT, []);
  const rank = (kind) => (recent.includes(kind.id) ? recent.indexOf(kind.id) : recent.length);
  const kinds = (editor.kinds ?? []).filter(fits).map((kind) => ({ ...kind, group: recent.includes(kind.id) ? t("Used lately") : kind.group }));
  kinds.sort((a, b) => rank(a) - rank(b));
  const title = after || before ? t("Add and connect") : t("Add a node");
  const chosen = await editor.choose({ title, placeholder: t("Search nodes…"), choices: kinds, at });
  if (chosen) remember(chosen, recent);
  return chosen;
}

const remember = (kind, recent) => keep(RECENT, [kind, ...recent.filter((other) => other !== kind)].slice(0, 4));

function pickNode(editor, { title, nodes, at }) {
  const choices = nodes.map((node) => ({ id: node.id, name: nameOf(editor, node.id), hint: kindName(editor, node.kind), icon: node.el.querySelector(".icon"), words: [node.id] }));
  return editor.choose({ title, placeholder: t("Search by name…"), choices, at });
}

async function pickEdge(editor, edges, title, node) {
  const choices = edges.map((edge) => ({
    id: edge.id,
    name: edge.from === node.id ? t("to {name}", { name: nameOf(editor, edge.to) }) : t("from {name}", { name: nameOf(editor, edge.from) }),
    hint: portName(editor, editor.model.nodes.get(edge.from), edge.fp),
  }));
  return editor.model.edges.get(await editor.choose({ title, choices, at: node.el }));
}

const connections = (editor, node) => [...editor.model.edges.values()].filter((edge) => edge.from === node.id || edge.to === node.id);

function oneEdge(editor) {
  const id = [...editor.selection].find((chosen) => editor.model.edges.has(chosen));
  return editor.model.edges.get(id);
}

/** Connecting without a pointer: which way out, then where to. */
async function connectFrom(editor) {
  const node = only(editor);
  const others = inScope(editor, scopeOf(node));
  const targets = (port) => others.filter((other) => !refusal(editor.model, { from: node.id, fp: port, to: other.id }));
  const ports = outsOf(node).filter((port) => targets(port).length);
  if (!ports.length) return connectInto(editor, node, others);
  const port = await pickPort(editor, node, ports, node);
  const target = port && (await pickNode(editor, { title: t("Connect to…"), nodes: targets(port), at: node.el }));
  if (target) await connect(editor, { source: node.id, handle: port, target }, node);
}

/** Nothing can follow it here, but it may follow something. */
async function connectInto(editor, node, others) {
  const free = (other) => outsOf(other).filter((port) => !refusal(editor.model, { from: other.id, fp: port, to: node.id }));
  const nodes = others.filter((other) => free(other).length);
  if (!nodes.length) return editor.say(t("There is nothing here to connect to"));
  const source = await pickNode(editor, { title: t("Connect from…"), nodes, at: node.el });
  const from = editor.model.nodes.get(source);
  const handle = from && (await pickPort(editor, from, free(from), node));
  if (handle) await connect(editor, { source, handle, target: node.id }, node);
}

async function pickPort(editor, node, ports, beside) {
  const choices = ports.map((port) => ({ id: port, name: portName(editor, node, port) }));
  return ports.length === 1 ? ports[0] : editor.choose({ title: t("From which way out?"), choices, at: beside.el });
}

async function connect(editor, edge, node) {
  const words = t("Connected {from} to {to}", { from: nameOf(editor, edge.source), to: nameOf(editor, edge.target) });
  if (await editor.edits.send([{ op: "connect", edge }], { label: words })) editor.say(words);
  goTo(editor, node.id);
}

async function disconnectFrom(editor) {
  const node = only(editor);
  const edge = await pickEdge(editor, connections(editor, node), t("Remove which connection?"), node);
  if (!edge) return;
  const words = t("Disconnected {from} from {to}", { from: nameOf(editor, edge.from), to: nameOf(editor, edge.to) });
  if (await editor.edits.send([{ op: "disconnect", id: edge.id }], { label: words })) editor.say(words);
  goTo(editor, node.id);
}
