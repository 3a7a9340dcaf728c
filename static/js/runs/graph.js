// Lights the nodes and wires of a drawn graph as a run passes through them.

import { seconds } from "../editor/units.js";

const escapeId = (id) => CSS.escape(id);

export function resetGraph(graph) {
  for (const node of graph.querySelectorAll("[data-node][data-state]")) {
    node.dataset.state = "idle";
    node.querySelector("[data-node-state]").textContent = "";
  }
  for (const wire of graph.querySelectorAll(".wire")) delete wire.dataset.taken;
}

export function paintNode(graph, { node, status, elapsed, handle, error }) {
  const card = graph.querySelector(`article[data-node="${escapeId(node)}"]`);
  if (!card) return;
  card.dataset.state = status;
  card.title = error ?? "";
  if (status === "running" || status === "failed") bringIntoView(graph, card);
  card.querySelector("[data-node-state]").textContent = status === "completed" ? done(elapsed) : mark(status);
  if (status === "completed" || status === "failed") paintWires(graph, node, handle);
  if (status === "skipped") for (const wire of wiresFrom(graph, node)) wire.dataset.taken = "no";
}

function paintWires(graph, node, handle) {
  for (const wire of wiresFrom(graph, node)) {
    wire.dataset.taken = handle == null || wire.dataset.handle === handle ? "yes" : "no";
  }
}

// Scrolls the drawing, never the page: what runs now, or failed, must not hide beyond its edge.
function bringIntoView(graph, card) {
  const frame = graph.getBoundingClientRect();
  const box = card.getBoundingClientRect();
  const over = (low, high, from, to) => (high > to ? high - to + 24 : low < from ? low - from - 24 : 0);
  const left = over(box.left, box.right, frame.left, frame.right);
  const top = over(box.top, box.bottom, frame.top, frame.bottom);
  if (left || top) graph.scrollBy({ left, top });
}

const wiresFrom = (graph, node) => graph.querySelectorAll(`.wire[data-source="${escapeId(node)}"]`);

const MARKS = { failed: "✕", retrying: "↻", paused: "‖" };
const done = (elapsed) => (elapsed == null ? "✓" : seconds(elapsed));
const mark = (status) => MARKS[status] ?? "";
