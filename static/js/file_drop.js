// Imports the files that are dropped anywhere on the page of the workflows or of the import, through the form of the import page.

import { importFiles } from "./common/import_files.js";

const form = document.getElementById("drop-form");
const veil = document.getElementById("page-veil");
const carriesFiles = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
let depth = 0; // of the elements that the pointer has entered

window.addEventListener("dragenter", (event) => {
  if (!carriesFiles(event)) return;
  event.preventDefault();
  depth++;
  veil.hidden = false;
});
window.addEventListener("dragover", (event) => carriesFiles(event) && event.preventDefault());
window.addEventListener("dragleave", () => {
  depth = Math.max(0, depth - 1);
  veil.hidden = depth === 0;
});
window.addEventListener("drop", (event) => {
  if (!carriesFiles(event)) return;
  event.preventDefault();
  depth = 0;
  veil.hidden = true;
  const files = [...event.dataTransfer.files];
  const takesSeveral = form.querySelector("input[type=file]").multiple;
  if (files.length) importFiles(form, takesSeveral ? files : files.slice(0, 1));
});
