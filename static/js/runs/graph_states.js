// Shows the states of nodes and edges on a drawn graph during a run.

import { describeWait, getState, showState } from "../canvas/view/node_state.js";
import { formatSeconds } from "../common/format.js";

export function resetGraph(graph) {
  for (const node of graph.querySelectorAll("wf-node[data-state]")) showState(node, {}, "");
  for (const edge of graph.querySelectorAll(".wf-edge")) delete edge.dataset.taken;
}

export function paintNode(graph, change) {
  const { node, status, elapsed, handle, error } = change;
  const el = graph.querySelector(`wf-node[data-id="${CSS.escape(node)}"]`);
  if (!el) return;
  const time = status === "completed" && elapsed != null ? formatSeconds(elapsed) : "";
  showState(el, { state: getState(change), time, ...describeWait(change) }, graph.dataset.icons);
  el.title = error ?? "";
  if (status === "running" || status === "failed") scrollIntoView(graph, el);
  // A failure without a handle ended the run, or default values replaced the outputs: the event does not tell which.
  const hasLeft = status === "completed" || (status === "failed" && handle != null);
  if (hasLeft) paintEdges(graph, node, (edge) => (handle == null ? edge.dataset.fp !== "fail-branch" : edge.dataset.fp === handle));
  if (status === "skipped") paintEdges(graph, node, () => false);
}

function paintEdges(graph, node, isTaken) {
  for (const edge of graph.querySelectorAll(`.wf-edge[data-from="${CSS.escape(node)}"]`)) {
    edge.dataset.taken = isTaken(edge) ? "yes" : "no";
  }
}

// Scroll the drawing, but never the page, to the node that runs or failed.
function scrollIntoView(graph, el) {
  const frame = graph.getBoundingClientRect();
  const box = el.getBoundingClientRect();
  const getOverflow = (low, high, from, to) => (high > to ? high - to + 24 : low < from ? low - from - 24 : 0);
  const left = getOverflow(box.left, box.right, frame.left, frame.right);
  const top = getOverflow(box.top, box.bottom, frame.top, frame.bottom);
  if (left || top) graph.scrollBy({ left, top });
}
