// Edits titles where they are shown: the workflow's in the top bar, a node's on its card. Enter or leaving the field keeps
// the text, Escape brings back the old one.

import { getNodeName } from "./graph_queries.js";
import { isNarrow } from "./panels.js";
import { t } from "../common/translations.js";

const MAX_LENGTH = 255;
const MIN_WIDTH = 160; // px

export function install(editor) {
  if (!editor.canEdit) return;
  const name = editor.root.querySelector("#workflow-name");
  name.addEventListener("click", () => renameWorkflow(editor, name));
  name.addEventListener("keydown", (event) => {
    if (event.key !== "F2") return;
    event.preventDefault();
    event.stopPropagation();
    renameWorkflow(editor, name);
  });
  editor.root.querySelector(".ed-top").addEventListener("click", (event) => {
    const link = event.target.closest('a[href$="/rename/"]');
    if (!link || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    link.closest("details")?.removeAttribute("open");
    renameWorkflow(editor, name);
  });
  editor.commands.add({ id: "rename-workflow", label: t("Rename workflow"), group: "edit", edits: true, run: () => renameWorkflow(editor, name) });
  editor.addEventListener("edit-title", ({ detail }) => renameNode(editor, editor.model.nodes.get(detail.id)));
}

async function renameWorkflow(editor, heading) {
  const current = heading.textContent.trim();
  const title = await editInPlace(editor, heading, { value: current, label: t("Workflow name") });
  if (document.activeElement === document.body) heading.focus();
  if (!title || title === current) return;
  document.title = document.title.replace(current, title);
  heading.textContent = title;
  const label = t("Renamed the workflow to {name}", { name: title });
  const change = await editor.edits.send([{ op: "header", field: "name", value: title }], { label });
  if (change) editor.say(label);
}

/** Rename a node on its card; in the outline, beside its row. */
export async function renameNode(editor, node) {
  if (!node) return;
  const current = getNodeName(editor, node.id);
  const shown = node.el.querySelector(":scope > .wf-card .wf-names > b");
  const isOnCanvas = shown && !isNarrow() && !document.activeElement?.closest("#outline") && !editor.canvas.farView.isOn;
  if (isOnCanvas) editor.canvas.reveal(node.id);
  const title = isOnCanvas
    ? await editInPlace(editor, shown, { value: current, label: t("Name"), getScale: () => editor.canvas.viewport.k })
    : await editor.ask({ title: t("Rename {name}", { name: current }), label: t("Name"), value: current, action: t("Rename"), at: node.el });
  if (isOnCanvas && document.activeElement === document.body && editor.model.nodes.has(node.id)) editor.canvas.focus(node.id);
  if (!title?.trim() || title.trim() === current) return;
  const label = t("Renamed {old} to {name}", { old: current, name: title.trim() });
  if (await editor.edits.send([{ op: "rename", id: node.id, title: title.trim() }], { label })) editor.say(label);
}

/**
 * Show a field over an element at once, so that no key is lost, and let it follow the element when the view moves.
 * @returns {Promise<string | null>} the new text, or null when it was cancelled
 */
function editInPlace(editor, shown, { value, label, getScale = () => 1 }) {
  const field = Object.assign(document.createElement("input"), { type: "text", className: "title-edit", value, maxLength: MAX_LENGTH, autocomplete: "off" });
  field.setAttribute("aria-label", label);
  const place = () => {
    const box = shown.getBoundingClientRect();
    const { fontWeight, fontSize } = getComputedStyle(shown);
    const width = Math.max(MIN_WIDTH, box.width + 32);
    Object.assign(field.style, {
      left: `${Math.max(8, Math.min(box.left - 6, innerWidth - width - 8))}px`,
      top: `${box.top - 4}px`,
      width: `${width}px`,
      height: `${box.height + 8}px`,
      fontSize: `${Math.max(12, parseFloat(fontSize) * getScale())}px`,
      fontWeight,
    });
  };
  place();
  editor.root.append(field);
  field.focus();
  field.select();
  return new Promise((resolve) => {
    const controller = new AbortController();
    const finish = (text) => {
      if (controller.signal.aborted) return;
      controller.abort();
      field.remove();
      resolve(text);
    };
    const { signal } = controller;
    field.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.isComposing || !["Enter", "Escape"].includes(event.key)) return;
      event.preventDefault();
      finish(event.key === "Enter" ? field.value.trim() : null);
    }, { signal });
    field.addEventListener("blur", () => finish(field.value.trim()), { signal });
    editor.canvas.viewport.addEventListener("move", () => requestAnimationFrame(place), { signal });
  });
}
