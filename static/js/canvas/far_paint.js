// The whole graph as a picture: edges, then cards as coloured blocks, with greyed bars where words are too small to
// read. Painted in slices, so that no frame waits for it.

import { bend, HEAD } from "./geometry.js";

const SLICE = 6; // milliseconds
const STATE = { running: "run", retrying: "run", completed: "ok", failed: "bad", paused: "warn" };
const PAD = 40;

/** @returns {Promise<HTMLCanvasElement|null>} null when it is out of date before it is done */
export async function paint(canvas, bounds, k, isStale, slice = SLICE) {
  const sheet = document.createElement("canvas");
  sheet.width = Math.max(1, Math.ceil(bounds.w * k));
  sheet.height = Math.max(1, Math.ceil(bounds.h * k));
  const pen = sheet.getContext("2d");
  pen.setTransform(k, 0, 0, k, -bounds.x * k, -bounds.y * k);
  let until = performance.now() + slice;
  for (const draw of strokes(canvas, pen, k)) {
    draw();
    if (performance.now() < until) continue;
    await idle();
    if (isStale()) return null;
    until = performance.now() + slice;
  }
  return sheet;
}

const idle = () => new Promise((done) => (window.requestIdleCallback ? requestIdleCallback(done, { timeout: 120 }) : setTimeout(done)));

function* strokes(canvas, pen, k) {
  const { model, palette } = canvas;
  const { colours } = palette;
  const nodes = [...model.nodes.values()].filter((node) => canvas.hits.isShown(node.scope));
  for (const node of nodes.filter(isGround)) yield () => ground(pen, model.box(node), palette.of(node), k);
  pen.lineWidth = Math.max(1.6, 0.9 / k);
  for (const edges of slices([...model.edges.values()], 60)) yield () => lines(pen, model, canvas, edges, colours);
  for (const node of nodes) if (!isGround(node)) yield () => card(pen, node, model.box(node), palette, k);
}

const isGround = (node) => node.isNote || (node.isBox && !node.folded);

function* slices(items, size) {
  for (let i = 0; i < items.length; i += size) yield items.slice(i, i + size);
}

function ground(pen, box, colour, k) {
  pen.globalAlpha = 0.1;
  pen.fillStyle = colour;
  pen.fillRect(box.x, box.y, box.w, box.h);
  pen.globalAlpha = 0.6;
  pen.lineWidth = Math.max(1, 0.8 / k);
  pen.strokeStyle = colour;
  pen.strokeRect(box.x, box.y, box.w, box.h);
  pen.globalAlpha = 1;
}

function lines(pen, model, canvas, edges, colours) {
  for (const taken of [undefined, "yes"]) {
    pen.strokeStyle = taken ? colours.ok : colours["line-strong"];
    pen.beginPath();
    for (const edge of edges) {
      const ends = edge.el.dataset.taken === taken || (!taken && edge.el.dataset.taken === "no") ? model.ends(edge) : null;
      if (!ends || !canvas.hits.isShown(edge.scope)) continue;
      const [ox, oy] = model.offset(edge.scope);
      const [x1, y1, x2, y2] = [ends[0] + ox, ends[1] + oy, ends[2] + ox, ends[3] + oy];
      const c = bend(x1, x2);
      pen.moveTo(x1, y1);
      pen.bezierCurveTo(x1 + c, y1, x2 - c, y2, x2, y2);
    }
    pen.stroke();
  }
}

function card(pen, node, box, palette, k) {
  const { colours } = palette;
  const state = colours[STATE[node.el.dataset.state]];
  pen.globalAlpha = node.el.dataset.state === "skipped" || "disabled" in node.el.dataset ? 0.45 : 1;
  pen.fillStyle = colours.panel;
  pen.fillRect(box.x, box.y, box.w, box.h);
  pen.lineWidth = Math.max(1, (state ? 2.4 : 0.8) / k);
  pen.strokeStyle = state ?? colours["line-strong"];
  pen.strokeRect(box.x, box.y, box.w, box.h);
  pen.fillStyle = palette.of(node);
  pen.fillRect(box.x, box.y, Math.max(PAD, 3 / k), Math.min(box.h, HEAD));
  if (box.w > 2 * PAD) {
    pen.fillStyle = colours["ink-3"];
    pen.fillRect(box.x + PAD + 12, box.y + 13, Math.min(140, 8 * (node.el.dataset.title?.length ?? 8)), 10);
  }
  pen.globalAlpha = 1;
}
