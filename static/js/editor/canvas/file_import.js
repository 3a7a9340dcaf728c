// Files in and out. One let go over the canvas, or chosen: its nodes join the draft, or it becomes the draft; which, is asked.

import { paste } from "./clipboard.js";
import { t } from "./words.js";

const LARGEST = 5_000_000;

export function install(editor) {
  // what is answered with is a file: the page stays
  const take = (address) => () => location.assign(address);
  editor.commands.add(
    { id: "export-yaml", label: t("Export the workflow as YAML"), group: "other", words: "download dsl", run: take(editor.urls.export) },
    { id: "export-json", label: t("Export the workflow as JSON"), group: "other", words: "download dsl", run: take(`${editor.urls.export}?format=json`) },
    { id: "export-svg", label: t("Export the workflow as a picture (SVG)"), group: "other", words: "download image svg", run: take(editor.urls.picture) },
  );
  if (!editor.canEdit) return;
  takeFiles(editor);
}

function takeFiles(editor) {
  const canvas = editor.root.querySelector("[data-canvas]");
  const veil = document.getElementById("drop-veil");
  const field = document.getElementById("import-file");
  canvas.append(veil);
  const carries = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
  let depth = 0;

  canvas.addEventListener("dragenter", (event) => {
    if (!carries(event)) return;
    event.preventDefault();
    depth++;
    veil.hidden = false;
  });
  canvas.addEventListener("dragover", (event) => carries(event) && event.preventDefault());
  canvas.addEventListener("dragleave", () => {
    depth = Math.max(0, depth - 1);
    veil.hidden = depth === 0;
  });
  canvas.addEventListener("drop", (event) => {
    if (!carries(event)) return;
    event.preventDefault();
    depth = 0;
    veil.hidden = true;
    take(editor, event.dataTransfer.files, { x: event.clientX, y: event.clientY });
  });
  // let go beside the canvas, a file must not take the page's place
  for (const name of ["dragover", "drop"]) window.addEventListener(name, (event) => carries(event) && event.preventDefault());

  field.addEventListener("change", async () => {
    await take(editor, field.files, null);
    field.value = "";
  });
  editor.commands.add({ id: "import-file", label: t("Import a file…"), group: "add", edits: true, menu: ["canvas"], words: "yaml json dsl", run: () => field.click() });
}

async function take(editor, files, at) {
  if (files.length !== 1) return editor.say(t("One file at a time"));
  const [file] = files;
  if (file.size > LARGEST) return editor.say(t("{name} is too large", { name: file.name }));
  const text = await file.text();
  if (text.includes("\u0000")) return editor.say(t("{name} is no text", { name: file.name }));
  const what = await ask(file.name);
  const words = t("Import {name}", { name: file.name });
  if (what === "fragment") return paste(editor, text, at, words);
  if (what === "draft") return replace(editor, text, file.name);
}

function ask(name) {
  const dialog = document.getElementById("drop-dialog");
  dialog.querySelector("[data-drop-name]").textContent = name;
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => dialog.addEventListener("close", () => resolve(dialog.returnValue), { once: true }));
}

/** The form of the import page does it; what it refuses is shown there. */
async function replace(editor, text, name) {
  const form = new FormData();
  form.set("document", text);
  const token = JSON.parse(document.body.getAttribute("hx-headers:inherited") ?? "{}")["X-CSRFToken"];
  const answer = await fetch(editor.urls.replace, { method: "POST", body: form, headers: { "X-CSRFToken": token } });
  if (answer.ok && answer.redirected) return location.reload();
  editor.say(t("{name} can't be imported", { name }));
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const reasons = [...page.querySelectorAll(".notice li, .errorlist li")].map((item) => item.textContent.trim());
  editor.say([t("{name} can't be imported", { name }), ...reasons.slice(0, 3)].join(". "));
}
