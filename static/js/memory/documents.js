// <document-upload>: selects and drops documents, sends them one by one, and shows the list that the server answers with.

import { t } from "../common/translations.js";

class DocumentUpload extends HTMLElement {
  #waiting = [];
  #isSending = false;

  connectedCallback() {
    this.form = this.querySelector("form");
    this.input = this.querySelector("input[type=file]");
    this.list = this.querySelector("[data-items]");
    this.drop = this.querySelector("[data-drop]");
    this.querySelector("[data-submit]").hidden = true;
    this.input.addEventListener("change", () => {
      this.#add([...this.input.files]);
      this.input.value = "";
    });
    // Anywhere on the page, so that a file that misses the field doesn't replace the page.
    window.addEventListener("dragover", this.#over);
    window.addEventListener("dragleave", this.#leave);
    window.addEventListener("drop", this.#dropped);
  }

  disconnectedCallback() {
    window.removeEventListener("dragover", this.#over);
    window.removeEventListener("dragleave", this.#leave);
    window.removeEventListener("drop", this.#dropped);
  }

  #over = (event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    this.drop.classList.add("is-over");
  };

  #leave = (event) => {
    if (!event.relatedTarget) this.drop.classList.remove("is-over");
  };

  #dropped = (event) => {
    if (!event.dataTransfer?.files.length) return;
    event.preventDefault();
    this.drop.classList.remove("is-over");
    this.#add([...event.dataTransfer.files]);
  };

  #add(files) {
    const max = Number(this.dataset.max);
    files.forEach((file, number) => {
      const row = this.#show(file);
      if (number < max) this.#waiting.push([file, row]);
      else this.#say(row, t("At most {count} files are accepted.", { count: max }), true);
    });
    this.#sendNext();
  }

  #sendNext() {
    if (this.#isSending || !this.#waiting.length) return;
    const [file, row] = this.#waiting.shift();
    const request = new XMLHttpRequest();
    const body = new FormData(this.form);
    body.delete("files");
    body.append("files", file);
    request.open("POST", this.form.action);
    request.setRequestHeader("HX-Request", "true");
    request.upload.addEventListener("progress", (event) => {
      if (event.lengthComputable) row.querySelector("progress").value = event.loaded / event.total;
    });
    request.addEventListener("loadend", () => {
      this.#isSending = false;
      this.#answer(request, row);
      this.#sendNext();
    });
    this.#isSending = true;
    request.send(body);
  }

  #answer(request, row) {
    const answer = new DOMParser().parseFromString(request.responseText, "text/html");
    const section = request.status < 500 && answer.getElementById("documents");
    if (!section) {
      const isLarge = request.status === 413;
      this.#say(row, isLarge ? t("The file is too large.") : t("The file could not be uploaded. Try again."), true);
      return;
    }
    const result = section.querySelector("[data-result]");
    if (result) this.#say(row, result.textContent.trim(), result.dataset.result === "bad");
    else row.remove();
    result?.remove();
    document.getElementById("documents").replaceWith(section);
    window.htmx?.process(section);
  }

  #show(file) {
    const row = document.createElement("li");
    row.className = "file-item";
    const name = Object.assign(document.createElement("span"), { className: "clip", textContent: file.name });
    row.append(name, Object.assign(document.createElement("progress"), { max: 1, value: 0 }));
    this.list.append(row);
    return row;
  }

  #say(row, text, isBad) {
    row.querySelector("progress")?.remove();
    row.classList.toggle("is-bad", isBad);
    const note = Object.assign(document.createElement("span"), { className: isBad ? "file-error" : "hint", textContent: text });
    const close = Object.assign(document.createElement("button"), { type: "button", className: "button button-quiet", textContent: "×" });
    close.setAttribute("aria-label", t("Remove"));
    close.addEventListener("click", () => row.remove());
    row.append(close, note);
  }
}

customElements.define("document-upload", DocumentUpload);
