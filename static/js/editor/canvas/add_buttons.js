// Shows a + at a free output of the node that is under the mouse or has the focus, and in the middle of the edge under it.

import { pointOnRoute } from "../../canvas/edge_routes.js";
import { getOutgoingEdges, isNote } from "../graph_queries.js";
import { t } from "../../common/translations.js";

const OFFSET = 26; // px between the port and the button
const LEAST_SIZE = 0.66; // of the button, when the graph is far away
const STAY_DISTANCE = 24; // px around the button in which it stays visible

/** @param {{edge: (edge: object, at: object) => void, port: (node: object, port: string, at: object) => void}} actions */
export function installAddButton(editor, actions) {
  const { canvas } = editor;
  const button = document.getElementById("plus").content.firstElementChild.cloneNode(true);
  canvas.root.append(button);
  let target = null;
  let frame = 0;
  let latest = null; // the last move, which may be the last of several in one frame

  canvas.root.addEventListener("pointermove", (event) => {
    if (event.pointerType !== "mouse") return canvas.pointers.gesture && hide();
    latest = event;
    frame ||= requestAnimationFrame(() => {
      frame = 0;
      update(latest);
    });
  }, { passive: true });
  canvas.root.addEventListener("pointerleave", () => hide());
  canvas.root.addEventListener("focusin", (event) => {
    const node = event.target.localName === "wf-node" && editor.model.nodes.get(event.target.dataset.id);
    if (node) showAtNode(node);
  });
  canvas.root.addEventListener("focusout", (event) => event.relatedTarget !== button && target?.node && hide());
  canvas.root.addEventListener("pointerdown", (event) => event.target.closest(".plus") || hide(), { capture: true });
  canvas.viewport.addEventListener("move", () => target && positionButton());
  editor.addEventListener("change", () => hide());
  editor.addEventListener("scope", () => hide());
  button.addEventListener("click", (event) => {
    const { edge, node, port } = target ?? {};
    const at = { x: event.clientX, y: event.clientY };
    hide();
    if (edge) actions.edge(edge, at);
    else if (node) actions.port(node, port, at);
  });

  function update(event) {
    if (canvas.pointers.gesture || canvas.viewport.isZooming || event.buttons) return hide();
    if (event.target.closest(".plus") || isNearButton(event)) return;
    if (!event.target.closest(".wf-pane")) return hide();
    const corner = canvas.root.getBoundingClientRect();
    const hit = canvas.hitTester.at(...canvas.viewport.toGraph(event.clientX - corner.left, event.clientY - corner.top));
    if (hit?.type === "edge") return show({ edge: hit.edge });
    if (!hit?.node || (hit.type === "port" && !hit.out)) return hide();
    showAtNode(hit.node, hit.type === "port" ? hit.port : null);
  }

  /** Show the button at this output of a node if it is free, or at its first free one. */
  function showAtNode(node, output = null) {
    const used = new Set(getOutgoingEdges(editor, node.id).map((edge) => edge.fp));
    const port = output ?? node.outs.find(({ name }) => !used.has(name))?.name;
    if (isNote(node) || !port || used.has(port)) return hide();
    show({ node, port });
  }

  function isNearButton(event) {
    if (button.hidden || !target?.node) return false;
    const box = button.getBoundingClientRect();
    return event.clientX > box.left - STAY_DISTANCE && event.clientX < box.right + STAY_DISTANCE && event.clientY > box.top - STAY_DISTANCE && event.clientY < box.bottom + STAY_DISTANCE;
  }

  function show(next) {
    target = next;
    button.hidden = false;
    const label = next.edge ? t("Insert node here") : t("Add node after");
    button.title = label;
    button.setAttribute("aria-label", label);
    positionButton();
  }

  function positionButton() {
    const point = target.edge ? getEdgeMiddle(target.edge) : getPortPosition(target.node, target.port);
    if (!point) return hide();
    const [x, y] = canvas.toClient(...point);
    const corner = canvas.root.getBoundingClientRect();
    // Far away it is smaller and nearer to its port, so that it does not cover the next node.
    const k = Math.min(1, canvas.viewport.k);
    const offset = target.edge ? 0 : OFFSET * k;
    button.style.transform = `translate(${x - corner.left + offset}px, ${y - corner.top}px) scale(${Math.max(LEAST_SIZE, k)})`;
  }

  function getEdgeMiddle(edge) {
    const ends = editor.model.ends(edge);
    if (!ends) return null;
    const [ox, oy] = editor.model.offset(edge.scope);
    const [x, y] = pointOnRoute(ends, edge.detour, 0.5);
    return [x + ox, y + oy];
  }

  function getPortPosition(node, port) {
    if (!editor.model.nodes.has(node.id)) return null;
    const [ox, oy] = editor.model.offset(node.scope);
    const [x, y] = editor.model.port(node, port, true);
    return [x + ox, y + oy];
  }

  function hide() {
    target = null;
    button.hidden = true;
  }
}
