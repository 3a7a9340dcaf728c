// Shows a short message in the corner of the page. Screen readers get it through editor.say.

export function showToast(text) {
  const container = document.getElementById("toasts");
  if (!container) return;
  const toast = Object.assign(document.createElement("div"), { className: "toast" });
  toast.setAttribute("data-toast", "");
  toast.append(Object.assign(document.createElement("span"), { className: "grow", textContent: text }));
  container.append(toast);
}
