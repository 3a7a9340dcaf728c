// The drawing of a comparison, fitted to its frame: the same cards as on the canvas, as small as they must be.

const MARGIN = 24;
const LARGEST = 1;
const TALLEST = 0.72; // of the window

const frame = document.querySelector(".diff-graph");
if (frame) {
  const [left, top, width, height] = frame.dataset.frame.split(" ").map(Number);
  const sizer = frame.querySelector(".diff-sizer");
  const view = frame.querySelector(".diff-view");

  const fit = () => {
    const room = frame.clientWidth;
    const k = Math.min(LARGEST, room / (width + 2 * MARGIN), (innerHeight * TALLEST) / (height + 2 * MARGIN));
    const aside = Math.max(MARGIN * k, (room - width * k) / 2);
    view.style.transform = `translate(${aside - left * k}px, ${(MARGIN - top) * k}px) scale(${k})`;
    sizer.style.height = `${(height + 2 * MARGIN) * k}px`;
  };
  new ResizeObserver(fit).observe(frame);
  addEventListener("resize", fit);
  frame.dataset.fitted = "";
  fit();
}
