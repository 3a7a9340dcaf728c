// Imports files through the form of the import page: those that are dropped anywhere on the page of the workflows or of the
// import, at once, and those that are chosen on the import page, with its button. There each file is listed, and what can't be
// imported says why and is left out.

import { formatFileSize } from "./common/format.js";
import { LARGEST, importFiles, mayBeWorkflow } from "./common/import_files.js";
import { t } from "./common/translations.js";

const form = document.getElementById("drop-form");
const veil = document.getElementById("page-veil");
const input = form.querySelector("input[type=file]");
const list = form.querySelector("[data-chosen]"); // on the import page alone
const area = form.querySelector("[data-drop]");
const carriesFiles = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
let depth = 0; // of the elements that the pointer has entered

function showVeil(isOver) {
  if (!isOver) depth = 0;
  veil.hidden = !isOver;
  area?.classList.toggle("is-over", isOver);
}

window.addEventListener("dragenter", (event) => {
  if (!carriesFiles(event)) return;
  event.preventDefault();
  depth++;
  showVeil(true);
});
window.addEventListener("dragover", (event) => carriesFiles(event) && event.preventDefault());
window.addEventListener("dragleave", () => {
  depth = Math.max(0, depth - 1);
  showVeil(depth > 0);
});
window.addEventListener("drop", async (event) => {
  if (!carriesFiles(event)) return;
  event.preventDefault();
  showVeil(false);
  const files = [...event.dataTransfer.files];
  if (!files.length) return;
  if (!list) return importFiles(form, files);
  if (await choose(files)) importFiles(form, [...input.files]);
});
input.addEventListener("change", () => list && choose([...input.files]));
list?.addEventListener("click", ({ target }) => {
  const row = target.closest("button")?.closest("li");
  if (!row) return;
  row.remove();
  takeListed();
  input.focus();
});

/** List files with what is wrong with them, keep the others for the form, and return whether all can be imported. */
async function choose(files) {
  const errors = await Promise.all(files.map((file, index) => (index > 0 && !input.multiple ? t("Only one file can be imported here.") : findError(file))));
  list.replaceChildren(...files.map((file, index) => createRow(file, errors[index])));
  takeListed();
  return errors.every((error) => !error);
}

/** Return why a file can't be imported, as far as the browser can tell. */
async function findError(file) {
  if (!file.size) return t("The file is empty.");
  if (file.size > LARGEST) return t("The file is larger than 1 MB.");
  return mayBeWorkflow(file.name, await file.text()) ? "" : t("This is no workflow. Workflows are YAML or JSON files.");
}

function createRow(file, error) {
  const row = document.getElementById("chosen-file").content.firstElementChild.cloneNode(true);
  const [name, size, reason] = ["name", "size", "error"].map((part) => row.querySelector(`[data-${part}]`));
  name.textContent = name.title = file.name;
  size.textContent = formatFileSize(file.size);
  reason.textContent = error;
  reason.hidden = !error;
  row.classList.toggle("is-bad", Boolean(error));
  row.file = error ? null : file;
  return row;
}

/** Put the listed files without an error into the form's field. */
function takeListed() {
  const chosen = new DataTransfer();
  for (const { file } of list.children) if (file) chosen.items.add(file);
  input.files = chosen.files;
}
