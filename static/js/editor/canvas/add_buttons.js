// The + that stands at a free way out of the node under the mouse, and in the middle of the edge under it.

import { along } from "../canvas/geometry.js";
import { edgesFrom, isNote } from "./graph.js";
import { t } from "./words.js";

const ASIDE = 26; // px from the port
const STAYS = 24; // px the mouse may be away from it

/** @param {{edge: (edge: object, at: object) => void, port: (node: object, port: string, at: object) => void}} acts */
export function showPlus(editor, acts) {
  const { canvas } = editor;
  const button = document.getElementById("plus").content.firstElementChild.cloneNode(true);
  canvas.root.append(button);
  let target = null;
  let frame = 0;

  canvas.root.addEventListener("pointermove", (event) => {
    if (event.pointerType !== "mouse" || frame) return;
    frame = requestAnimationFrame(() => {
      frame = 0;
      look(event);
    });
  }, { passive: true });
  canvas.root.addEventListener("pointerleave", () => hide());
  canvas.root.addEventListener("pointerdown", (event) => event.target.closest(".plus") || hide(), { capture: true });
  canvas.viewport.addEventListener("move", () => target && place());
  editor.addEventListener("change", () => hide());
  editor.addEventListener("scope", () => hide());
  button.addEventListener("click", (event) => {
    const { edge, node, port } = target ?? {};
    const at = { x: event.clientX, y: event.clientY };
    hide();
    if (edge) acts.edge(edge, at);
    else if (node) acts.port(node, port, at);
  });

  function look(event) {
    if (canvas.pointers.gesture || canvas.viewport.isZooming || event.buttons) return hide();
    if (event.target.closest(".plus") || near(event)) return;
    if (!event.target.closest(".wf-pane")) return hide();
    const corner = canvas.root.getBoundingClientRect();
    const hit = canvas.hits.at(...canvas.viewport.toGraph(event.clientX - corner.left, event.clientY - corner.top));
    if (hit?.type === "edge") return show({ edge: hit.edge });
    const node = hit?.node;
    if (!node || isNote(node) || (hit.type === "port" && !hit.out)) return hide();
    const taken = new Set(edgesFrom(editor, node.id).map((edge) => edge.fp));
    const port = hit.type === "port" ? hit.port : node.outs.find(({ name }) => !taken.has(name))?.name;
    if (!port || taken.has(port)) return hide();
    show({ node, port });
  }

  function near(event) {
    if (button.hidden || !target?.node) return false;
    const box = button.getBoundingClientRect();
    return event.clientX > box.left - STAYS && event.clientX < box.right + STAYS && event.clientY > box.top - STAYS && event.clientY < box.bottom + STAYS;
  }

  function show(next) {
    target = next;
    button.hidden = false;
    const words = next.edge ? t("Insert a node here") : t("Add a node after this one");
    button.title = words;
    button.setAttribute("aria-label", words);
    place();
  }

  function place() {
    const point = target.edge ? middleOf(target.edge) : portOf(target.node, target.port);
    if (!point) return hide();
    const [x, y] = canvas.toClient(...point);
    const corner = canvas.root.getBoundingClientRect();
    button.style.transform = `translate(${x - corner.left + (target.edge ? 0 : ASIDE)}px, ${y - corner.top}px)`;
  }

  function middleOf(edge) {
    const ends = editor.model.ends(edge);
    if (!ends) return null;
    const [ox, oy] = editor.model.offset(edge.scope);
    const [x, y] = along(...ends, 0.5);
    return [x + ox, y + oy];
  }

  function portOf(node, port) {
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
