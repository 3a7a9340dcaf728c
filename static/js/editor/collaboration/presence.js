// Shows who is present: names in the bar, the selections and pointers of others, and who edits which node.

import { getNodeName } from "../graph_queries.js";
import { t } from "../../common/translations.js";

const SELECTION_INTERVAL = 150; // ms
const CURSOR_INTERVAL = 120;
const CURSOR_LIFETIME = 8000;
const MAX_FACES = 4;
const EMPTY_STATE = JSON.stringify({ selection: [], editing: null }); // what the others see of a tab that has sent nothing

export function install(editor) {
  const ownPresence = new OwnPresence(editor);
  const others = new OtherPeople(editor);
  editor.addEventListener("presence", ({ detail: { people } }) => {
    others.show(people.filter(({ client }) => client !== editor.edits.client));
    ownPresence.isWatched = others.people.length > 0;
  });
  editor.addEventListener("cursor", ({ detail }) => others.point(detail));
  editor.addEventListener("change", () => others.mark()); // mark selections on cards that were added
  editor.addEventListener("live", ({ detail: { isOpen } }) => (isOpen ? ownPresence.resend() : others.show([])));
}

/** Sends the selection and pointer of this tab, at a limited rate. */
class OwnPresence {
  isWatched = false; // nothing is sent while nobody watches
  #lastSent = EMPTY_STATE;
  #hasSent = false;
  #timer = 0;
  #cursorAt = 0;

  constructor(editor) {
    this.editor = editor;
    this.editing = null;
    editor.addEventListener("selection", () => this.#sendSoon());
    const panel = editor.root.querySelector("#panel-node");
    panel?.addEventListener("focusin", () => this.#setEditing([...editor.selection].find((id) => editor.model.nodes.has(id)) ?? null));
    panel?.addEventListener("focusout", () => this.#setEditing(null));
    editor.root.querySelector("[data-canvas]")?.addEventListener("pointermove", (event) => this.#sendCursor(event), { passive: true });
  }

  /** Send everything again after a new connection, if anything was sent before. */
  resend() {
    if (this.#hasSent) this.#lastSent = "";
    this.#sendSoon();
  }

  #setEditing(id) {
    this.editing = id;
    this.#sendSoon();
  }

  #sendSoon() {
    this.#timer ||= setTimeout(() => {
      this.#timer = 0;
      const state = { selection: [...this.editor.selection].slice(0, 200), editing: this.editing };
      if (JSON.stringify(state) === this.#lastSent) return;
      this.#lastSent = JSON.stringify(state);
      this.#hasSent = true;
      this.#send(state);
    }, SELECTION_INTERVAL);
  }

  #sendCursor({ clientX, clientY }) {
    const now = Date.now();
    if (!this.isWatched || now - this.#cursorAt < CURSOR_INTERVAL) return;
    this.#cursorAt = now;
    const { viewport } = this.editor.canvas;
    const box = viewport.root.getBoundingClientRect();
    this.#send({ cursor: { x: (clientX - box.left - viewport.x) / viewport.k, y: (clientY - box.top - viewport.y) / viewport.k } });
  }

  #send(state) {
    const headers = { "Content-Type": "application/json", "X-CSRFToken": JSON.parse(document.body.getAttribute("hx-headers:inherited") ?? "{}")["X-CSRFToken"] ?? "" };
    const body = JSON.stringify({ client: this.editor.edits.client, ...state });
    fetch(this.editor.urls.presence, { method: "POST", headers, body, redirect: "manual" }).catch(() => {});
  }
}

class OtherPeople {
  people = [];
  #cursors = new Map();
  #marked = new Set();

  constructor(editor) {
    this.editor = editor;
    this.bar = editor.root.querySelector("#presence");
    this.layer = document.createElement("div");
    this.layer.className = "tg-cursors";
    this.layer.setAttribute("aria-hidden", "true");
    editor.root.querySelector("[data-canvas]")?.append(this.layer);
    this.hint = document.createElement("p");
    this.hint.className = "tg-hint";
    this.hint.hidden = true;
    editor.root.querySelector("#panel-node")?.before(this.hint);
    editor.canvas.viewport?.addEventListener("move", () => this.#placeAll());
    editor.addEventListener("selection", () => this.#showEditors());
    this.bar?.addEventListener("click", (event) => this.#revealPerson(event.target.closest("[data-client]")?.dataset.client));
  }

  show(people) {
    const previousUsers = new Set(this.people.map(({ user }) => user));
    const hadAny = this.people.length > 0;
    this.people = people;
    for (const client of this.#cursors.keys()) if (!people.some((person) => person.client === client)) this.#removeCursor(client);
    this.#showFaces();
    this.mark();
    this.#showEditors();
    const arrived = this.#listFaces().filter(({ user }) => hadAny && !previousUsers.has(user));
    if (arrived.length) this.editor.say(t("{who} joined.", { who: arrived.map(({ name }) => name).join(", ") }));
  }

  /** Return one entry per other person, however many tabs they have open. */
  #listFaces() {
    const faces = new Map();
    for (const person of this.people) if (person.user !== this.editor.root.dataset.me && !faces.has(person.user)) faces.set(person.user, person);
    return [...faces.values()];
  }

  #showFaces() {
    if (!this.bar) return;
    const faces = this.#listFaces();
    const buttons = faces.slice(0, MAX_FACES).map((person) => {
      const face = document.createElement("button");
      face.type = "button";
      face.className = `tg-face tg-person-${person.colour}`;
      face.dataset.client = person.client;
      face.textContent = person.initials;
      const nodeId = person.editing ?? person.selection[0];
      const label = nodeId ? t("{who} at {node}", { who: person.name, node: getNodeName(this.editor, nodeId) }) : person.edits ? person.name : t("{who} (viewing)", { who: person.name });
      face.title = label;
      face.setAttribute("aria-label", label);
      return face;
    });
    if (faces.length > MAX_FACES) {
      const more = document.createElement("span");
      more.className = "tg-face tg-more";
      more.textContent = `+${faces.length - MAX_FACES}`;
      more.title = faces.slice(MAX_FACES).map(({ name }) => name).join(", ");
      buttons.push(more);
    }
    this.bar.replaceChildren(...buttons);
  }

  /** Outline and name what others have selected. */
  mark() {
    const selected = new Map();
    for (const person of this.people) {
      if (person.user === this.editor.root.dataset.me) continue;
      for (const id of person.selection) selected.set(id, person);
    }
    for (const id of this.#marked) if (!selected.has(id)) this.#markNode(id, null);
    for (const [id, person] of selected) this.#markNode(id, person);
    this.#marked = new Set(selected.keys());
  }

  #markNode(id, person) {
    const el = this.editor.model.nodes.get(id)?.el;
    if (!el) return;
    for (const name of [...el.classList]) if (name.startsWith("tg-person-")) el.classList.remove(name);
    el.toggleAttribute("data-peer", Boolean(person));
    let tag = el.querySelector(":scope > .tg-name");
    if (!person) return tag?.remove();
    el.classList.add(`tg-person-${person.colour}`);
    if (!tag) {
      tag = document.createElement("span");
      tag.className = "tg-name";
      tag.setAttribute("aria-hidden", "true");
      el.append(tag);
    }
    if (tag.textContent !== person.name) tag.textContent = person.name;
  }

  /** Show who else edits the selected node, beside its settings. */
  #showEditors() {
    const editors = this.people.filter(({ user, editing }) => user !== this.editor.root.dataset.me && editing && this.editor.selection.has(editing));
    this.hint.hidden = editors.length === 0;
    if (editors.length) this.hint.textContent = t("{who} is editing this node.", { who: editors.map(({ name }) => name).join(", ") });
  }

  #revealPerson(client) {
    const entry = this.people.find((person) => person.client === client);
    const nodeId = entry?.editing ?? entry?.selection[0];
    if (nodeId && this.editor.model.nodes.has(nodeId)) this.editor.canvas.reveal(nodeId);
  }

  point({ client, x, y }) {
    const entry = this.people.find((person) => person.client === client);
    if (!entry || entry.user === this.editor.root.dataset.me) return;
    const cursor = this.#cursors.get(client) ?? this.#createCursor(entry);
    Object.assign(cursor, { x, y });
    clearTimeout(cursor.timer);
    cursor.timer = setTimeout(() => this.#removeCursor(client), CURSOR_LIFETIME);
    this.#place(cursor);
  }

  #createCursor(person) {
    const el = document.createElement("div");
    el.className = `tg-cursor tg-person-${person.colour}`;
    const name = document.createElement("span");
    name.textContent = person.name;
    el.append(name);
    this.layer.append(el);
    const cursor = { el };
    this.#cursors.set(person.client, cursor);
    return cursor;
  }

  #placeAll() {
    for (const cursor of this.#cursors.values()) this.#place(cursor);
  }

  #place({ el, x, y }) {
    const { viewport } = this.editor.canvas;
    el.style.transform = `translate(${x * viewport.k + viewport.x}px, ${y * viewport.k + viewport.y}px)`;
  }

  #removeCursor(client) {
    const cursor = this.#cursors.get(client);
    clearTimeout(cursor?.timer);
    cursor?.el.remove();
    this.#cursors.delete(client);
  }
}
