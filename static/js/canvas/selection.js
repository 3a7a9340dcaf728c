// The set of selected ids. Others read it; it changes through the canvas, which notifies the editor.

export class Selection extends Set {
  #canvas;

  constructor(canvas) {
    super();
    this.#canvas = canvas;
  }

  /** Select these ids, in addition to the present ones with `add`. */
  pick(ids, add = false) {
    const next = new Set(add ? [...this, ...ids] : ids);
    if (next.size === this.size && [...next].every((id) => this.has(id))) return;
    for (const id of [...this]) {
      if (next.has(id)) continue;
      this.delete(id);
      this.#mark(id, false);
    }
    for (const id of next) {
      if (this.has(id) || !this.#element(id)) continue;
      this.add(id);
      this.#mark(id, true);
    }
    this.#canvas.farView.mark();
    this.#canvas.labels.update();
    this.#canvas.emit("selection", { ids: [...this] });
  }

  toggle(id) {
    this.pick(this.has(id) ? [...this].filter((other) => other !== id) : [...this, id]);
  }

  /** Update the mark of an element that was replaced. */
  mark(id) {
    this.#mark(id, this.has(id));
  }

  /** Remove deleted ids from the selection. */
  drop(ids) {
    const removed = new Set(ids);
    if ([...this].some((id) => removed.has(id))) this.pick([...this].filter((id) => !removed.has(id)));
  }

  #element(id) {
    const { model } = this.#canvas;
    return (model.nodes.get(id) ?? model.edges.get(id))?.el;
  }

  #mark(id, on) {
    const el = this.#element(id);
    el?.classList.toggle("selected", on);
    if (el?.localName === "wf-node") el.toggleAttribute("data-selected", on);
  }
}
