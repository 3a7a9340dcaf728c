// Controls that only some kinds of nodes have: choices with a sentence about each, the model, the authorization of an HTTP request, the picker of a
// sub-workflow, the knowledge bases, the people and buttons of a question, and the replacement of a node whose type this
// installation lacks.

import { showSelected } from "../common/searchable_select.js";
import { getPath } from "./controls.js";
import { buildOperation, parseJson, setAtPath } from "../common/json_paths.js";
import { fetchFragment, setContent } from "./previews.js";
import { t } from "../common/translations.js";
import { findOffer, getIncomingEdges, getOutgoingEdges, getParent } from "../editor/graph_queries.js";

export function enhance(part, inspector) {
  for (const select of part.querySelectorAll("[data-model-choice]")) setUpModel(select, inspector);
  for (const box of part.querySelectorAll("[data-authorization]")) setUpAuthorization(box, inspector);
  for (const picker of part.querySelectorAll("[data-workflow-picker]")) setUpWorkflowPicker(picker, part, inspector);
  for (const box of part.querySelectorAll("[data-choices]")) setUpChoices(box, inspector);
  for (const row of part.querySelectorAll("[data-replace-node]")) setUpReplacement(row, inspector);
  for (const hints of part.querySelectorAll("[data-choice-hints]")) setUpChoiceHints(hints);
  for (const row of queryWithSelf(part, "[data-answerer]")) setUpAnswerer(row, inspector);
  for (const row of queryWithSelf(part, "[data-button-row]")) setUpButtonId(row);
}

const queryWithSelf = (part, selector) => [...(part.matches?.(selector) ? [part] : []), ...part.querySelectorAll(selector)];

/** Show the sentence about the present choice. */
function setUpChoiceHints(hints) {
  const select = hints.parentElement.querySelector("select");
  const draw = () => {
    for (const hint of hints.children) hint.hidden = hint.dataset.choice !== select.value;
  };
  for (const name of ["change", "shown"]) select.addEventListener(name, draw);
}

/** A row of another type is about somebody else: what was chosen is an id, a role or an address. */
function setUpAnswerer(row, inspector) {
  const type = row.querySelector('[data-key="type"]');
  type.addEventListener("change", (event) => {
    event.stopPropagation(); // the form would store the type alone
    inspector.form.save(getPath(row), { type: type.value, value: "" }, { el: type });
  });
}

const MAX_ID = 20;

/** A new button gets its ID from its title, until somebody writes an ID. */
function setUpButtonId(row) {
  const title = row.querySelector('[data-key="title"]');
  const id = row.querySelector('[data-key="id"]');
  let isMade = id.value === "";
  id.addEventListener("input", (event) => event.isTrusted && (isMade = false));
  title.addEventListener("input", () => {
    if (!isMade) return;
    const used = [...row.parentElement.querySelectorAll(':scope > [data-button-row] [data-key="id"]')].filter((other) => other !== id).map((other) => other.value);
    id.value = makeId(title.value, used);
    id.dispatchEvent(new Event("input", { bubbles: true })); // the form stores it like typed text
  });
  title.addEventListener("change", () => id.dispatchEvent(new Event("change", { bubbles: true }))); // stored together with its title
}

/** Return an identifier with the letters of a title, which no other button has. A title in another script has a number. */
function makeId(title, used) {
  const words = title.normalize("NFKD").toLowerCase().match(/[a-z0-9]+/g) ?? [];
  const name = words.join("_").slice(0, MAX_ID).replace(/_+$/, "") || "button";
  const base = /^[a-z]/.test(name) ? name : `b_${name}`.slice(0, MAX_ID);
  for (let number = 1; ; number++) {
    const suffix = number === 1 ? "" : `_${number}`;
    const candidate = base.slice(0, MAX_ID - suffix.length) + suffix;
    if (!used.includes(candidate)) return candidate;
  }
}

// These stand for one model each, which has no name.
const NAMELESS = new Set(["default", "offline", "none"]);

/** The list of models: provider and name are stored together. Hidden fields beside it tell it when others choose a model. */
function setUpModel(select, inspector) {
  const nameKey = select.dataset.modelChoice || "name";
  const box = select.closest("[data-key]");
  const [provider, name] = ["provider", nameKey].map((key) => box.querySelector(`:scope > [data-key="${key}"]`));
  select.addEventListener("change", () => {
    const choice = readModel(select);
    const path = getPath(box);
    [provider.value, name.value] = [choice.provider, choice.name];
    const isRemoved = !choice.provider && box.dataset.key === "fallback";
    const value = isRemoved ? undefined : { ...inspector.form.getValue(path), provider: choice.provider, [nameKey]: choice.name };
    inspector.form.save(path, value, { el: box });
  });
  for (const field of [provider, name]) field.addEventListener("shown", () => showModel(select, provider.value, name.value));
}

function readModel(select) {
  const { value } = select;
  const position = value.indexOf(":");
  const provider = value.slice(0, Math.max(0, position));
  return { provider, name: NAMELESS.has(provider) ? provider : value.slice(position + 1) };
}

function showModel(select, provider, name) {
  const shortName = provider.split("/").at(-1).toLowerCase();
  const value = shortName ? `${shortName}:${NAMELESS.has(shortName) ? "" : name}` : "";
  let option = [...select.options].find((candidate) => candidate.value === value);
  if (!option) {
    option = new Option([shortName, name].filter(Boolean).join("/"), value);
    option.dataset.icon = "model";
    select.prepend(option);
  }
  option.selected = true;
  showSelected(select);
}

/** Checkboxes of which the checked ones are stored as a list, with a field that shows only those whose name has a text. */
function setUpChoices(box, inspector) {
  const filter = box.querySelector("[data-choices-filter]");
  box.addEventListener("change", ({ target }) => {
    if (target === filter) return;
    const values = [...box.querySelectorAll("input:checked")].map((choice) => choice.value);
    inspector.form.save(getPath(box), values.length ? values : undefined, { el: box });
  });
  filter?.addEventListener("input", (event) => {
    event.stopPropagation();
    const text = filter.value.trim().toLowerCase();
    const items = [...box.querySelectorAll("li")];
    for (const item of items) item.hidden = !item.textContent.toLowerCase().includes(text);
    box.querySelector("[data-choices-none]").hidden = items.some((item) => !item.hidden);
  });
}

/** The type of an authorization, and the fields that it needs. */
function setUpAuthorization(box, inspector) {
  const stored = parseJson(box.dataset.value, {}) ?? {};
  const config = stored.config ?? {};
  const type = box.querySelector("[data-authorization-type]");
  const header = box.querySelector("[data-authorization-header]");
  const secret = box.querySelector("[data-authorization-key]");
  type.value = stored.type === "api-key" ? (config.type ?? "bearer") : "no-auth";
  header.querySelector("input").value = config.header ?? "";
  secret.querySelector("input").value = config.api_key ?? "";
  const show = () => {
    header.hidden = type.value !== "custom";
    secret.hidden = type.value === "no-auth";
  };
  box.addEventListener("change", () => {
    show();
    const isNone = type.value === "no-auth";
    const nextConfig = { ...config, type: type.value, api_key: secret.querySelector("input").value, header: header.querySelector("input").value };
    inspector.form.save(getPath(box), isNone ? { ...stored, type: "no-auth", config: null } : { ...stored, type: "api-key", config: nextConfig }, { el: box });
  });
  show();
}

/** The selected workflow is stored with its name, and with its outputs for later nodes. */
function setUpWorkflowPicker(picker, part, inspector) {
  picker.addEventListener("change", (event) => {
    event.stopPropagation(); // the form would store the short name alone
    select(picker, inspector.form);
  });
  for (const button of part.querySelectorAll("[data-refresh-outputs]")) {
    button.addEventListener("click", async () => {
      await select(picker, inspector.form, { fillsInputs: false }); // one that is empty may be meant to be
      button.closest("[data-old-outputs]")?.remove();
    });
  }
}

const ONE_REFERENCE = /^\{\{#[^{}#]+#\}\}$/;

/** What was entered stays. Of inputs that the other workflow doesn't have, only texts stay, not mere variables. */
function chooseInputs(entered, suggested) {
  const filled = Object.entries(suggested).filter(([, value]) => value);
  const remaining = Object.entries(entered).filter(([input, value]) => value && (input in suggested || !ONE_REFERENCE.test(value)));
  return Object.fromEntries([...filled, ...remaining]);
}

async function select(picker, form, { fillsInputs = true } = {}) {
  const url = new URL(picker.dataset.workflowPicker, location.href);
  url.searchParams.set("slug", picker.value);
  const response = await fetch(url, { headers: { Accept: "application/json" } });
  const { name, outputs, inputs } = response.ok ? await response.json() : { name: "", outputs: [], inputs: {} };
  const values = { workflow: picker.value, workflow_name: name, outputs };
  if (fillsInputs) values.inputs = chooseInputs(form.data.inputs ?? {}, inputs);
  let next = form.data;
  const changes = Object.entries(values).map(([key, value]) => {
    const previous = next;
    next = setAtPath(previous, [key], value);
    return buildOperation(previous, next, [key]);
  });
  await form.send(changes, next, { path: ["workflow"], el: picker });
}

function setUpReplacement(row, inspector) {
  const choice = row.querySelector("select");
  const plan = row.parentElement.querySelector("[data-replacement]");
  choice.addEventListener("change", async (event) => {
    event.stopPropagation(); // it is no field of the node
    plan.replaceChildren();
    if (!choice.value) return;
    const url = new URL(row.dataset.replaceNode, location.href);
    url.searchParams.set("kind", choice.value);
    const html = await fetchFragment(url);
    if (html && url.searchParams.get("kind") === choice.value) setContent(plan, html);
  });
  plan.addEventListener("click", ({ target }) => {
    const button = target.closest("[data-replace]");
    if (button) replaceNode(inspector, choice.value, parseJson(button.dataset.replace, {}), parseJson(button.dataset.changes, []));
  });
}

/** The new node keeps the ID, the title and the edges of the old one, and the settings that fit it. `changes` are those of its readers. */
async function replaceNode(inspector, kind, data, changes) {
  const { editor, current } = inspector;
  const node = editor.model.nodes.get(current.id);
  const incoming = getIncomingEdges(editor, node.id);
  const outgoing = getOutgoingEdges(editor, node.id);
  const handles = new Set(outgoing.map((edge) => edge.fp));
  const output = findOffer(editor, kind)?.way ?? "source";
  const getHandle = (edge) => (handles.size === 1 ? output : edge.fp); // the only branch continues at the new type's first one
  const label = t("Replace {name}", { name: current.title || current.id });
  const change = await editor.edits.send(
    [
      { op: "delete", id: node.id },
      { op: "add", node: { id: node.id, kind, title: current.title, x: node.x, y: node.y, parent: getParent(node.scope), data } },
      ...incoming.map((edge) => ({ op: "connect", edge: { id: edge.id, source: edge.from, handle: edge.fp, target: node.id } })),
      ...outgoing.map((edge) => ({ op: "connect", edge: { id: edge.id, source: node.id, handle: getHandle(edge), target: edge.to } })),
      ...changes,
    ],
    { label },
  );
  if (!change) return;
  editor.say(label);
  editor.canvas.focus(node.id);
  await inspector.reload({ redrawn: true });
}
