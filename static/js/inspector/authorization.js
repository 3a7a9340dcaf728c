// The authorization of an HTTP request: the type, and the fields that it needs.

import { getPath } from "./controls.js";
import { parseJson } from "../common/json_paths.js";

export function enhance(part, inspector) {
  for (const box of part.querySelectorAll("[data-authorization]")) setUp(box, inspector);
}

function setUp(box, inspector) {
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
