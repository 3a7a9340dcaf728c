// Controls that only one kind of node has: the authorization of an HTTP request, and the picker of a sub-workflow.

import { getPath } from "./controls.js";
import { buildOperation, parseJson, setAtPath } from "../common/json_paths.js";

export function enhance(part, inspector) {
  for (const box of part.querySelectorAll("[data-authorization]")) setUpAuthorization(box, inspector);
  for (const picker of part.querySelectorAll("[data-workflow-picker]")) setUpWorkflowPicker(picker, part, inspector);
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
      await select(picker, inspector.form);
      button.closest("[data-old-outputs]")?.remove();
    });
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
