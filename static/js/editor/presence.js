// Who is here: names in the bar, what each has chosen, where each points, and who is at which node's settings.

import { nameOf } from "./graph.js";
import { t } from "./words.js";

const CHOICE_EVERY = 150; // ms
const CURSOR_EVERY = 120;
const CURSOR_STAYS = 8000;
const SHOWN = 4;

export function install(editor) {
  const mine = new Mine(editor);
  const others = new Others(editor);
  editor.addEventListener("presence", ({ detail: { people } }) => {
    others.show(people.filter(({ client }) => client !== editor.edits.client));
    mine.isWatched = others.people.length > 0;
  });
  editor.addEventListener("cursor", ({ detail }) => others.point(detail));
  editor.addEventListener("change", () => others.mark()); // cards that came in show who chose them
  editor.addEventListener("live", ({ detail: { isOpen } }) => (isOpen ? mine.again() : others.show([])));
}

/** What this tab says of itself; no more often than anybody could follow. */
class Mine {
  isWatched = false; // nobody there: nobody to tell
  #told = "";
  #timer = 0;
  #cursorAt = 0;

  constructor(editor) {
    this.editor = editor;
    this.editing = null;
    editor.addEventListener("selection", () => this.#soon());
    const panel = editor.root.querySelector("#panel-node");
    panel?.addEventListener("focusin", () => this.#edits([...editor.selection].find((id) => editor.model.nodes.has(id)) ?? null));
    panel?.addEventListener("focusout", () => this.#edits(null));
    editor.root.querySelector("[data-canvas]")?.addEventListener("pointermove", (event) => this.#points(event), { passive: true });
  }

  /** After a new connection the server knows nothing of this tab. */
  again() {
    this.#told = "";
    this.#soon();
  }

  #edits(id) {
    this.editing = id;
    this.#soon();
  }

  #soon() {
    this.#timer ||= setTimeout(() => {
      this.#timer = 0;
      const said = { selection: [...this.editor.selection].slice(0, 200), editing: this.editing };
      if (JSON.stringify(said) === this.#told) return;
      this.#told = JSON.stringify(said);
      this.#say(said);
    }, CHOICE_EVERY);
  }

  #points({ clientX, clientY }) {
    const now = Date.now();
    if (!this.isWatched || now - this.#cursorAt < CURSOR_EVERY) return;
    this.#cursorAt = now;
    const { viewport } = this.editor.canvas;
    const box = viewport.root.getBoundingClientRect();
    this.#say({ cursor: { x: (clientX - box.left - viewport.x) / viewport.k, y: (clientY - box.top - viewport.y) / viewport.k } });
  }

  #say(said) {
    const headers = { "Content-Type": "application/json", "X-CSRFToken": JSON.parse(document.body.getAttribute("hx-headers:inherited") ?? "{}")["X-CSRFToken"] ?? "" };
    const body = JSON.stringify({ client: this.editor.edits.client, ...said });
    fetch(this.editor.urls.presence, { method: "POST", headers, body, redirect: "manual" }).catch(() => {});
  }
}

class Others {
  people = [];
  #cursors = new Map();
  #marked = new Set();

  constructor(editor) {
    this.editor = editor;
    this.place = editor.root.querySelector("#presence");
    this.layer = document.createElement("div");
    this.layer.className = "tg-cursors";
    this.layer.setAttribute("aria-hidden", "true");
    editor.root.querySelector("[data-canvas]")?.append(this.layer);
    this.hint = document.createElement("p");
    this.hint.className = "tg-hint";
    this.hint.hidden = true;
    editor.root.querySelector("#panel-node")?.before(this.hint);
    editor.canvas.viewport?.addEventListener("move", () => this.#placeAll());
    editor.addEventListener("selection", () => this.#warn());
    this.place?.addEventListener("click", (event) => this.#visit(event.target.closest("[data-client]")?.dataset.client));
  }

  show(people) {
    const before = new Set(this.people.map(({ user }) => user));
    const hadAny = this.people.length > 0;
    this.people = people;
    for (const client of this.#cursors.keys()) if (!people.some((one) => one.client === client)) this.#forget(client);
    this.#bar();
    this.mark();
    this.#warn();
    const came = this.#faces().filter(({ user }) => hadAny && !before.has(user));
    if (came.length) this.editor.say(t("{who} is here.", { who: came.map(({ name }) => name).join(", ") }));
  }

  /** One face a person, however many tabs; one's own other tabs aren't somebody else. */
  #faces() {
    const faces = new Map();
    for (const one of this.people) if (one.user !== this.editor.root.dataset.me && !faces.has(one.user)) faces.set(one.user, one);
    return [...faces.values()];
  }

  #bar() {
    if (!this.place) return;
    const faces = this.#faces();
    const shown = faces.slice(0, SHOWN).map((one) => {
      const face = document.createElement("button");
      face.type = "button";
      face.className = `tg-face tg-person-${one.colour}`;
      face.dataset.client = one.client;
      face.textContent = one.initials;
      const where = one.editing ?? one.selection[0];
      const words = where ? t("{who}, at {node}", { who: one.name, node: nameOf(this.editor, where) }) : one.edits ? one.name : t("{who}, looking", { who: one.name });
      face.title = words;
      face.setAttribute("aria-label", words);
      return face;
    });
    if (faces.length > SHOWN) {
      const more = document.createElement("span");
      more.className = "tg-face tg-more";
      more.textContent = `+${faces.length - SHOWN}`;
      more.title = faces.slice(SHOWN).map(({ name }) => name).join(", ");
      shown.push(more);
    }
    this.place.replaceChildren(...shown);
  }

  /** A coloured outline and a name on what others have chosen. */
  mark() {
    const chosen = new Map();
    for (const one of this.people) {
      if (one.user === this.editor.root.dataset.me) continue;
      for (const id of one.selection) chosen.set(id, one);
    }
    for (const id of this.#marked) if (!chosen.has(id)) this.#set(id, null);
    for (const [id, one] of chosen) this.#set(id, one);
    this.#marked = new Set(chosen.keys());
  }

  #set(id, one) {
    const el = this.editor.model.nodes.get(id)?.el;
    if (!el) return;
    for (const name of [...el.classList]) if (name.startsWith("tg-person-")) el.classList.remove(name);
    el.toggleAttribute("data-peer", Boolean(one));
    let tag = el.querySelector(":scope > .tg-name");
    if (!one) return tag?.remove();
    el.classList.add(`tg-person-${one.colour}`);
    if (!tag) {
      tag = document.createElement("span");
      tag.className = "tg-name";
      tag.setAttribute("aria-hidden", "true");
      el.append(tag);
    }
    if (tag.textContent !== one.name) tag.textContent = one.name;
  }

  /** Beside the settings of a node: somebody else is at them. */
  #warn() {
    const at = this.people.filter(({ user, editing }) => user !== this.editor.root.dataset.me && editing && this.editor.selection.has(editing));
    this.hint.hidden = at.length === 0;
    if (at.length) this.hint.textContent = t("{who} is editing this node.", { who: at.map(({ name }) => name).join(", ") });
  }

  #visit(client) {
    const one = this.people.find((person) => person.client === client);
    const where = one?.editing ?? one?.selection[0];
    if (where && this.editor.model.nodes.has(where)) this.editor.canvas.reveal(where);
  }

  point({ client, x, y }) {
    const one = this.people.find((person) => person.client === client);
    if (!one || one.user === this.editor.root.dataset.me) return;
    const cursor = this.#cursors.get(client) ?? this.#make(one);
    Object.assign(cursor, { x, y });
    clearTimeout(cursor.timer);
    cursor.timer = setTimeout(() => this.#forget(client), CURSOR_STAYS);
    this.#place(cursor);
  }

  #make(one) {
    const el = document.createElement("div");
    el.className = `tg-cursor tg-person-${one.colour}`;
    const name = document.createElement("span");
    name.textContent = one.name;
    el.append(name);
    this.layer.append(el);
    const cursor = { el };
    this.#cursors.set(one.client, cursor);
    return cursor;
  }

  #placeAll() {
    for (const cursor of this.#cursors.values()) this.#place(cursor);
  }

  #place({ el, x, y }) {
    const { viewport } = this.editor.canvas;
    el.style.transform = `translate(${x * viewport.k + viewport.x}px, ${y * viewport.k + viewport.y}px)`;
  }

  #forget(client) {
    const cursor = this.#cursors.get(client);
    clearTimeout(cursor?.timer);
    cursor?.el.remove();
    this.#cursors.delete(client);
  }
}
