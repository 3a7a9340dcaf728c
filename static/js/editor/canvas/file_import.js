// Exports files, and imports a file that was dropped on the canvas or chosen: after a question its nodes join the draft or
// replace it. Several files become workflows of their own, and of a file that is no workflow a dialog says where it belongs.

import { LARGEST, importFiles, mayBeWorkflow, otherFileUrl } from "../../common/import_files.js";
import { paste } from "./clipboard.js";
import { t } from "../../common/translations.js";

export function install(editor) {
  // The answer is a file, so the page stays.
  const download = (address) => () => location.assign(address);
  editor.commands.add(
    { id: "export-yaml", label: t("Export as YAML"), group: "other", words: "download dsl", run: download(editor.urls.export) },
    { id: "export-json", label: t("Export as JSON"), group: "other", words: "download dsl", run: download(`${editor.urls.export}?format=json`) },
    { id: "export-svg", label: t("Export as image (SVG)"), group: "other", words: "download image svg", run: download(editor.urls.picture) },
  );
  if (!editor.canEdit) return;
  acceptFiles(editor);
}

function acceptFiles(editor) {
  const canvas = editor.root.querySelector("[data-canvas]");
  const veil = document.getElementById("drop-veil");
  const field = document.getElementById("import-file");
  canvas.append(veil);
  const carriesFiles = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
  let depth = 0;

  canvas.addEventListener("dragenter", (event) => {
    if (!carriesFiles(event)) return;
    event.preventDefault();
    depth++;
    veil.hidden = false;
  });
  canvas.addEventListener("dragover", (event) => carriesFiles(event) && event.preventDefault());
  canvas.addEventListener("dragleave", () => {
    depth = Math.max(0, depth - 1);
    veil.hidden = depth === 0;
  });
  canvas.addEventListener("drop", (event) => {
    if (!carriesFiles(event)) return;
    event.preventDefault();
    depth = 0;
    veil.hidden = true;
    importFile(editor, event.dataTransfer.files, { x: event.clientX, y: event.clientY });
  });
  // A file dropped beside the canvas must not replace the page.
  for (const name of ["dragover", "drop"]) window.addEventListener(name, (event) => carriesFiles(event) && event.preventDefault());

  field.addEventListener("change", async () => {
    await importFile(editor, field.files, null);
    field.value = "";
  });
  editor.commands.add({ id: "import-file", label: t("Import file…"), group: "add", edits: true, menu: ["canvas"], words: "yaml json dsl", run: () => field.click() });
}

async function importFile(editor, files, position) {
  if (files.length > 1) return importSeveral(files);
  const [file] = files;
  if (!file) return;
  const text = file.size > LARGEST ? "" : await file.text();
  if (!mayBeWorkflow(file.name, text)) return showOtherFile(editor, file.name);
  if (file.size > LARGEST) return editor.say(t("{name} is too large", { name: file.name }));
  const mode = await askForMode(file.name);
  const label = t("Import {name}", { name: file.name });
  if (mode === "fragment") return paste(editor, text, position, label);
  if (mode === "draft") return replaceDraft(editor, text, file.name);
}

async function importSeveral(files) {
  const names = [...files].map((file) => file.name).join(", ");
  if ((await ask("drop-several", names)) === "import") importFiles(document.getElementById("drop-form"), files);
}

/** Say what a file is that is no workflow, and show the places for it. */
async function showOtherFile(editor, name) {
  const url = otherFileUrl(document.getElementById("drop-form").action, name);
  const response = await fetch(url, { headers: { "HX-Request": "true" } });
  if (!response.ok) return editor.say(t("{name} can't be imported", { name }));
  const dialog = document.getElementById("other-file");
  dialog.querySelector("[data-place]").innerHTML = await response.text();
  dialog.showModal();
}

const askForMode = (name) => ask("drop-dialog", name);

function ask(id, name) {
  const dialog = document.getElementById(id);
  dialog.querySelector("[data-drop-name]").textContent = name;
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => dialog.addEventListener("close", () => resolve(dialog.returnValue), { once: true }));
}

/** Replace the draft through the form of the import page, which also shows the reasons of a refusal. */
async function replaceDraft(editor, text, name) {
  const form = new FormData();
  form.set("document", text);
  const token = JSON.parse(document.body.getAttribute("hx-headers:inherited") ?? "{}")["X-CSRFToken"];
  const response = await fetch(editor.urls.replace, { method: "POST", body: form, headers: { "X-CSRFToken": token } });
  if (response.ok && response.redirected) return location.assign(response.url); // the editor, or the report of what is missing
  editor.say(t("{name} can't be imported", { name }));
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  const reasons = [...page.querySelectorAll(".notice li, .errorlist li")].map((item) => item.textContent.trim());
  editor.say([t("{name} can't be imported", { name }), ...reasons.slice(0, 3)].join(". "));
}
