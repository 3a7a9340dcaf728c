// Fetches previews of the data on edges, batched shortly after steps end, and shows them in place of the size.

import { buildAddress } from "../../common/urls.js";
import { t } from "../../common/translations.js";

const BATCH_DELAY = 200; // ms to wait for further steps
const BATCH_SIZE = 100; // nodes per request
const RETRY_DELAY = 600; // ms until a missing preview is requested again, since a step may be announced before it is stored
const MAX_TRIES = 4;

export class Previews {
  #queue = new Set();
  #previews = new Map(); // node → {name, text}
  #timer = 0;
  #tries = new Map();

  /** `show(node)` is called for each preview that arrives. */
  constructor(editor, show) {
    this.editor = editor;
    this.show = show;
  }

  reset(run) {
    this.run = run;
    this.#queue.clear();
    this.#tries.clear();
    this.#previews.clear();
  }

  get(node) {
    return this.#previews.get(node);
  }

  request(node) {
    this.#previews.delete(node);
    this.#queue.add(node);
    this.#tries.set(node, MAX_TRIES);
    this.#timer ||= setTimeout(() => this.#fetch(), BATCH_DELAY);
  }

  async #fetch() {
    this.#timer = 0;
    const { run } = this;
    const nodes = [...this.#queue].slice(0, BATCH_SIZE);
    for (const node of nodes) this.#queue.delete(node);
    if (!run || !nodes.length) return;
    const query = new URLSearchParams(nodes.map((node) => ["node", node]));
    const base = buildAddress(this.editor.urls.run_place, run);
    try {
      const response = await fetch(`${base}previews/?${query}`);
      if (!response.ok || run !== this.run) return;
      const { previews } = await response.json();
      if (run !== this.run) return;
      for (const [node, preview] of Object.entries(previews)) {
        this.#previews.set(node, preview);
        this.show(node);
      }
      this.#retryMissing(nodes.filter((node) => !(node in previews)));
    } catch {
      return; // the sizes stay visible, and the values can be opened
    }
    if (this.#queue.size) this.#timer ||= setTimeout(() => this.#fetch(), 0);
  }

  #retryMissing(missing) {
    const { run } = this;
    const retries = missing.filter((node) => this.#tries.get(node) > 0);
    for (const node of retries) this.#tries.set(node, this.#tries.get(node) - 1);
    if (!retries.length) return;
    setTimeout(() => {
      if (run !== this.run) return;
      for (const node of retries) this.#queue.add(node);
      this.#timer ||= setTimeout(() => this.#fetch(), 0);
    }, RETRY_DELAY);
  }
}

/** Return the text and the title of a label: the number of items and the preview, or the size when there is no preview. */
export function createLabel({ count, size }, preview) {
  if (!preview?.text) return { text: count || size, title: t("Show data on this edge") };
  const full = `${preview.name}: ${preview.text}`;
  return { text: [count, preview.text].filter(Boolean).join(" · "), title: [full, size, t("Show data on this edge")].join("\n") };
}
