// Moves the graph while something is dragged near the edge of the view.

const EDGE_WIDTH = 36; // pixels
const MAX_SPEED = 14; // pixels a frame

export class AutoPan {
  #frame = 0;
  #speed = [0, 0];

  constructor(canvas) {
    this.canvas = canvas;
  }

  follow({ px, py }) {
    const { width, height } = this.canvas.viewport;
    this.#speed = [computeSpeed(px, width), computeSpeed(py, height)];
    if (this.#speed.some(Boolean)) this.#frame ||= requestAnimationFrame(() => this.#step());
  }

  #step() {
    this.#frame = 0;
    const { viewport, pointers } = this.canvas;
    if (!this.#speed.some(Boolean) || !pointers.gesture) return;
    viewport.set(viewport.x + this.#speed[0], viewport.y + this.#speed[1]);
    pointers.step(); // calls follow() again
  }

  end() {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
  }
}

function computeSpeed(position, size) {
  if (position < EDGE_WIDTH) return Math.min(MAX_SPEED, (EDGE_WIDTH - position) / 3);
  if (position > size - EDGE_WIDTH) return -Math.min(MAX_SPEED, (position - size + EDGE_WIDTH) / 3);
  return 0;
}
