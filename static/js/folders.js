// The Workflows page: its dialog, what is chosen in the list, and dragging onto a folder. All of it works without, as pages.

const dialog = document.getElementById("folder-dialog");
const place = document.getElementById("folder-form");
const choose = document.getElementById("choose");
const letGo = document.getElementById("let-go");

installDialog();
installChoice();
installDragging();

/** Opens when htmx has put a form into it, and is empty while it is closed. */
function installDialog() {
  new MutationObserver(() => {
    if (!place.childElementCount || dialog.open) return;
    for (const menu of document.querySelectorAll("details.menu[open]")) menu.open = false;
    dialog.showModal();
    // in the list of places the arrows begin where the thing lies now
    place.querySelector("[name=name], [name=into]:checked")?.focus();
    place.querySelector("[name=name]")?.select();
  }).observe(place, { childList: true });
  dialog.addEventListener("close", () => place.replaceChildren());
  dialog.addEventListener("click", (event) => {
    if (event.target !== dialog && !event.target.closest("[data-close]")) return;
    event.preventDefault();
    dialog.close();
  });
}

function boxes() {
  return [...document.querySelectorAll("input[name=workflow][form=choose]")];
}

function chosen() {
  return boxes().filter((box) => box.checked);
}

function installChoice() {
  const words = choose.querySelector("[data-chosen]");
  const all = document.querySelector("[data-choose-all]");
  const show = () => {
    const count = chosen().length;
    words.textContent = count ? words.dataset.chosen.replace("{count}", count) : "";
    if (!all) return;
    const box = all.querySelector("input");
    box.checked = count > 0 && count === boxes().length;
    box.indeterminate = count > 0 && !box.checked;
  };
  if (all) {
    all.hidden = false;
    all.addEventListener("change", (event) => {
      for (const box of boxes()) box.checked = event.target.checked;
      show();
    });
  }
  document.addEventListener("change", (event) => event.target.form === choose && show());
  choose.addEventListener("reset", () => queueMicrotask(show)); // the boxes are emptied after the event
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !dialog.open && chosen().length) choose.reset();
  });
  const archive = choose.querySelector("[data-archive]");
  archive.hidden = false;
  archive.addEventListener("click", () => send({ address: archive.dataset.archive, ids: chosen().map((box) => box.value) }, ""));
  window.addEventListener("pageshow", show);
  show();
}

/** Of a row that is chosen all chosen ones are dragged. What is let go is sent as the form of the dialog would be. */
function installDragging() {
  let dragged = null;

  document.addEventListener("dragstart", (event) => {
    const item = event.target.closest?.("[data-drag]");
    if (!item) return;
    dragged = takeUp(item);
    event.dataTransfer.effectAllowed = "move";
    event.dataTransfer.setData("text/plain", item.dataset.name);
    showWords(event, dragged);
    document.body.toggleAttribute("data-dragging", true);
    for (const one of dragged.items) one.classList.add("is-dragged");
  });
  const over = (event) => {
    const target = targetOf(event, dragged);
    mark(target);
    if (target) event.preventDefault();
  };
  document.addEventListener("dragenter", over);
  document.addEventListener("dragover", over);
  document.addEventListener("drop", (event) => {
    const target = targetOf(event, dragged);
    if (!target) return;
    event.preventDefault();
    send(dragged, target.dataset.into);
  });
  document.addEventListener("dragend", () => {
    for (const one of dragged?.items ?? []) one.classList.remove("is-dragged");
    document.body.removeAttribute("data-dragging");
    mark(null);
    dragged = null;
  });
}

function takeUp(item) {
  const own = item.querySelector("input[name=workflow]");
  const taken = own?.checked ? chosen() : own ? [own] : [];
  const items = own ? taken.map((box) => box.closest("[data-drag]")) : [item];
  return { address: item.dataset.drag, ids: taken.map((box) => box.value), items };
}

function targetOf(event, dragged) {
  const target = dragged && event.target.closest?.("[data-into]");
  return target && !dragged.items.includes(target) ? target : null;
}

function mark(target) {
  for (const one of document.querySelectorAll(".is-over")) if (one !== target) one.classList.remove("is-over");
  target?.classList.add("is-over");
}

function showWords(event, { items }) {
  const words = document.createElement("div");
  words.className = "drag-words";
  words.textContent = items[0].dataset.name + (items.length > 1 ? ` +${items.length - 1}` : "");
  document.body.append(words);
  event.dataTransfer.setDragImage(words, -12, -12);
  setTimeout(() => words.remove()); // the browser has drawn it by then
}

function send({ address, ids }, into) {
  for (const former of letGo.querySelectorAll("[name=workflow]")) former.remove();
  for (const id of ids) {
    const field = document.createElement("input");
    Object.assign(field, { type: "hidden", name: "workflow", value: id });
    letGo.append(field);
  }
  letGo.elements.into.value = into;
  letGo.action = address;
  letGo.requestSubmit();
}
