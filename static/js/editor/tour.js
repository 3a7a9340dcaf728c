// The guided tour shows one bubble at a time beside its subject. It continues when the step was done, without a "next"
// button; its position is stored on the server and survives a reload.

const GAP = 12;

export class Tour {
  #bubbles;
  #index = -1;
  #completed = new Set();

  constructor(editor, root, storePosition) {
    this.editor = editor;
    this.root = root;
    this.storePosition = storePosition;
    this.#bubbles = [...document.getElementById("tour-bubbles").content.children];
    this.resumeAt = "";
    root.querySelector("[data-tour-end]").addEventListener("click", () => this.end());
    document.addEventListener("keydown", (event) => this.#onKey(event));
    editor.root.addEventListener("run-event", ({ detail }) => this.#onRunEvent(detail));
    editor.addEventListener("run-over", () => this.#complete("finished"));
    new MutationObserver((changes) => this.#onToast(changes)).observe(document.getElementById("toasts"), { childList: true, subtree: true });
    document.addEventListener("toggle", () => this.#update(), true);
    new MutationObserver(() => this.#update()).observe(editor.root, { childList: true, subtree: true, attributes: true, attributeFilter: ["open", "hidden"] });
    for (const name of ["resize", "scroll"]) window.addEventListener(name, () => this.#place(), { passive: true, capture: true });
  }

  get isOn() {
    return this.#index >= 0;
  }

  begin(anchorBox = "") {
    const index = this.#bubbles.findIndex((bubble) => bubble.dataset.place === anchorBox);
    this.#goTo(Math.max(index, 0));
  }

  end() {
    if (!this.isOn) return;
    this.resumeAt = this.#bubble?.dataset.place ?? "";
    this.#index = -1;
    this.root.hidden = true;
    this.storePosition("");
  }

  get #bubble() {
    return this.#bubbles[this.#index];
  }

  /** Return the newest visible anchor: a conversation has one "recalled" per turn. */
  get #anchor() {
    const all = document.querySelectorAll(`[data-tour="${this.#bubble.dataset.anchor}"]`);
    return [...all].filter((element) => element.checkVisibility()).at(-1);
  }

  #goTo(index) {
    this.#index = index;
    this.#completed.clear();
    if (!this.#bubble) {
      this.#index = -1;
      this.root.hidden = true;
      this.resumeAt = "";
      this.storePosition("");
      return;
    }
    const [title, text] = this.#bubble.children;
    this.root.querySelector("#tour-title").textContent = title.textContent;
    this.root.querySelector("#tour-text").textContent = text.textContent;
    this.root.querySelector("[data-tour-count]").textContent = `${index + 1}/${this.#bubbles.length}`;
    this.root.hidden = false;
    this.editor.say(`${title.textContent}. ${text.textContent}`);
    this.storePosition(this.#bubble.dataset.place);
    this.#update();
  }

  #onRunEvent({ name, data }) {
    if (name === "memory_written") this.#completed.add("written");
    if (name === "memory_recalled" && data.entries?.length) this.#completed.add("recalled");
  }

  #complete(step) {
    if (!this.isOn) return;
    this.#completed.add(step);
    this.#update();
  }

  #onToast(changes) {
    for (const { addedNodes } of changes) {
      for (const node of addedNodes) if (node.dataset?.happened) this.#complete(node.dataset.happened);
    }
  }

  /** Continue when the step is done, or nothing is left to do it with. */
  #update() {
    if (!this.isOn) return;
    const anchor = this.#anchor;
    const until = this.#bubble.dataset.until;
    if (this.#isDone(until, anchor) || (!anchor && ["opened", "undone"].includes(until))) this.#goTo(this.#index + 1);
    else this.#place();
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
        return this.#completed.has(until) && this.#completed.has("finished");
      default:
        return this.#completed.has(until);
    }
  }

  #place() {
    if (!this.isOn) return;
    const anchorBox = this.#anchor?.getBoundingClientRect();
    const { offsetWidth: width, offsetHeight: height, style } = this.root;
    const clampToScreen = (value, max) => Math.max(8, Math.min(value, max - 8));
    if (!anchorBox) {
      style.left = `${clampToScreen(innerWidth - width - 24, innerWidth - width)}px`;
      style.top = `${clampToScreen(innerHeight - height - 96, innerHeight - height)}px`;
      return;
    }
    const leftOf = anchorBox.left - width - GAP;
    const above = anchorBox.top - height - GAP;
    style.left = `${clampToScreen(leftOf > 8 ? leftOf : anchorBox.left, innerWidth - width)}px`;
    style.top = `${clampToScreen(leftOf > 8 ? anchorBox.top : above > 8 ? above : anchorBox.bottom + GAP, innerHeight - height)}px`;
  }

  #onKey(event) {
    if (event.key !== "Escape" || event.defaultPrevented || !this.isOn) return;
    if (document.querySelector("dialog[open], [popover]:popover-open, details[data-dismiss][open]")) return;
    this.end();
  }
}
