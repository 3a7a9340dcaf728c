// The form a run is started with follows what the start node asks for: a new input is there without a reload, what was typed
// stays. It comes with what was given last; what was typed since and not run is kept in this tab until it is.

import { Typed } from "./run_typed.js";
import { fetchPage } from "./wire.js";
import { t } from "./words.js";

const REST = 250;

export function install(editor) {
  if (!document.querySelector("#run-card > form")) return;
  let waiting = 0;
  const typed = new Typed(editor);
  askForMissing(editor);

  async function refresh() {
    const page = await fetchPage(location.pathname);
    if (!page) return;
    show(page);
    typed.look();
  }

  editor.addEventListener("change", ({ detail }) => {
    if (!detail.ops.some((op) => asksElse(editor, op))) return;
    clearTimeout(waiting);
    waiting = setTimeout(refresh, REST);
  });
}

/** The browser complains of one field after the other; the first one is named. */
function askForMissing(editor) {
  let isAsking = false;
  const complain = (event) => {
    if (!event.target.form?.matches("#run-card > form")) return;
    event.preventDefault();
    if (isAsking) return;
    isAsking = true;
    setTimeout(() => (isAsking = false));
    askFor(event.target, editor);
  };
  editor.root.addEventListener("invalid", complain, true); // captured: these events don't bubble
}

/** A plain sentence below the field, gone with the first letter. */
function askFor(control, editor) {
  const said = control.validity.valueMissing ? t("Fill this in first: the run needs it.") : control.title || control.validationMessage;
  const field = control.closest(".field");
  const id = `${control.id}-asked`;
  const around = control.closest("details");
  if (around) around.open = true;
  control.focus();
  editor.say(said);
  const asked = document.getElementById(id);
  if (asked) return void (asked.textContent = said); // asked before, and nothing was written since
  const hint = Object.assign(document.createElement("span"), { id, className: "hint run-asked", textContent: said });
  field.append(hint);
  const described = control.getAttribute("aria-describedby");
  control.setAttribute("aria-describedby", [described, id].filter(Boolean).join(" "));
  const done = () => {
    hint.remove();
    if (described) control.setAttribute("aria-describedby", described);
    else control.removeAttribute("aria-describedby");
  };
  control.addEventListener("input", done, { once: true });
}

function asksElse(editor, { op, id, node, path }) {
  if (op === "add") return node.kind === "start";
  return op === "set" && path[0] === "variables" && editor.model.nodes.get(id)?.kind === "start";
}

function show(page) {
  const form = document.querySelector("#run-card > form");
  const next = page.querySelector("#run-card > form");
  if (!form || !next) return;
  const fields = [...form.children].filter((child) => child.matches(".field"));
  const fresh = [...next.children].filter((child) => child.matches(".field"));
  const typed = new FormData(form);
  for (const field of fresh) for (const control of field.querySelectorAll("[name]")) refill(control, form, typed);
  const before = form.querySelector(":scope > details");
  for (const field of fields) field.remove();
  before.before(...fresh);
  if (next.querySelector(":scope > details[open]")) before.open = true;
}

function refill(control, form, typed) {
  if (!form.elements[control.name]) return;
  if (control.type === "checkbox") control.checked = typed.has(control.name);
  else control.value = typed.get(control.name) ?? "";
}
