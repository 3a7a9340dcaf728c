// The tab "Add" lists all kinds of nodes, to search, to drag onto the canvas, or to add after the selected node.

import { addBetween, addNode, toGraph } from "./add_nodes.js";
import { ROOT, getOutgoingEdges, isNote, findOffer, getOnlySelectedNode, getOutputs, getScope, getVisibleScope, getWorkScope } from "../graph_queries.js";
import { findOfferRefusal, findRefusalEverywhere } from "./node_offers.js";
import { search } from "../../common/fuzzy_match.js";
import { t } from "../../common/translations.js";

const DRAG_THRESHOLD = 5; // px a press must move to become a drag

export function install(editor) {
  const root = document.getElementById("palette");
  editor.kinds = root ? [...root.querySelectorAll("[data-add-kind]")].map(readKind) : [];
  if (!root || !editor.canEdit) return;
  const field = root.querySelector("#palette-search");
  field.addEventListener("input", () => filterKinds(editor, root, field.value));
  field.addEventListener("keydown", (event) => onSearchKey(event, root));
  root.addEventListener("keydown", (event) => onListKey(editor, event, root, field));
  root.addEventListener("focusin", ({ target }) => target.matches("[data-add-kind]") && setTabStop(root, target));
  setTabStop(root, listVisibleButtons(root)[0]);
  root.addEventListener("click", (event) => {
    const button = event.target.closest("[data-add-kind]");
    if (button && !button.dataset.dragged && !isDisabled(button)) addKind(editor, button.dataset.addKind);
    else if (button && isDisabled(button)) editor.say(button.title);
  });
  editor.addEventListener("change", () => updateDisabled(editor, root));
  updateDisabled(editor, root);
  root.addEventListener("pointerdown", (event) => startDrag(editor, event));
  editor.commands.add({
    id: "search-palette",
    label: t("Browse nodes"),
    group: "add",
    edits: true,
    run: (e) => {
      e.panel("add");
      field.focus();
      field.select();
    },
  });
}

function readKind(button) {
  const { addKind, family, title, words, takes, gives, holds, inside, way, outputs } = button.dataset;
  return {
    id: addKind,
    name: title,
    hint: button.querySelector(".pal-what")?.textContent ?? "",
    group: words,
    words: [addKind, words],
    icon: button.querySelector(".icon"),
    family,
    takes: takes === "yes",
    gives: gives === "yes",
    holds: holds === "yes",
    inside: inside ? inside.split(" ") : [],
    way,
    outputs: Number(outputs),
  };
}

const isDisabled = (button) => button.getAttribute("aria-disabled") === "true";

/** Disable the kinds that fit nowhere at present and show the reason. */
function updateDisabled(editor, root) {
  for (const offer of editor.kinds) {
    if (offer.takes && !offer.inside.length) continue;
    const button = root.querySelector(`[data-add-kind="${CSS.escape(offer.id)}"]`);
    const reason = findRefusalEverywhere(editor, offer);
    if (button.title === reason) continue;
    button.title = reason;
    button.querySelector(".pal-what").textContent = reason || offer.hint;
    if (reason) button.setAttribute("aria-disabled", "true");
    else button.removeAttribute("aria-disabled");
  }
}

function filterKinds(editor, root, query) {
  const matches = new Map(search(query, editor.kinds, (kind) => [kind.name, kind.id, kind.group, kind.hint]).map(({ id }, rank) => [id, rank]));
  sortKinds(root, matches);
  for (const button of root.querySelectorAll("[data-add-kind]")) button.parentElement.hidden = !matches.has(button.dataset.addKind);
  for (const group of root.querySelectorAll("[data-palette-group]")) group.hidden = !group.querySelector("li:not([hidden])");
  root.querySelector("[data-palette-none]").hidden = matches.size > 0;
  setTabStop(root, listVisibleButtons(root)[0]);
}

/** Put the best match first, in its group and with its group. Without a query the kinds are in their own order. */
function sortKinds(root, ranks) {
  const rankOf = (button) => (ranks.get(button.dataset.addKind) ?? Infinity) + (isDisabled(button) ? 1000 : 0);
  const groups = [...root.querySelectorAll("[data-palette-group]")].map((group) => {
    const rows = [...group.querySelectorAll("[data-add-kind]")].sort((a, b) => compareRanks(rankOf(a), rankOf(b)));
    group.querySelector("ul").append(...rows.map((button) => button.parentElement));
    return { group, best: rankOf(rows[0]) };
  });
  groups.sort((a, b) => compareRanks(a.best, b.best));
  root.querySelector("[data-palette-none]").before(...groups.map(({ group }) => group));
}

const compareRanks = (a, b) => (a === b ? 0 : a - b); // two infinite ranks have no difference

const listVisibleButtons = (root) => [...root.querySelectorAll("li:not([hidden]) > [data-add-kind]")];

function onSearchKey(event, root) {
  if (event.key !== "ArrowDown" && event.key !== "Enter") return;
  const first = listVisibleButtons(root)[0];
  if (!first || event.isComposing) return;
  event.preventDefault();
  event.stopPropagation();
  if (event.key !== "Enter") return first.focus();
  first.click();
  event.target.select(); // what is typed next is the next search
}

function onListKey(editor, event, root, field) {
  if (!event.target.matches("[data-add-kind]") || event.ctrlKey || event.metaKey || event.altKey) return;
  const buttons = listVisibleButtons(root);
  const index = buttons.indexOf(event.target);
  const next = { ArrowDown: buttons[index + 1] ?? buttons[0], ArrowUp: buttons[index - 1] ?? field, Home: buttons[0], End: buttons.at(-1) }[event.key];
  if (!next && event.key !== "/") return;
  event.preventDefault();
  event.stopPropagation();
  if (next) next.focus();
  else editor.commands.get("add-node").run(editor); // also from here, where the focus alone would announce that a letter means nothing
}

/** Make one button the tab stop; the arrow keys move on from there. */
function setTabStop(root, button) {
  for (const other of root.querySelectorAll("[data-add-kind]")) other.tabIndex = other === button ? 0 : -1;
}

/** Add a node after the selected one if it can be followed, otherwise in the visible scope. */
async function addKind(editor, kind) {
  const offer = findOffer(editor, kind);
  const node = getOnlySelectedNode(editor);
  const after = node && !isNote(node) && offer.takes && getOutputs(node).length ? { id: node.id, port: findFreePort(editor, node) } : null;
  const scope = after ? getScope(node) : node && !isNote(node) ? getScope(node) : getWorkScope(editor);
  if (findOfferRefusal(editor, offer, scope)) return editor.say(`${t("{name} can't be placed here", { name: offer.name })}. ${findOfferRefusal(editor, offer, scope)}`);
  await addNode(editor, { kind, after, scope });
}

function findFreePort(editor, node) {
  const used = new Set(getOutgoingEdges(editor, node.id).map((edge) => edge.fp));
  const outs = getOutputs(node);
  return outs.find((port) => !used.has(port)) ?? outs[0];
}

const isAllowed = (editor, offer, scope) => !findOfferRefusal(editor, offer, scope);

/** Drag with pointer events, since native drag and drop supports no touch and shows no drop target. */
function startDrag(editor, event) {
  const button = event.target.closest("[data-add-kind]");
  if (!button || isDisabled(button) || event.button !== 0 || event.pointerType === "touch") return;
  const drag = { button, kind: button.dataset.addKind, x: event.clientX, y: event.clientY, ghost: null, edge: null, scope: null };
  const controller = new AbortController();
  const { signal } = controller;
  const end = () => {
    controller.abort();
    drag.ghost?.remove();
    markTarget(editor, drag, null, null);
    document.documentElement.classList.remove("is-adding");
    // The click at the end of a drag does not count.
    if (drag.ghost) {
      button.dataset.dragged = "yes";
      setTimeout(() => delete button.dataset.dragged);
    }
  };
  window.addEventListener("pointermove", (e) => moveGhost(editor, drag, e), { signal });
  window.addEventListener("pointercancel", end, { signal });
  window.addEventListener("keydown", (e) => e.key === "Escape" && drag.ghost && (e.preventDefault(), end()), { signal, capture: true });
  window.addEventListener("pointerup", (e) => {
    const { edge, scope, ghost } = drag;
    end();
    if (ghost) dropKind(editor, drag.kind, e, edge, scope);
  }, { signal });
}

function moveGhost(editor, drag, event) {
  if (!drag.ghost) {
    if (Math.hypot(event.clientX - drag.x, event.clientY - drag.y) < DRAG_THRESHOLD) return;
    drag.ghost = drag.button.cloneNode(true);
    drag.ghost.removeAttribute("data-add-kind");
    drag.ghost.classList.add("pal-ghost");
    drag.ghost.inert = true;
    document.body.append(drag.ghost);
    document.documentElement.classList.add("is-adding");
  }
  Object.assign(drag.ghost.style, { left: `${event.clientX - 24}px`, top: `${event.clientY - 20}px` });
  const elements = document.elementsFromPoint(event.clientX, event.clientY);
  const canvas = elements.find((el) => el.matches("[data-canvas]"));
  const offer = findOffer(editor, drag.kind);
  const edge = canvas && offer.takes && offer.gives ? findEdge(editor, event) : null;
  const box = canvas ? findBox(editor, event) : null;
  const scope = box && isAllowed(editor, offer, box.id) ? box.id : null;
  drag.ghost.classList.toggle("is-off", !canvas || !isAllowed(editor, offer, scope ?? ROOT));
  markTarget(editor, drag, edge, scope);
}

function markTarget(editor, drag, edge, scope) {
  if (drag.edge?.id !== edge?.id) {
    drag.edge?.el.classList.remove("is-target");
    edge?.el.classList.add("is-target");
    drag.edge = edge;
  }
  if (drag.scope !== scope) {
    editor.model.nodes.get(drag.scope)?.el.classList.remove("is-target");
    editor.model.nodes.get(scope)?.el.classList.add("is-target");
    drag.scope = scope;
  }
}

const getGraphPoint = (editor, event) => toGraph(editor, { x: event.clientX, y: event.clientY });
const findBox = (editor, event) => editor.canvas.hitTester.box(...getGraphPoint(editor, event));
const findEdge = (editor, event) => editor.canvas.hitTester.edge(...getGraphPoint(editor, event))?.edge ?? null;

async function dropKind(editor, kind, event, edge, scope) {
  const canvas = document.elementsFromPoint(event.clientX, event.clientY).some((el) => el.matches("[data-canvas]"));
  if (!canvas) return;
  const index = { x: event.clientX, y: event.clientY };
  const offer = findOffer(editor, kind);
  if (edge) return addBetween(editor, { kind, edge, at: index });
  const target = scope ?? getVisibleScope(editor);
  if (!isAllowed(editor, offer, target)) return editor.say(`${t("{name} can't be placed here", { name: offer.name })}. ${findOfferRefusal(editor, offer, target)}`);
  return addNode(editor, { kind, at: index, scope: target });
}
