// Opens a picture of an answer or of a run large, above the page. Without this script its link downloads it.

const dialog = document.getElementById("picture-view");
const image = new Image(); // in the dialog while it is open

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-picture]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  const name = link.dataset.picture;
  Object.assign(image, { src: link.href, alt: name });
  document.getElementById("picture-name").textContent = name;
  dialog.querySelector("[data-download]").href = link.href;
  dialog.append(image);
  dialog.showModal();
});

dialog?.addEventListener("click", ({ target }) => (target === dialog || target === image) && dialog.close());
dialog?.addEventListener("close", () => image.remove());
