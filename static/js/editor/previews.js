// How what went along an edge begins: asked for a little after a step ended, many at once, and put in the place of its size.

import { addressOf } from "./address.js";
import { t } from "./words.js";

const REST = 200; // ms in which more steps may end
const AT_ONCE = 100; // nodes in one question
const AGAIN = 600; // ms until a step is asked about again: it may be told of before it is stored
const TRIES = 4;

export class Previews {
  #wanted = new Set();
  #known = new Map(); // node → {name, text}
  #timer = 0;
  #tries = new Map();

  /** `show(node)` is called for each that was found. */
  constructor(editor, show) {
    this.editor = editor;
    this.show = show;
  }

  reset(run) {
    this.run = run;
    this.#wanted.clear();
    this.#tries.clear();
    this.#known.clear();
  }

  of(node) {
    return this.#known.get(node);
  }

  want(node) {
    this.#known.delete(node);
    this.#wanted.add(node);
    this.#tries.set(node, TRIES);
    this.#timer ||= setTimeout(() => this.#ask(), REST);
  }

  async #ask() {
    this.#timer = 0;
    const { run } = this;
    const nodes = [...this.#wanted].slice(0, AT_ONCE);
    for (const node of nodes) this.#wanted.delete(node);
    if (!run || !nodes.length) return;
    const query = new URLSearchParams(nodes.map((node) => ["node", node]));
    const place = addressOf(this.editor.urls.run_place, run);
    try {
      const answer = await fetch(`${place}previews/?${query}`);
      if (!answer.ok || run !== this.run) return;
      const { previews } = await answer.json();
      if (run !== this.run) return;
      for (const [node, preview] of Object.entries(previews)) {
        this.#known.set(node, preview);
        this.show(node);
      }
      this.#later(nodes.filter((node) => !(node in previews)));
    } catch {
      return; // the sizes stand there; the values are a press away
    }
    if (this.#wanted.size) this.#timer ||= setTimeout(() => this.#ask(), 0);
  }

  #later(missing) {
    const { run } = this;
    const again = missing.filter((node) => this.#tries.get(node) > 0);
    for (const node of again) this.#tries.set(node, this.#tries.get(node) - 1);
    if (!again.length) return;
    setTimeout(() => {
      if (run !== this.run) return;
      for (const node of again) this.#wanted.add(node);
      this.#timer ||= setTimeout(() => this.#ask(), 0);
    }, AGAIN);
  }
}

/** What a label says: how many and how they begin; the size only where there is nothing to show, it stands at the node as well. */
export function labelled({ count, size }, preview) {
  if (!preview?.text) return { text: count || size, title: t("Show what went along here") };
  const whole = `${preview.name}: ${preview.text}`;
  return { text: [count, preview.text].filter(Boolean).join(" · "), title: [whole, size, t("Show what went along here")].join("\n") };
}
