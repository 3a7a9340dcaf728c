// The guided tour: one bubble at a time, beside what it speaks of. It goes on when the thing was done,
// never on "next"; where it is is kept on the server, for a reload is part of it.

const GAP = 12;

export class Tour {
  #bubbles;
  #at = -1;
  #seen = new Set();

  constructor(editor, root, keep) {
    this.editor = editor;
    this.root = root;
    this.keep = keep;
    this.#bubbles = [...document.getElementById("tour-bubbles").content.children];
    this.left = "";
    root.querySelector("[data-tour-end]").addEventListener("click", () => this.end());
    document.addEventListener("keydown", (event) => this.#key(event));
    editor.root.addEventListener("run-event", ({ detail }) => this.#ran(detail));
    editor.addEventListener("run-over", () => this.#happened("finished"));
    new MutationObserver((changes) => this.#toasted(changes)).observe(document.getElementById("toasts"), { childList: true, subtree: true });
    document.addEventListener("toggle", () => this.#look(), true);
    new MutationObserver(() => this.#look()).observe(editor.root, { childList: true, subtree: true, attributes: true, attributeFilter: ["open", "hidden"] });
    for (const name of ["resize", "scroll"]) window.addEventListener(name, () => this.#put(), { passive: true, capture: true });
  }

  get isOn() {
    return this.#at >= 0;
  }

  begin(place = "") {
    const found = this.#bubbles.findIndex((bubble) => bubble.dataset.place === place);
    this.#go(Math.max(found, 0));
  }

  end() {
    if (!this.isOn) return;
    this.left = this.#bubble?.dataset.place ?? "";
    this.#at = -1;
    this.root.hidden = true;
    this.keep("");
  }

  get #bubble() {
    return this.#bubbles[this.#at];
  }

  /** The newest of its kind that can be seen: a conversation has one "recalled" a turn. */
  get #anchor() {
    const all = document.querySelectorAll(`[data-tour="${this.#bubble.dataset.anchor}"]`);
    return [...all].filter((element) => element.checkVisibility()).at(-1);
  }

  #go(at) {
    this.#at = at;
    this.#seen.clear();
    if (!this.#bubble) {
      this.#at = -1;
      this.root.hidden = true;
      this.left = "";
      this.keep("");
      return;
    }
    const [title, text] = this.#bubble.children;
    this.root.querySelector("#tour-title").textContent = title.textContent;
    this.root.querySelector("#tour-text").textContent = text.textContent;
    this.root.querySelector("[data-tour-count]").textContent = `${at + 1}/${this.#bubbles.length}`;
    this.root.hidden = false;
    this.editor.say(`${title.textContent}. ${text.textContent}`);
    this.keep(this.#bubble.dataset.place);
    this.#look();
  }

  #ran({ name, data }) {
    if (name === "memory_written") this.#seen.add("written");
    if (name === "memory_recalled" && data.entries?.length) this.#seen.add("recalled");
  }

  #happened(what) {
    if (!this.isOn) return;
    this.#seen.add(what);
    this.#look();
  }

  #toasted(changes) {
    for (const { addedNodes } of changes) {
      for (const node of addedNodes) if (node.dataset?.happened) this.#happened(node.dataset.happened);
    }
  }

  /** Done already, or nothing left to do it with: on. */
  #look() {
    if (!this.isOn) return;
    const anchor = this.#anchor;
    const until = this.#bubble.dataset.until;
    if (this.#isDone(until, anchor) || (!anchor && ["opened", "undone"].includes(until))) this.#go(this.#at + 1);
    else this.#put();
  }

  #isDone(until, anchor) {
    const person = document.querySelector("#chat-place [name=person]")?.value;
    switch (until) {
      case "opened":
        return Boolean(anchor?.closest("details")?.open);
      case "empty":
        return !document.querySelector("#chat-log .bubble");
      case "other":
        return Boolean(person);
      case "oneself":
        return !person;
      case "published":
        return Boolean(document.querySelector("#published.pill-ok"));
      case "written":
      case "recalled":
        return this.#seen.has(until) && this.#seen.has("finished");
      default:
        return this.#seen.has(until);
    }
  }

  #put() {
    if (!this.isOn) return;
    const place = this.#anchor?.getBoundingClientRect();
    const { offsetWidth: width, offsetHeight: height, style } = this.root;
    const inside = (value, most) => Math.max(8, Math.min(value, most - 8));
    if (!place) {
      style.left = `${inside(innerWidth - width - 24, innerWidth - width)}px`;
      style.top = `${inside(innerHeight - height - 96, innerHeight - height)}px`;
      return;
    }
    const beside = place.left - width - GAP;
    const above = place.top - height - GAP;
    style.left = `${inside(beside > 8 ? beside : place.left, innerWidth - width)}px`;
    style.top = `${inside(beside > 8 ? place.top : above > 8 ? above : place.bottom + GAP, innerHeight - height)}px`;
  }

  #key(event) {
    if (event.key !== "Escape" || event.defaultPrevented || !this.isOn) return;
    if (document.querySelector("dialog[open], [popover]:popover-open, details[data-dismiss][open]")) return;
    this.end();
  }
}
