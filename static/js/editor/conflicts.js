// The dialog where a clash is decided, and the list of what wasn't accepted. Both open from a button beside "Saved".

import { canBeBoth, decided, isGone } from "./clashing.js";
import { nameOf } from "./graph.js";
import { takeOver } from "./left_clashes.js";
import { t } from "./words.js";

const TYPING = "input, textarea, select, [contenteditable]";

export function install(editor) {
  const { ledger } = editor.edits;
  const dialog = make("dialog", { className: "tg-dialog", id: "conflicts" });
  dialog.setAttribute("aria-labelledby", "conflicts-title");
  const button = make("button", { type: "button", className: "button button-s tg-report", id: "reported", hidden: true });
  const away = make("button", { type: "button", className: "button button-quiet button-icon button-s", id: "reported-away", hidden: true, textContent: "×", title: t("Put away") });
  away.setAttribute("aria-label", t("Put away"));
  editor.root.querySelector("#saved")?.after(button, away);
  editor.root.append(dialog);

  function show() {
    const { clashes, refused } = ledger;
    const count = clashes.length + refused.length;
    button.hidden = count === 0;
    away.hidden = count === 0 || clashes.length > 0;
    button.classList.toggle("is-refused", !clashes.length);
    button.textContent = clashes.length ? t("Decide: {n}", { n: clashes.length }) : t("Not accepted: {n}", { n: refused.length });
    button.setAttribute("aria-label", button.textContent);
    button.dataset.n = clashes.length || refused.length;
    if (!dialog.open) return;
    if (count === 0) dialog.close();
    else fill();
  }

  function fill() {
    const title = make("h2", { id: "conflicts-title", textContent: ledger.clashes.length ? headingOf(ledger.clashes) : t("Not accepted") });
    const close = make("button", { type: "button", className: "button button-quiet", textContent: t("Close") });
    close.addEventListener("click", () => dialog.close());
    const chosen = new Map([...dialog.querySelectorAll("input:checked")].map(({ name, value }) => [name, value]));
    const { name, value } = dialog.contains(document.activeElement) ? document.activeElement : {};
    const forms = ledger.clashes.map((entry) => clashForm(editor, entry, chosen));
    dialog.replaceChildren(title, ...forms, ...reports(editor, ledger), close);
    const radios = [...dialog.querySelectorAll("input[type=radio]")];
    radios.find((radio) => radio.name === name && radio.value === value)?.focus();
  }

  function open() {
    if (dialog.open) return;
    fill();
    dialog.showModal();
    dialog.querySelector("input, button")?.focus();
  }

  // Nobody who is typing is interrupted: it opens when the field is left.
  function openWhenFree() {
    const field = document.activeElement?.closest(TYPING);
    if (!field || dialog.contains(field)) return open();
    field.addEventListener("blur", () => setTimeout(() => ledger.clashes.length && open()), { once: true });
  }

  const putAway = () => ledger.refused.map(({ id }) => id).forEach((id) => ledger.remove(id));
  button.addEventListener("click", open);
  away.addEventListener("click", putAway);
  // what was looked at needs no badge any more
  dialog.addEventListener("close", putAway);
  // what others did arrives after the clash was told of: names as they are now, without taking back what was chosen
  editor.addEventListener("change", () => {
    if (!dialog.open) return;
    for (const legend of dialog.querySelectorAll("legend[data-node]")) legend.textContent = placeOf(editor, legend.dataset.node, legend.dataset.field);
  });
  ledger.addEventListener("change", (event) => {
    show();
    if (event.detail?.kind === "clash") openWhenFree();
  });
  show();
  takeOver(editor, (count) => {
    editor.say(t("Still to be decided, from before: {n}", { n: count }));
    openWhenFree();
  });
}

function headingOf(entries) {
  const isOwn = entries.every(({ clashes }) => clashes.every(({ own }) => own));
  return isOwn ? t("Changed in another tab of yours") : t("Changed by two people");
}

/** `chosen`: what was picked in it before it was drawn anew, by the name of the choice. */
function clashForm(editor, entry, chosen) {
  const form = make("form", { className: "tg-clash" });
  const ofStep = offersOf[entry.way];
  if (ofStep) form.append(make("p", { textContent: entry.message }));
  form.append(...entry.clashes.map((clash, at) => choices(editor, clash, `${entry.id}-${at}`, ofStep ?? wordsFor(editor, entry))));
  const all = (choice, words) => {
    const pick = make("button", { type: "button", className: "button button-quiet button-s", textContent: words });
    pick.addEventListener("click", () => {
      for (const radio of form.querySelectorAll(`input[value=${choice}]`)) radio.checked = true;
      check();
    });
    return pick;
  };
  const row = make("div", { className: "row" });
  const apply = make("button", { type: "submit", className: "button button-main", textContent: t("Apply") });
  const picked = () => entry.clashes.map((_clash, at) => form.querySelector(`input[name="${entry.id}-${at}"]:checked`)?.value);
  const check = () => (apply.disabled = picked().includes(undefined));
  const isOwn = entry.clashes.every(({ own }) => own);
  if (entry.clashes.length > 1 && !entry.way && !(isOwn && isElsewhere(editor, entry))) {
    row.append(all("yours", isOwn ? t("All from this tab") : t("All mine")), all("theirs", isOwn ? t("All from the other tab") : t("All theirs")));
  }
  row.append(apply);
  form.append(row);
  for (const radio of form.querySelectorAll("input[type=radio]")) radio.checked = chosen.get(radio.name) === radio.value;
  check();
  form.addEventListener("change", check);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const choice = picked();
    if (choice.includes(undefined)) return;
    if (entry.way) return editor.edits.decideStep(entry, Object.fromEntries(entry.clashes.map(({ op }, at) => [op, choice[at] === "yours" ? "mine" : "theirs"])));
    const ops = entry.clashes.map((clash, at) => decided(clash, choice[at])).filter(Boolean);
    editor.edits.decide(entry, ops);
  });
  return form;
}

/** Of an undo and a redo that somebody's later edit stands in the way of. */
const offersOf = {
  undo: (clash) => [["yours", t("Undo anyway"), valueOf(clash.yours)], ["theirs", keeping(clash), valueOf(clash.theirs)]],
  redo: (clash) => [["yours", t("Redo anyway"), valueOf(clash.yours)], ["theirs", keeping(clash), valueOf(clash.theirs)]],
};
const keeping = ({ by }) => t("Keep {who}'s", { who: by || t("Somebody") });

/** A page that wasn't the one where it was written, or was loaded since, doesn't say "this tab". */
const isElsewhere = (editor, { client, wasElsewhere }) => wasElsewhere || client !== editor.edits.client;

function wordsFor(editor, entry) {
  const isHere = !isElsewhere(editor, entry);
  return (clash) => {
    const [mine, other] = !clash.own
      ? [t("Yours"), t("{who}'s", { who: clash.by || t("Somebody") })]
      : isHere ? [t("From this tab"), t("From your other tab")] : [t("Not accepted"), t("Saved")];
    const offers = [
      ["yours", isGone(clash.theirs) ? t("Bring it back, with yours") : mine, valueOf(clash.yours)],
      ["theirs", other, valueOf(clash.theirs)],
    ];
    return canBeBoth(clash) ? [...offers, ["both", t("Both"), valueOf(decided(clash, "both").value)]] : offers;
  };
}

function choices(editor, clash, name, offersFor) {
  const set = make("fieldset", { className: "tg-choice" });
  const legend = make("legend", { textContent: clash.node ? placeOf(editor, clash.node, clash.label || clash.field) : clash.field });
  if (clash.node) Object.assign(legend.dataset, { node: clash.node, field: clash.label || clash.field });
  set.append(legend);
  for (const [choice, words, value] of offersFor(clash)) {
    const label = make("label", { className: "tg-offer" });
    const radio = make("input", { type: "radio", name, value: choice, required: true });
    label.append(radio, make("b", { textContent: words }), make("pre", { textContent: value }));
    set.append(label);
  }
  return set;
}

const placeOf = (editor, node, field) => t("{node}: {field}", { node: nameOf(editor, node), field });

function valueOf(value) {
  if (isGone(value)) return t("(taken away)");
  return typeof value === "string" ? value || t("(empty)") : JSON.stringify(value, null, 2);
}

function reports(editor, ledger) {
  const rows = ledger.refused.map((entry) => {
    const item = make("li", { className: "tg-refused" });
    const copy = make("button", { type: "button", className: "button button-s", textContent: t("Copy") });
    copy.addEventListener("click", async () => {
      await navigator.clipboard?.writeText(JSON.stringify(entry.ops, null, 2));
      editor.say(t("Copied"));
    });
    const away = make("button", { type: "button", className: "button button-quiet button-s", textContent: t("Put away") });
    away.addEventListener("click", () => ledger.remove(entry.id));
    const buttons = make("div", { className: "row" });
    buttons.append(copy, away);
    item.append(make("b", { textContent: entry.label || entry.ops[0]?.op }), make("p", { textContent: entry.message }), make("pre", { textContent: JSON.stringify(entry.ops) }), buttons);
    return item;
  });
  if (!rows.length) return [];
  const list = make("ul", { className: "tg-list" });
  list.append(...rows);
  const heading = make("h3", { textContent: t("Reported: not part of the workflow") });
  return ledger.clashes.length ? [heading, list] : [list];
}

function make(name, properties = {}) {
  return Object.assign(document.createElement(name), properties);
}
