// The tab "Add": every kind there is, to search, to drag onto the canvas, or to add after the chosen node.

import { addBetween, addNode, toGraph } from "./adding.js";
import { ROOT, edgesFrom, isNote, offerOf, only, outsOf, scopeOf, shownScope, workScope } from "./graph.js";
import { refused, refusedEverywhere } from "./offering.js";
import { search } from "./fuzzy.js";
import { t } from "./words.js";

const FAR_ENOUGH = 5; // px a press moves before it is a drag

export function install(editor) {
  const root = document.getElementById("palette");
  editor.kinds = root ? [...root.querySelectorAll("[data-add-kind]")].map(kindOf) : [];
  if (!root || !editor.canEdit) return;
  const field = root.querySelector("#palette-search");
  field.addEventListener("input", () => filter(editor, root, field.value));
  field.addEventListener("keydown", (event) => fromField(event, root));
  root.addEventListener("keydown", (event) => walk(editor, event, root, field));
  root.addEventListener("focusin", ({ target }) => target.matches("[data-add-kind]") && roving(root, target));
  roving(root, shown(root)[0]);
  root.addEventListener("click", (event) => {
    const button = event.target.closest("[data-add-kind]");
    if (button && !button.dataset.dragged && !isOff(button)) add(editor, button.dataset.addKind);
    else if (button && isOff(button)) editor.say(button.title);
  });
  editor.addEventListener("change", () => dim(editor, root));
  dim(editor, root);
  root.addEventListener("pointerdown", (event) => press(editor, event));
  editor.commands.add({
    id: "search-palette",
    label: t("Show all nodes there are"),
    group: "add",
    edits: true,
    run: (e) => {
      e.panel("add");
      field.focus();
    },
  });
}

function kindOf(button) {
  const { addKind, title, words, takes, gives, holds, inside, way } = button.dataset;
  return {
    id: addKind,
    name: title,
    hint: button.querySelector(".pal-what")?.textContent ?? "",
    group: words,
    words: [addKind, words],
    icon: button.querySelector(".icon"),
    family: [...button.classList].filter((name) => name.startsWith("node-")),
    takes: takes === "yes",
    gives: gives === "yes",
    holds: holds === "yes",
    inside: inside ? inside.split(" ") : [],
    way,
  };
}

const isOff = (button) => button.getAttribute("aria-disabled") === "true";

/** What can stand nowhere now is offered to nobody, and says why. */
function dim(editor, root) {
  for (const offer of editor.kinds) {
    if (offer.takes && !offer.inside.length) continue;
    const button = root.querySelector(`[data-add-kind="${CSS.escape(offer.id)}"]`);
    const reason = refusedEverywhere(editor, offer);
    if (button.title === reason) continue;
    button.title = reason;
    button.querySelector(".pal-what").textContent = reason || offer.hint;
    if (reason) button.setAttribute("aria-disabled", "true");
    else button.removeAttribute("aria-disabled");
  }
}

function filter(editor, root, query) {
  const found = new Set(search(query, editor.kinds, (kind) => [kind.name, kind.id, kind.group, kind.hint]).map(({ id }) => id));
  for (const button of root.querySelectorAll("[data-add-kind]")) button.parentElement.hidden = !found.has(button.dataset.addKind);
  for (const group of root.querySelectorAll("[data-palette-group]")) group.hidden = !group.querySelector("li:not([hidden])");
  root.querySelector("[data-palette-none]").hidden = found.size > 0;
  roving(root, shown(root)[0]);
}

const shown = (root) => [...root.querySelectorAll("li:not([hidden]) > [data-add-kind]")];

function fromField(event, root) {
  if (event.key !== "ArrowDown" && event.key !== "Enter") return;
  const first = shown(root)[0];
  if (!first || event.isComposing) return;
  event.preventDefault();
  event.stopPropagation();
  if (event.key === "Enter") first.click();
  else first.focus();
}

function walk(editor, event, root, field) {
  if (!event.target.matches("[data-add-kind]") || event.ctrlKey || event.metaKey || event.altKey) return;
  const buttons = shown(root);
  const at = buttons.indexOf(event.target);
  const to = { ArrowDown: buttons[at + 1] ?? buttons[0], ArrowUp: buttons[at - 1] ?? field, Home: buttons[0], End: buttons.at(-1) }[event.key];
  if (!to && event.key !== "/") return;
  event.preventDefault();
  event.stopPropagation();
  if (to) to.focus();
  else editor.commands.get("add-node").run(editor); // also where the focus alone would say that a letter means nothing
}

/** One stop of the tab key for all of them; the arrows go on from there. */
function roving(root, button) {
  for (const other of root.querySelectorAll("[data-add-kind]")) other.tabIndex = other === button ? 0 : -1;
}

/** After the chosen node where an edge may lead on, else where one looks. */
async function add(editor, kind) {
  const offer = offerOf(editor, kind);
  const node = only(editor);
  const after = node && !isNote(node) && offer.takes && outsOf(node).length ? { id: node.id, port: freePort(editor, node) } : null;
  const scope = after ? scopeOf(node) : node && !isNote(node) ? scopeOf(node) : workScope(editor);
  if (refused(editor, offer, scope)) return editor.say(`${t("{name} can't stand here", { name: offer.name })}. ${refused(editor, offer, scope)}`);
  await addNode(editor, { kind, after, scope });
}

function freePort(editor, node) {
  const taken = new Set(edgesFrom(editor, node.id).map((edge) => edge.fp));
  const outs = outsOf(node);
  return outs.find((port) => !taken.has(port)) ?? outs[0];
}

const fitsInto = (editor, offer, scope) => !refused(editor, offer, scope);

/** Dragging with pointer events: native drag and drop knows no touch, and shows no place to land. */
function press(editor, event) {
  const button = event.target.closest("[data-add-kind]");
  if (!button || isOff(button) || event.button !== 0 || event.pointerType === "touch") return;
  const drag = { button, kind: button.dataset.addKind, x: event.clientX, y: event.clientY, ghost: null, edge: null, scope: null };
  const stop = new AbortController();
  const { signal } = stop;
  const end = () => {
    stop.abort();
    drag.ghost?.remove();
    mark(editor, drag, null, null);
    document.documentElement.classList.remove("is-adding");
    // the click that ends a drag is none
    if (drag.ghost) {
      button.dataset.dragged = "yes";
      setTimeout(() => delete button.dataset.dragged);
    }
  };
  window.addEventListener("pointermove", (e) => move(editor, drag, e), { signal });
  window.addEventListener("pointercancel", end, { signal });
  window.addEventListener("keydown", (e) => e.key === "Escape" && drag.ghost && (e.preventDefault(), end()), { signal, capture: true });
  window.addEventListener("pointerup", (e) => {
    const { edge, scope, ghost } = drag;
    end();
    if (ghost) drop(editor, drag.kind, e, edge, scope);
  }, { signal });
}

function move(editor, drag, event) {
  if (!drag.ghost) {
    if (Math.hypot(event.clientX - drag.x, event.clientY - drag.y) < FAR_ENOUGH) return;
    drag.ghost = drag.button.cloneNode(true);
    drag.ghost.removeAttribute("data-add-kind");
    drag.ghost.classList.add("pal-ghost");
    drag.ghost.inert = true;
    document.body.append(drag.ghost);
    document.documentElement.classList.add("is-adding");
  }
  Object.assign(drag.ghost.style, { left: `${event.clientX - 24}px`, top: `${event.clientY - 20}px` });
  const over = document.elementsFromPoint(event.clientX, event.clientY);
  const canvas = over.find((el) => el.matches("[data-canvas]"));
  const offer = offerOf(editor, drag.kind);
  const edge = canvas && offer.takes && offer.gives ? edgeAt(editor, event) : null;
  const box = canvas ? boxAt(editor, event) : null;
  const scope = box && fitsInto(editor, offer, box.id) ? box.id : null;
  drag.ghost.classList.toggle("is-off", !canvas || !fitsInto(editor, offer, scope ?? ROOT));
  mark(editor, drag, edge, scope);
}

function mark(editor, drag, edge, scope) {
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

const pointOf = (editor, event) => toGraph(editor, { x: event.clientX, y: event.clientY });
const boxAt = (editor, event) => editor.canvas.hits.box(...pointOf(editor, event));
const edgeAt = (editor, event) => editor.canvas.hits.edge(...pointOf(editor, event))?.edge ?? null;

async function drop(editor, kind, event, edge, scope) {
  const canvas = document.elementsFromPoint(event.clientX, event.clientY).some((el) => el.matches("[data-canvas]"));
  if (!canvas) return;
  const at = { x: event.clientX, y: event.clientY };
  const offer = offerOf(editor, kind);
  if (edge) return addBetween(editor, { kind, edge, at });
  const where = scope ?? shownScope(editor);
  if (!fitsInto(editor, offer, where)) return editor.say(`${t("{name} can't stand here", { name: offer.name })}. ${refused(editor, offer, where)}`);
  return addNode(editor, { kind, at, scope: where });
}
