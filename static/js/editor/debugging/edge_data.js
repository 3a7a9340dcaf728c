// Shows the data that went along an edge beside its label when the label is pressed.

import { buildAddress } from "../../common/urls.js";
import { getNodeName } from "../graph_queries.js";
import { t } from "../../common/translations.js";

export function install(editor) {
  const box = document.createElement("div");
  Object.assign(box, { className: "edge-data", hidden: true, id: "edge-data" });
  box.setAttribute("role", "dialog");
  box.setAttribute("data-nodrag", "");
  editor.root.append(box);
  let opener = null;

  function close() {
    if (box.hidden) return;
    box.hidden = true;
    opener?.focus?.({ preventScroll: true });
    opener?.removeAttribute("aria-expanded");
    opener = null;
  }

  function show(edge, label) {
    const run = editor.runs?.run;
    if (!run) return;
    opener = label;
    opener.setAttribute("aria-expanded", "true"); // the label of an open box stays
    const name = getNodeName(editor, edge.from);
    box.setAttribute("aria-label", t("Output of {name}", { name }));
    const head = document.createElement("div");
    head.className = "row edge-data-head";
    const title = Object.assign(document.createElement("b"), { className: "clip grow", textContent: name });
    const button = Object.assign(document.createElement("button"), { type: "button", className: "button button-quiet button-s", textContent: t("Close") });
    button.addEventListener("click", close);
    head.append(title, button);
    const body = document.createElement("div");
    box.replaceChildren(head, body);
    box.hidden = false;
    placeBox(label.getBoundingClientRect());
    button.focus();
    const address = buildAddress(editor.urls.run_place, run);
    window.htmx.ajax("GET", `${address}steps/${encodeURIComponent(edge.from)}/value/`, { target: body, swap: "innerHTML" });
  }

  /** Place the box beside the label, inside the window. */
  function placeBox(anchor) {
    const width = Math.min(420, innerWidth - 24);
    box.style.width = `${width}px`;
    box.style.left = `${Math.max(12, Math.min(anchor.left, innerWidth - width - 12))}px`;
    const below = innerHeight - anchor.bottom > 260;
    box.style.top = below ? `${anchor.bottom + 6}px` : "auto";
    box.style.bottom = below ? "auto" : `${innerHeight - anchor.top + 6}px`;
  }

  editor.root.addEventListener("click", (event) => {
    const label = event.target.closest(".wf-label[data-edge]");
    const edge = label && editor.model.edges.get(label.dataset.edge);
    if (edge) show(edge, label);
    else if (!event.target.closest(".edge-data")) close();
  });
  box.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    close();
  });
  editor.commands.add({
    id: "show-edge-data",
    label: t("Show data on the edge"),
    group: "run",
    menu: ["edge"],
    when: (e) => Boolean(e.runs?.run) && [...e.selection].some((id) => e.model.edges.has(id)),
    run: (e) => {
      const edge = e.model.edges.get([...e.selection].find((id) => e.model.edges.has(id)));
      show(edge, edge.label ?? edge.el);
    },
  });
}
