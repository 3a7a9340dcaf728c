// The workflows page: its dialog, the selection in the list, and dragging onto a folder. Everything also works without this
// script, on pages of its own.

const dialog = document.getElementById("folder-dialog");
const formContainer = document.getElementById("folder-form");
const selectionForm = document.getElementById("choose");
const moveForm = document.getElementById("let-go");

installDialog();
installSelection();
installDragging();

/** Open the dialog when htmx has put a form into it, and empty it when it closes. */
function installDialog() {
  new MutationObserver(() => {
    if (!formContainer.childElementCount || dialog.open) return;
    for (const menu of document.querySelectorAll("details.menu[open]")) menu.open = false;
    dialog.showModal();
    // In the list of folders the arrow keys start at the present one.
    formContainer.querySelector("[name=name], [name=into]:checked")?.focus();
    formContainer.querySelector("[name=name]")?.select();
  }).observe(formContainer, { childList: true });
  dialog.addEventListener("close", () => formContainer.replaceChildren());
  dialog.addEventListener("click", (event) => {
    if (event.target !== dialog && !event.target.closest("[data-close]")) return;
    event.preventDefault();
    dialog.close();
  });
}

function getCheckboxes() {
  return [...document.querySelectorAll("input[name=workflow][form=choose]")];
}

function getSelected() {
  return getCheckboxes().filter((box) => box.checked);
}

function installSelection() {
  const summary = selectionForm.querySelector("[data-selected-text]");
  const all = document.querySelector("[data-choose-all]");
  const show = () => {
    const count = getSelected().length;
    summary.textContent = count ? summary.dataset.selectedText.replace("{count}", count) : "";
    if (!all) return;
    const box = all.querySelector("input");
    box.checked = count > 0 && count === getCheckboxes().length;
    box.indeterminate = count > 0 && !box.checked;
  };
  if (all) {
    all.hidden = false;
    all.addEventListener("change", (event) => {
      for (const box of getCheckboxes()) box.checked = event.target.checked;
      show();
    });
  }
  document.addEventListener("change", (event) => event.target.form === selectionForm && show());
  selectionForm.addEventListener("reset", () => queueMicrotask(show)); // the checkboxes are reset after the event
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !dialog.open && getSelected().length) selectionForm.reset();
  });
  const archive = selectionForm.querySelector("[data-archive]");
  archive.hidden = false;
  archive.addEventListener("click", () => submitMove({ address: archive.dataset.archive, ids: getSelected().map((box) => box.value) }, ""));
  window.addEventListener("pageshow", show);
  show();
}

/** Dragging a selected row drags the whole selection. A drop submits the same form as the dialog. */
function installDragging() {
  let dragged = null;

  document.addEventListener("dragstart", (event) => {
    const item = event.target.closest?.("[data-drag]");
    if (!item) return;
    dragged = startDrag(item);
    event.dataTransfer.effectAllowed = "move";
    event.dataTransfer.setData("text/plain", item.dataset.name);
    setDragImage(event, dragged);
    document.body.toggleAttribute("data-dragging", true);
    for (const draggedItem of dragged.items) draggedItem.classList.add("is-dragged");
  });
  const onDragOver = (event) => {
    const target = findTarget(event, dragged);
    markTarget(target);
    if (target) event.preventDefault();
  };
  document.addEventListener("dragenter", onDragOver);
  document.addEventListener("dragover", onDragOver);
  document.addEventListener("drop", (event) => {
    const target = findTarget(event, dragged);
    if (!target) return;
    event.preventDefault();
    submitMove(dragged, target.dataset.into);
  });
  document.addEventListener("dragend", () => {
    for (const draggedItem of dragged?.items ?? []) draggedItem.classList.remove("is-dragged");
    document.body.removeAttribute("data-dragging");
    markTarget(null);
    dragged = null;
  });
}

function startDrag(item) {
  const checkbox = item.querySelector("input[name=workflow]");
  const checkboxes = checkbox?.checked ? getSelected() : checkbox ? [checkbox] : [];
  const items = checkbox ? checkboxes.map((box) => box.closest("[data-drag]")) : [item];
  return { address: item.dataset.drag, ids: checkboxes.map((box) => box.value), items };
}

function findTarget(event, dragged) {
  const target = dragged && event.target.closest?.("[data-into]");
  return target && !dragged.items.includes(target) ? target : null;
}

function markTarget(target) {
  for (const marked of document.querySelectorAll(".is-over")) if (marked !== target) marked.classList.remove("is-over");
  target?.classList.add("is-over");
}

function setDragImage(event, { items }) {
  const label = document.createElement("div");
  label.className = "drag-words";
  label.textContent = items[0].dataset.name + (items.length > 1 ? ` +${items.length - 1}` : "");
  document.body.append(label);
  event.dataTransfer.setDragImage(label, -12, -12);
  setTimeout(() => label.remove()); // the browser has drawn it by then
}

function submitMove({ address, ids }, into) {
  for (const previous of moveForm.querySelectorAll("[name=workflow]")) previous.remove();
  for (const id of ids) {
    const field = document.createElement("input");
    Object.assign(field, { type: "hidden", name: "workflow", value: id });
    moveForm.append(field);
  }
  moveForm.elements.into.value = into;
  moveForm.action = address;
  moveForm.requestSubmit();
}
