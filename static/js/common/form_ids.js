// A form has an id by which the server knows a form that is sent again. A page that the browser brings back has the id of
// an earlier start. Once that start was answered with a page, its form may start another one, so it gets a new id; after a
// connection that broke it keeps its id, and the server leads to the run that may have begun.

import { createRandomId } from "./random_ids.js";

const KEY = "mnemoflow-sent-forms"; // of this tab: the ids of forms that were sent, and whether a page came after them
const MAX_IDS = 50;
const FIELD = "input[name='sys.form_id']";

document.addEventListener("submit", ({ target }) => {
  const field = target.querySelector?.(FIELD);
  if (field) store([...load().filter(({ id }) => id !== field.value), { id: field.value, answered: false }]);
});

addEventListener("pageshow", ({ persisted }) => {
  if (persisted) renew();
});

if (performance.getEntriesByType("navigation")[0]?.type === "back_forward") renew();
else store(load().map(({ id }) => ({ id, answered: true })));

function renew() {
  const answered = new Set(load().filter((form) => form.answered).map(({ id }) => id));
  for (const field of document.querySelectorAll(FIELD)) if (answered.has(field.value)) field.value = createRandomId();
}

function load() {
  try {
    return JSON.parse(sessionStorage.getItem(KEY)) ?? [];
  } catch {
    return [];
  }
}

function store(forms) {
  try {
    sessionStorage.setItem(KEY, JSON.stringify(forms.slice(-MAX_IDS)));
  } catch {
    // a form that was brought back leads to its first run
  }
}
