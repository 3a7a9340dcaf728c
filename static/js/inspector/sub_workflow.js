// The picker of a sub-workflow: the selected workflow is stored with its name, and with its outputs for later nodes.

import { buildOperation, setAtPath } from "../common/json_paths.js";

export function enhance(part, inspector) {
  for (const picker of part.querySelectorAll("[data-workflow-picker]")) {
    picker.addEventListener("change", (event) => {
      event.stopPropagation(); // the form would store the short name alone
      select(picker, inspector.form);
    });
    for (const button of part.querySelectorAll("[data-refresh-outputs]")) {
      button.addEventListener("click", async () => {
        await select(picker, inspector.form);
        button.closest("[data-old-outputs]")?.remove();
      });
    }
  }
}

async function select(picker, form) {
  const url = new URL(picker.dataset.workflowPicker, location.href);
  url.searchParams.set("slug", picker.value);
  const response = await fetch(url, { headers: { Accept: "application/json" } });
  const { name, outputs } = response.ok ? await response.json() : { name: "", outputs: [] };
  const values = { workflow: picker.value, workflow_name: name, outputs };
  let next = form.data;
  const changes = Object.entries(values).map(([key, value]) => {
    const previous = next;
    next = setAtPath(previous, [key], value);
    return buildOperation(previous, next, [key]);
  });
  await form.send(changes, next, { path: ["workflow"], el: picker });
}
