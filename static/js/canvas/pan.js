// Pan: the graph follows the pointer.

export class Pan {
  name = "pan";
  wantsGlass = true;

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
