// What is chosen. A Set that others read; it changes through the canvas, which tells the editor.

export class Selection extends Set {
  #canvas;

  constructor(canvas) {
    super();
    this.#canvas = canvas;
  }

  /** Choose these; with `add`, besides what is chosen. */
  pick(ids, add = false) {
    const wanted = new Set(add ? [...this, ...ids] : ids);
    if (wanted.size === this.size && [...wanted].every((id) => this.has(id))) return;
    for (const id of [...this]) {
      if (wanted.has(id)) continue;
      this.delete(id);
      this.#mark(id, false);
    }
    for (const id of wanted) {
      if (this.has(id) || !this.#element(id)) continue;
      this.add(id);
      this.#mark(id, true);
    }
    this.#canvas.far.mark();
    this.#canvas.emit("selection", { ids: [...this] });
  }

  toggle(id) {
    this.pick(this.has(id) ? [...this].filter((other) => other !== id) : [...this, id]);
  }

  /** After its elements were replaced. */
  mark(id) {
    this.#mark(id, this.has(id));
  }

  /** What is gone is not chosen. */
  drop(ids) {
    const lost = new Set(ids);
    if ([...this].some((id) => lost.has(id))) this.pick([...this].filter((id) => !lost.has(id)));
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
