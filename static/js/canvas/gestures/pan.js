// Moves the graph with one pointer, or zooms and moves it with two fingers.

export class Pan {
  name = "pan";
  needsShield = true;

  constructor(canvas, point) {
    this.canvas = canvas;
    this.from = point;
    this.start = [canvas.viewport.x, canvas.viewport.y];
  }

  move({ px, py }) {
    this.canvas.viewport.set(this.start[0] + px - this.from.px, this.start[1] + py - this.from.py);
  }

  end() {}
  cancel() {}
}

/** Zooms about the point between two fingers and pans with it. */
export class Pinch {
  name = "pinch";
  needsShield = true;

  constructor(canvas, pointers) {
    this.canvas = canvas;
    this.pointers = pointers;
    this.last = this.#read();
  }

  #read() {
    const [a, b] = [...this.pointers.values()];
    if (!b) return this.last;
    return { px: (a.px + b.px) / 2, py: (a.py + b.py) / 2, distance: Math.max(1, Math.hypot(a.px - b.px, a.py - b.py)) };
  }

  move() {
    const now = this.#read();
    const { viewport: v } = this.canvas;
    v.set(v.x + now.px - this.last.px, v.y + now.py - this.last.py, v.k, { isGesture: true });
    v.zoomAt(now.px, now.py, now.distance / this.last.distance);
    this.last = now;
  }

  end() {}
  cancel() {}
}
