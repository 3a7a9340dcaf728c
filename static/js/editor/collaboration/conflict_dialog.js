// The dialog to decide conflicts, with the list of refused edits. Both open from a button beside "Saved".

import { canCombine, buildDecision, isMissing } from "./conflict_rules.js";
import { getNodeName } from "../graph_queries.js";
import { sendRequest } from "./requests.js";
import { CLIENT, onceClosed } from "./tabs.js";
import { t } from "../../common/translations.js";

const TEXT_FIELDS = "input, textarea, select, [contenteditable]";

export function install(editor) {
  const { unsavedChanges } = editor.edits;
  const dialog = createElement("dialog", { className: "tg-dialog", id: "conflicts" });
  dialog.setAttribute("aria-labelledby", "conflicts-title");
  const button = createElement("button", { type: "button", className: "button button-s tg-report", id: "reported", hidden: true });
  const dismissButton = createElement("button", { type: "button", className: "button button-quiet button-icon button-s", id: "reported-away", hidden: true, textContent: "×", title: t("Dismiss") });
  dismissButton.setAttribute("aria-label", t("Dismiss"));
  editor.root.querySelector("#saved")?.after(button, dismissButton);
  editor.root.append(dialog);

  function show() {
    const { conflicts, refused } = unsavedChanges;
    const count = conflicts.length + refused.length;
    button.hidden = count === 0;
    dismissButton.hidden = count === 0 || conflicts.length > 0;
    button.classList.toggle("is-refused", !conflicts.length);
    button.textContent = conflicts.length ? t("Conflicts: {n}", { n: conflicts.length }) : t("Rejected edits: {n}", { n: refused.length });
    button.setAttribute("aria-label", button.textContent);
    button.dataset.n = conflicts.length || refused.length;
    if (!dialog.open) return;
    if (count === 0) dialog.close();
    else fill();
  }

  function fill() {
    const title = createElement("h2", { id: "conflicts-title", textContent: unsavedChanges.conflicts.length ? getHeading(unsavedChanges.conflicts) : t("Not saved") });
    const close = createElement("button", { type: "button", className: "button button-quiet", textContent: t("Close") });
    close.addEventListener("click", () => dialog.close());
    const selectedValues = new Map([...dialog.querySelectorAll("input:checked")].map(({ name, value }) => [name, value]));
    const { name, value } = dialog.contains(document.activeElement) ? document.activeElement : {};
    const intro = createElement("p", { className: "hint", textContent: t("Choose the value to keep for each setting. Nothing is lost until you decide.") });
    const forms = unsavedChanges.conflicts.map((entry) => createConflictForm(editor, entry, selectedValues));
    dialog.replaceChildren(title, ...(forms.length ? [intro] : []), ...forms, ...createReports(editor, unsavedChanges), close);
    const radios = [...dialog.querySelectorAll("input[type=radio]")];
    radios.find((radio) => radio.name === name && radio.value === value)?.focus();
  }

  function open() {
    if (dialog.open) return;
    fill();
    dialog.showModal();
    dialog.querySelector("input, button")?.focus();
  }

  // The dialog does not interrupt typing: it opens when the field is left.
  function openAfterTyping() {
    const field = document.activeElement?.closest(TEXT_FIELDS);
    if (!field || dialog.contains(field)) return open();
    field.addEventListener("blur", () => setTimeout(() => unsavedChanges.conflicts.length && open()), { once: true });
  }

  const dismissRefused = () => unsavedChanges.refused.map(({ id }) => id).forEach((id) => unsavedChanges.remove(id));
  button.addEventListener("click", open);
  dismissButton.addEventListener("click", dismissRefused);
  // Refused edits that were seen need no badge any more.
  dialog.addEventListener("close", dismissRefused);
  // Changes by others may rename nodes: update the names without resetting the choices.
  editor.addEventListener("change", () => {
    if (!dialog.open) return;
    for (const legend of dialog.querySelectorAll("legend[data-node]")) legend.textContent = formatPlace(editor, legend.dataset.node, legend.dataset.field);
  });
  unsavedChanges.addEventListener("change", (event) => {
    show();
    const { kind, wasElsewhere } = event.detail ?? {};
    if (kind === "conflict" && !wasElsewhere) openAfterTyping();
  });
  show();
  // Decisions that an earlier page left open wait behind the button: they don't interrupt at each visit.
  takeOverConflicts(editor, (count) => editor.say(t("Earlier conflicts: {n}", { n: count })));
}

function getHeading(entries) {
  const isOwn = entries.every(({ conflicts }) => conflicts.every(({ own }) => own));
  return isOwn ? t("Changed in another tab") : t("Changed by two users");
}

/** `selected`: the choices made before the form was drawn again, by the name of the choice. */
function createConflictForm(editor, entry, selected) {
  const form = createElement("form", { className: "tg-conflict" });
  const stepOffers = STEP_OFFERS[entry.way];
  if (stepOffers) form.append(createElement("p", { textContent: entry.message }));
  form.append(...entry.conflicts.map((conflict, index) => createChoices(editor, conflict, `${entry.id}-${index}`, stepOffers ?? buildOffers(editor, entry))));
  const createChooseAll = (choice, label) => {
    const button = createElement("button", { type: "button", className: "button button-quiet button-s", textContent: label });
    button.addEventListener("click", () => {
      for (const radio of form.querySelectorAll(`input[value=${choice}]`)) radio.checked = true;
      updateApply();
    });
    return button;
  };
  const row = createElement("div", { className: "row" });
  const apply = createElement("button", { type: "submit", className: "button button-main", textContent: t("Apply") });
  const getChoices = () => entry.conflicts.map((_conflict, index) => form.querySelector(`input[name="${entry.id}-${index}"]:checked`)?.value);
  const updateApply = () => (apply.disabled = getChoices().includes(undefined));
  const isOwn = entry.conflicts.every(({ own }) => own);
  if (entry.conflicts.length > 1 && !entry.way && !(isOwn && isFromOtherPage(editor, entry))) {
    row.append(createChooseAll("yours", isOwn ? t("Keep all from this tab") : t("Keep all mine")), createChooseAll("theirs", isOwn ? t("Keep all from other tab") : t("Keep all theirs")));
  }
  row.append(apply);
  form.append(row);
  for (const radio of form.querySelectorAll("input[type=radio]")) radio.checked = selected.get(radio.name) === radio.value;
  updateApply();
  form.addEventListener("change", updateApply);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const choice = getChoices();
    if (choice.includes(undefined)) return;
    if (entry.way) return editor.edits.decideStep(entry, Object.fromEntries(entry.conflicts.map(({ op }, index) => [op, choice[index] === "yours" ? "mine" : "theirs"])));
    const ops = entry.conflicts.map((conflict, index) => buildDecision(conflict, choice[index])).filter(Boolean);
    editor.edits.decide(entry, ops);
  });
  return form;
}

/** The choices for an undo or a redo that meets a later edit by somebody else. */
const STEP_OFFERS = {
  undo: (conflict) => [["yours", t("Undo anyway"), formatValue(conflict.yours)], ["theirs", getKeepLabel(conflict), formatValue(conflict.theirs)]],
  redo: (conflict) => [["yours", t("Redo anyway"), formatValue(conflict.yours)], ["theirs", getKeepLabel(conflict), formatValue(conflict.theirs)]],
};
const getKeepLabel = ({ by }) => t("Keep {who}'s", { who: by || t("Someone") });

/** Return whether the entry was made on another page, so that "this tab" would be wrong. */
const isFromOtherPage = (editor, { client, wasElsewhere }) => wasElsewhere || client !== editor.edits.client;

function buildOffers(editor, entry) {
  const isFromThisPage = !isFromOtherPage(editor, entry);
  return (conflict) => {
    const [ownLabel, otherLabel] = !conflict.own
      ? [t("Keep yours"), t("Keep {who}'s", { who: conflict.by || t("Someone") })]
      : isFromThisPage ? [t("Keep this tab's"), t("Keep the other tab's")] : [t("Keep the unsaved value"), t("Keep the saved value")];
    const offers = [
      ["yours", isMissing(conflict.theirs) ? t("Restore with your changes") : ownLabel, formatValue(conflict.yours)],
      ["theirs", otherLabel, formatValue(conflict.theirs)],
    ];
    return canCombine(conflict) ? [...offers, ["both", t("Keep both, one below the other"), formatValue(buildDecision(conflict, "both").value)]] : offers;
  };
}

function createChoices(editor, conflict, name, getOffers) {
  const fieldset = createElement("fieldset", { className: "tg-choice" });
  const legend = createElement("legend", { textContent: conflict.node ? formatPlace(editor, conflict.node, conflict.label || conflict.field) : conflict.field });
  if (conflict.node) Object.assign(legend.dataset, { node: conflict.node, field: conflict.label || conflict.field });
  fieldset.append(legend);
  for (const [choice, offerLabel, value] of getOffers(conflict)) {
    const label = createElement("label", { className: "tg-offer" });
    const radio = createElement("input", { type: "radio", name, value: choice, required: true });
    label.append(radio, createElement("b", { textContent: offerLabel }), createElement("pre", { textContent: value }));
    fieldset.append(label);
  }
  return fieldset;
}

const formatPlace = (editor, node, field) => t("{node}: {field}", { node: getNodeName(editor, node), field });

function formatValue(value) {
  if (isMissing(value)) return t("(removed)");
  return typeof value === "string" ? value || t("(empty)") : JSON.stringify(value, null, 2);
}

function createReports(editor, unsavedChanges) {
  const rows = unsavedChanges.refused.map((entry) => {
    const item = createElement("li", { className: "tg-refused" });
    const copy = createElement("button", { type: "button", className: "button button-s", textContent: t("Copy") });
    copy.addEventListener("click", async () => {
      await navigator.clipboard?.writeText(JSON.stringify(entry.ops, null, 2));
      editor.say(t("Copied"));
    });
    const dismiss = createElement("button", { type: "button", className: "button button-quiet button-s", textContent: t("Dismiss") });
    dismiss.addEventListener("click", () => unsavedChanges.remove(entry.id));
    const buttons = createElement("div", { className: "row" });
    buttons.append(copy, dismiss);
    item.append(createElement("b", { textContent: entry.label || entry.ops[0]?.op }), createElement("p", { textContent: entry.message }), createElement("pre", { textContent: JSON.stringify(entry.ops) }), buttons);
    return item;
  });
  if (!rows.length) return [];
  const list = createElement("ul", { className: "tg-list" });
  list.append(...rows);
  const heading = createElement("h3", { textContent: t("Import warnings") });
  return unsavedChanges.conflicts.length ? [heading, list] : [list];
}

function createElement(name, properties = {}) {
  return Object.assign(document.createElement(name), properties);
}

/**
 * Take over decisions that closed pages of this person left open, so that unsaved input stays visible. Calls back with
 * their number once the page they belong to is closed.
 */
function takeOverConflicts(editor, then) {
  const { unsavedChanges } = editor.edits;
  const steps = unsavedChanges.conflicts.filter(({ client }) => !client); // an undo does not belong to a page
  if (steps.length) then(steps.length);
  const clients = new Set(unsavedChanges.conflicts.map(({ client }) => client).filter((client) => client && client !== CLIENT));
  for (const client of clients) {
    onceClosed(client, async () => {
      const orphaned = unsavedChanges.conflicts.filter((entry) => entry.client === client);
      if (!orphaned.length) return; // another page took them over, or they are decided
      for (const entry of orphaned) unsavedChanges.update(entry.id, { client: CLIENT, wasElsewhere: true });
      await applyMissedChanges(editor, client, Math.min(...orphaned.map(({ base }) => base)));
      then(orphaned.length);
    });
  }
}

/** Apply the changes that others made to the fields while no page listened. */
async function applyMissedChanges(editor, client, base) {
  if (!Number.isFinite(base)) return;
  const url = new URL(editor.urls.changes, location.href);
  url.searchParams.set("after", base);
  const { kind, body } = await sendRequest(url);
  if (kind !== "done" || body.reload) return;
  for (const change of body.changes) if (change.client !== client) editor.edits.pendingDecisions.applyChanges(change);
}
