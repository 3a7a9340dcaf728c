// The guided tour shows one bubble at a time beside its subject. It continues when the step was done, without a "next"
// button. Steps may be taken in any order: one that was taken before its turn is not asked for again. The position is stored
// on the server, the steps taken in this browser, so that both survive a reload.

import { loadValue, storeValue } from "../common/storage.js";

const GAP = 12;
// Steps that mean something only after another one.
const AFTER = { look: "tell", anew: "tell", ask: "anew", cite: "ask", back: "other", undo: "forget" };
const OWN_STEPS = new Set(["tell", "look", "anew", "ask", "cite", "forget", "undo"]);

export class Tour {
  #bubbles;
  #index = -1;
  #completed = new Set(); // what happened in the present run, and what was forgotten or restored
  #taken; // names of the bubbles whose step was taken

  constructor(editor, root, storePosition) {
    this.editor = editor;
    this.key = `tour-taken:${editor.root.dataset.workflow}`;
    this.#taken = new Set(loadValue(this.key, []));
    this.root = root;
    this.storePosition = storePosition;
    this.#bubbles = [...document.getElementById("tour-bubbles").content.children];
    this.resumeAt = "";
    root.querySelector("[data-tour-end]").addEventListener("click", () => this.end());
    document.addEventListener("keydown", (event) => this.#onKey(event));
    editor.root.addEventListener("run-event", ({ detail }) => this.#onRunEvent(detail));
    editor.addEventListener("run-over", () => this.#isReplay || this.#complete("finished"));
    new MutationObserver((changes) => this.#onToast(changes)).observe(document.getElementById("toasts"), { childList: true, subtree: true });
    document.addEventListener("toggle", () => this.#update(), true);
    new MutationObserver(() => this.#update()).observe(editor.root, { childList: true, subtree: true, attributes: true, attributeFilter: ["open", "hidden"] });
    for (const name of ["resize", "scroll"]) window.addEventListener(name, () => this.#place(), { passive: true, capture: true });
  }

  get isOn() {
    return this.#index >= 0;
  }

  /** Begin at a bubble, by its name; without one, from the start. */
  begin(name = "") {
    const index = this.#bubbles.findIndex((bubble) => bubble.dataset.place === name);
    if (index <= 0) this.#taken.clear();
    for (const bubble of this.#bubbles.slice(0, Math.max(index, 0))) this.#taken.add(bubble.dataset.place);
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

  get #anchor() {
    return this.#findAnchor(this.#bubble);
  }

  /** Return the newest visible anchor: a conversation has one "recalled" per turn. */
  #findAnchor(bubble) {
    const all = document.querySelectorAll(`[data-tour="${bubble.dataset.anchor}"]`);
    return [...all].filter((element) => element.checkVisibility()).at(-1);
  }

  #goTo(index) {
    this.#index = index;
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

  /** Return whether the editor shows the run of an earlier page again: that takes no step. A new run may end before it is followed. */
  get #isReplay() {
    const { runs } = this.editor;
    return Boolean(runs?.isOld) && runs.run === runs.restored;
  }

  #onRunEvent({ name, data }) {
    if (this.#isReplay) return;
    if (name === "run_started") for (const event of ["recalled", "finished"]) this.#completed.delete(event);
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

  /** Note which steps were taken, and continue with the first one that was not and that can be. */
  #update() {
    if (!this.isOn) return;
    const before = this.#taken.size;
    for (const bubble of this.#bubbles) if (this.#isDone(bubble)) this.#taken.add(bubble.dataset.place);
    if (this.#taken.size !== before) storeValue(this.key, [...this.#taken]);
    const next = this.#chooseNext();
    if (next === this.#index) this.#place();
    else this.#goTo(next < 0 ? this.#bubbles.length : next);
  }

  /** Return the index of the first step that can be taken now; what concerns one's own memory needs oneself. */
  #chooseNext() {
    const next = this.#bubbles.findIndex((bubble, index) => !this.#taken.has(bubble.dataset.place) && (index > this.#index || !this.#isPointless(bubble)));
    if (!this.#person || !OWN_STEPS.has(this.#bubbles[next]?.dataset.place)) return next;
    const way = this.#taken.has("same") ? "back" : "same";
    return this.#bubbles.findIndex((bubble) => bubble.dataset.place === way);
  }

  /** Return the user that one talks as, or nothing as oneself. */
  get #person() {
    return document.querySelector("#chat-place [name=person]")?.value;
  }

  /** Return whether a step that waits for something on the page has nothing to be done with. */
  #isPointless(bubble) {
    return ["opened", "undone"].includes(bubble.dataset.until) && !this.#findAnchor(bubble);
  }

  #isDone(bubble) {
    const { until, place } = bubble.dataset;
    if (place in AFTER && !this.#taken.has(AFTER[place])) return false;
    const person = this.#person;
    const happened = (event) => this.#completed.has(event) && this.#completed.has("finished");
    switch (until) {
      case "opened":
        return Boolean(this.#findAnchor(bubble)?.closest("details")?.open);
      case "empty":
        return !document.querySelector("#chat-log .bubble");
      case "other":
        return Boolean(person);
      case "oneself":
        return !person;
      case "finished": // asked as somebody else
        return Boolean(person) && this.#completed.has("finished");
      case "published":
        return Boolean(document.querySelector("#published.pill-ok"));
      case "written": // or known already, so that nothing was written
        return this.#completed.has("finished");
      case "recalled":
        return happened(until);
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
