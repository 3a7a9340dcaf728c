// Near the rim of the view the graph comes along while something is dragged.

const RIM = 36; // pixels
const FASTEST = 14; // pixels a frame

export class AutoPan {
  #frame = 0;
  #speed = [0, 0];

  constructor(canvas) {
    this.canvas = canvas;
  }

  follow({ px, py }) {
    const { width, height } = this.canvas.viewport;
    this.#speed = [speed(px, width), speed(py, height)];
    if (this.#speed.some(Boolean)) this.#frame ||= requestAnimationFrame(() => this.#step());
  }

  #step() {
    this.#frame = 0;
    const { viewport, pointers } = this.canvas;
    if (!this.#speed.some(Boolean) || !pointers.gesture) return;
    viewport.set(viewport.x + this.#speed[0], viewport.y + this.#speed[1]);
    pointers.step(); // which comes back to follow()
  }

  end() {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
  }
}

function speed(at, size) {
  if (at < RIM) return Math.min(FASTEST, (RIM - at) / 3);
  if (at > size - RIM) return -Math.min(FASTEST, (at - size + RIM) / 3);
  return 0;
}
