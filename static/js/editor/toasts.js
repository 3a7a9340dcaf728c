// A sentence in the corner of the page: for eyes; whoever listens hears it by editor.say.

export function toast(text) {
  const place = document.getElementById("toasts");
  if (!place) return;
  const note = Object.assign(document.createElement("div"), { className: "toast" });
  note.setAttribute("data-toast", "");
  note.append(Object.assign(document.createElement("span"), { className: "grow", textContent: text }));
  place.append(note);
}
