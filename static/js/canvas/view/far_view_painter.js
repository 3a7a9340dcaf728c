// Paints the whole graph as a picture: edges, and cards as coloured blocks with bars in place of text. It paints in slices,
// so that no frame waits for it.

import { controlOffset, HEADER_HEIGHT } from "../geometry.js";

const SLICE = 6; // milliseconds
const STATE = { running: "run", retrying: "run", completed: "ok", failed: "bad", paused: "warn" };
const PAD = 40;
const MARK_RADIUS = 7; // of a breakpoint, in graph units
const LEAST_MARK_RADIUS = 5; // px on the screen

/** @returns {Promise<HTMLCanvasElement|null>} null when the graph changed in the meantime */
export async function paintGraph(canvas, bounds, k, isStale, slice = SLICE) {
  const bitmap = document.createElement("canvas");
  bitmap.width = Math.max(1, Math.ceil(bounds.w * k));
  bitmap.height = Math.max(1, Math.ceil(bounds.h * k));
  const context = bitmap.getContext("2d");
  context.setTransform(k, 0, 0, k, -bounds.x * k, -bounds.y * k);
  let deadline = performance.now() + slice;
  for (const draw of planStrokes(canvas, context, k)) {
    draw();
    if (performance.now() < deadline) continue;
    await waitForIdle();
    if (isStale()) return null;
    deadline = performance.now() + slice;
  }
  return bitmap;
}

const waitForIdle = () => new Promise((resolve) => (window.requestIdleCallback ? requestIdleCallback(resolve, { timeout: 120 }) : setTimeout(resolve)));

function* planStrokes(canvas, context, k) {
  const { model, palette } = canvas;
  const { colours } = palette;
  const nodes = [...model.nodes.values()].filter((node) => canvas.hitTester.isShown(node.scope));
  for (const node of nodes.filter(isBackground)) yield () => paintBackground(context, model.box(node), palette.colourOf(node), k);
  context.lineWidth = Math.max(1.6, 0.9 / k);
  for (const edges of splitIntoSlices([...model.edges.values()], 60)) yield () => paintEdges(context, model, canvas, edges, colours);
  for (const node of nodes) if (!isBackground(node)) yield () => paintCard(context, node, model.box(node), palette, k);
}

const isBackground = (node) => node.isNote || (node.isBox && !node.folded);

function* splitIntoSlices(items, size) {
  for (let i = 0; i < items.length; i += size) yield items.slice(i, i + size);
}

function paintBackground(context, box, colour, k) {
  context.globalAlpha = 0.1;
  context.fillStyle = colour;
  context.fillRect(box.x, box.y, box.w, box.h);
  context.globalAlpha = 0.6;
  context.lineWidth = Math.max(1, 0.8 / k);
  context.strokeStyle = colour;
  context.strokeRect(box.x, box.y, box.w, box.h);
  context.globalAlpha = 1;
}

function paintEdges(context, model, canvas, edges, colours) {
  for (const taken of [undefined, "yes"]) {
    context.strokeStyle = taken ? colours.ok : colours["line-strong"];
    context.beginPath();
    for (const edge of edges) {
      const ends = edge.el.dataset.taken === taken || (!taken && edge.el.dataset.taken === "no") ? model.ends(edge) : null;
      if (!ends || !canvas.hitTester.isShown(edge.scope)) continue;
      const [ox, oy] = model.offset(edge.scope);
      const [x1, y1, x2, y2] = [ends[0] + ox, ends[1] + oy, ends[2] + ox, ends[3] + oy];
      const c = controlOffset(x1, x2);
      context.moveTo(x1, y1);
      context.bezierCurveTo(x1 + c, y1, x2 - c, y2, x2, y2);
    }
    context.stroke();
  }
}

function paintCard(context, node, box, palette, k) {
  const { colours } = palette;
  const state = colours[STATE[node.el.dataset.state]];
  context.globalAlpha = node.el.dataset.state === "skipped" || "disabled" in node.el.dataset ? 0.45 : 1;
  context.fillStyle = colours.panel;
  context.fillRect(box.x, box.y, box.w, box.h);
  context.lineWidth = Math.max(1, (state ? 2.4 : 0.8) / k);
  context.strokeStyle = state ?? colours["line-strong"];
  context.strokeRect(box.x, box.y, box.w, box.h);
  context.fillStyle = palette.colourOf(node);
  context.fillRect(box.x, box.y, Math.max(PAD, 3 / k), Math.min(box.h, HEADER_HEIGHT));
  if (box.w > 2 * PAD) {
    context.fillStyle = colours["ink-3"];
    context.fillRect(box.x + PAD + 12, box.y + 13, Math.min(140, 8 * (node.el.dataset.title?.length ?? 8)), 10);
  }
  context.globalAlpha = 1;
  if ("breakpoint" in node.el.dataset) paintBreakpoint(context, box, colours, k);
}

function paintBreakpoint(context, box, colours, k) {
  context.fillStyle = colours.bad;
  context.beginPath();
  context.arc(box.x, box.y, Math.max(MARK_RADIUS, LEAST_MARK_RADIUS / k), 0, 2 * Math.PI);
  context.fill();
}
