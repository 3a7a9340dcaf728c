// Fits the drawing of a comparison into its frame, with the same cards as on the canvas.

const MARGIN = 24;
const MAX_SCALE = 1;
const MAX_HEIGHT = 0.72; // of the window

const frame = document.querySelector(".graph[data-frame]");
if (frame) {
  const [left, top, width, height] = frame.dataset.frame.split(" ").map(Number);
  const sizer = frame.querySelector(".graph-sizer");
  const view = frame.querySelector(".graph-view");

  const fit = () => {
    const frameWidth = frame.clientWidth;
    const k = Math.min(MAX_SCALE, frameWidth / (width + 2 * MARGIN), (innerHeight * MAX_HEIGHT) / (height + 2 * MARGIN));
    const offsetX = Math.max(MARGIN * k, (frameWidth - width * k) / 2);
    view.style.transform = `translate(${offsetX - left * k}px, ${(MARGIN - top) * k}px) scale(${k})`;
    sizer.style.width = "auto";
    sizer.style.height = `${(height + 2 * MARGIN) * k}px`;
  };
  new ResizeObserver(fit).observe(frame);
  addEventListener("resize", fit);
  frame.dataset.fitted = "";
  fit();
}
