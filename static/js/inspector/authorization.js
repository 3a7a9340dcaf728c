// The authorization of a request: one choice, and what it needs.

import { pathOf } from "./controls.js";
import { read } from "./trees.js";

export function enhance(part, inspector) {
  for (const box of part.querySelectorAll("[data-authorization]")) setUp(box, inspector);
}

function setUp(box, inspector) {
  const held = read(box.dataset.value, {}) ?? {};
  const config = held.config ?? {};
  const type = box.querySelector("[data-authorization-type]");
  const header = box.querySelector("[data-authorization-header]");
  const secret = box.querySelector("[data-authorization-key]");
  type.value = held.type === "api-key" ? (config.type ?? "bearer") : "no-auth";
  header.querySelector("input").value = config.header ?? "";
  secret.querySelector("input").value = config.api_key ?? "";
  const show = () => {
    header.hidden = type.value !== "custom";
    secret.hidden = type.value === "no-auth";
  };
  box.addEventListener("change", () => {
    show();
    const none = type.value === "no-auth";
    const chosen = { ...config, type: type.value, api_key: secret.querySelector("input").value, header: header.querySelector("input").value };
    inspector.form.save(pathOf(box), none ? { ...held, type: "no-auth", config: null } : { ...held, type: "api-key", config: chosen }, { el: box });
  });
  show();
}
