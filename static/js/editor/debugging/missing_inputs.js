// Asks for the input values of a node that runs alone, where no earlier run has them.

import { getNodeName } from "../graph_queries.js";

export function askForValues(panel, editor, problems, then) {
  panel.querySelector("[data-needs]")?.remove();
  const form = document.getElementById("needs-values").content.firstElementChild.cloneNode(true);
  const fields = form.querySelector("[data-needs-fields]");
  problems.forEach(({ node, field }, index) => fields.append(createField(editor, node, field, index)));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const values = {};
    for (const box of fields.querySelectorAll("textarea")) (values[box.dataset.node] ??= {})[box.name] = parseValue(box.value);
    form.remove();
    then(values);
  });
  form.querySelector("[data-needs-cancel]").addEventListener("click", () => form.remove());
  panel.prepend(form);
  fields.querySelector("textarea")?.focus();
}

function createField(editor, node, name, index) {
  const field = document.createElement("div");
  field.className = "field";
  const label = Object.assign(document.createElement("label"), { htmlFor: `needs-${index}` });
  label.textContent = `${getNodeName(editor, node)} · ${name}`;
  const box = Object.assign(document.createElement("textarea"), { id: `needs-${index}`, name, rows: 2 });
  box.dataset.node = node;
  field.append(label, box);
  return field;
}

/** Parse JSON, or return the text when it is none. */
function parseValue(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
