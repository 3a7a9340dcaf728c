// Two fingers: zoom about the point between them, and pan with it.

export class Pinch {
  name = "pinch";
  wantsGlass = true;

  constructor(canvas, pointers) {
    this.canvas = canvas;
    this.pointers = pointers;
    this.last = this.#read();
  }

  #read() {
    const [a, b] = [...this.pointers.values()];
    if (!b) return this.last;
    return { px: (a.px + b.px) / 2, py: (a.py + b.py) / 2, apart: Math.max(1, Math.hypot(a.px - b.px, a.py - b.py)) };
  }

  move() {
    const now = this.#read();
    const { viewport: v } = this.canvas;
    v.set(v.x + now.px - this.last.px, v.y + now.py - this.last.py, v.k, { isGesture: true });
    v.zoomAt(now.px, now.py, now.apart / this.last.apart);
    this.last = now;
  }

  end() {}
  cancel() {}
}
