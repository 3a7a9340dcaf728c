// A finger that rests on a node takes hold of it and selects it, so that it can be moved without a tap before.

const DELAY = 400; // ms; shorter than the browser's own long press
const VIBRATION = 12; // ms

export class LongPress {
  delay = DELAY;
  #timer = 0;
  #heldElement = null; // the element that is shown as held
  #selectedBefore = null;

  /** @param {(node: object) => void} onHold */
  constructor(canvas, onHold) {
    this.canvas = canvas;
    this.onHold = onHold;
  }

  /** Wait for the finger to rest on a node; nothing is held without one. */
  begin(node) {
    this.stop();
    this.#selectedBefore = null;
    if (node) this.#timer = setTimeout(() => this.#hold(node), this.delay);
  }

  #hold(node) {
    const { canvas } = this;
    this.#selectedBefore = [...canvas.selection];
    this.#heldElement = node.el;
    node.el.classList.add("held");
    navigator.vibrate?.(VIBRATION);
    if (!canvas.selection.has(node.id)) canvas.pick([node.id]);
    this.onHold(node);
  }

  /** Stop waiting, and no longer show a node as held. */
  stop() {
    clearTimeout(this.#timer);
    this.#heldElement?.classList.remove("held");
    this.#heldElement = null;
  }

  /** Stop, and select again what was selected before the node was held. */
  cancel() {
    this.stop();
    if (this.#selectedBefore) this.canvas.pick(this.#selectedBefore);
    this.#selectedBefore = null;
  }
}
