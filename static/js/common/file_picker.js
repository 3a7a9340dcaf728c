// <file-picker>: selects, drops and uploads files, and writes their ids to its hidden field. The server looks at the
// content of each file; this script only spares people a wait for what is refused anyway.

import { formatFileSize } from "./format.js";
import { t } from "./translations.js";

const KILO = 1024;
const SCHEME = /^https?:\/\/[^\s]+$/i;

class FilePicker extends HTMLElement {
  #running = 0;

  /** The files that are there, { id } or { url } with name and size, in the order in which they were chosen. */
  get #files() {
    return [...this.list.children].map((row) => row.file).filter(Boolean);
  }

  connectedCallback() {
    this.field = this.querySelector("input[type=hidden]");
    this.list = this.querySelector("[data-items]");
    this.input = this.querySelector("[data-file]");
    this.drop = this.querySelector("[data-drop]");
    for (const file of parse(this.field.value)) this.#add(file);
    this.input?.addEventListener("change", () => {
      this.#upload([...this.input.files]);
      this.input.value = "";
    });
    const zone = this.closest("form") ?? this;
    zone.addEventListener("dragover", this.#over);
    zone.addEventListener("dragleave", this.#leave);
    zone.addEventListener("drop", this.#dropped);
    zone.addEventListener("paste", this.#pasted);
    this.zone = zone;
    const link = this.querySelector("[data-link]");
    link?.querySelector("button").addEventListener("click", () => this.#addLink(link.querySelector("input")));
  }

  disconnectedCallback() {
    this.zone?.removeEventListener("dragover", this.#over);
    this.zone?.removeEventListener("dragleave", this.#leave);
    this.zone?.removeEventListener("drop", this.#dropped);
    this.zone?.removeEventListener("paste", this.#pasted);
  }

  clear() {
    this.list.replaceChildren();
    this.#write();
  }

  get max() {
    return Number(this.dataset.max) || 1;
  }

  #over = (event) => {
    if (!this.input || !event.dataTransfer?.types.includes("Files")) return;
    // With several fields the one under the pointer takes the file; elsewhere in the form the first one does.
    const target = event.target.closest?.("file-picker") ?? this.zone.querySelector("file-picker");
    if (target !== this) return;
    event.preventDefault();
    this.drop.classList.add("is-over");
  };

  #leave = (event) => {
    if (!this.zone.contains(event.relatedTarget)) this.drop?.classList.remove("is-over");
  };

  #dropped = (event) => {
    if (!this.drop?.classList.contains("is-over")) return;
    event.preventDefault();
    this.drop.classList.remove("is-over");
    this.#upload([...event.dataTransfer.files]);
  };

  #pasted = (event) => {
    const files = [...(event.clipboardData?.files ?? [])];
    if (!files.length || !this.input || this.zone.querySelector("file-picker") !== this) return;
    event.preventDefault();
    this.#upload(files);
  };

  #upload(files) {
    if (this.dataset.single && files.length) this.clear();
    for (const file of files) {
      const row = this.#show({ name: file.name, size: file.size });
      if (this.#files.length + this.#running >= this.max) {
        this.#fail(row, t("At most {count} files are accepted.", { count: this.max }));
        continue;
      }
      const error = this.#findError(file);
      if (error) this.#fail(row, error);
      else this.#send(file, row);
    }
  }

  /** Return why the server would refuse a file, as far as its size and what the browser takes it for tell. */
  #findError({ name, type, size }) {
    const { label: field, accepted, limits, extensions } = this.dataset;
    const sizes = JSON.parse(limits);
    const category = type.split("/")[0];
    const isMedia = ["image", "audio", "video"].includes(category);
    const isListed = extensions.split(" ").some((extension) => extension && name.toLowerCase().endsWith(extension));
    const takesOthers = "document" in sizes || ("custom" in sizes && !extensions);
    const isAccepted = isListed || (isMedia ? category in sizes || type === "image/svg+xml" : !type || takesOthers);
    if (!isAccepted) return t("{field}: {name} is not of an accepted type. Accepted: {accepted}.", { field, name, accepted });
    const limit = (isMedia && sizes[category]) || Math.max(...Object.values(sizes));
    return size > limit * KILO * KILO ? t("{field}: {name} is too large. Accepted: {accepted}.", { field, name, accepted }) : "";
  }

  #send(file, row) {
    const request = new XMLHttpRequest();
    const body = new FormData();
    const bar = row.querySelector("progress");
    body.append("field", this.dataset.field);
    body.append("file", file);
    request.open("POST", this.dataset.upload);
    const headers = JSON.parse(document.body.getAttribute("hx-headers:inherited") ?? "{}");
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
    request.responseType = "json";
    request.upload.addEventListener("progress", (event) => {
      if (event.lengthComputable) bar.value = event.loaded / event.total;
    });
    request.addEventListener("loadend", () => {
      this.#running -= 1;
      if (!row.isConnected) return; // removed meanwhile
      if (request.status === 201) {
        this.#add(request.response, row);
      } else {
        this.#fail(row, request.response?.error ?? (request.status === 413 ? t("The file is too large.") : t("The file could not be uploaded. Try again.")));
      }
      this.#write();
    });
    row.querySelector("button").addEventListener("click", () => request.abort());
    this.#running += 1;
    this.#write();
    request.send(body);
  }

  #addLink(input) {
    const url = input.value.trim();
    if (!SCHEME.test(url)) {
      input.setCustomValidity(t("The address must start with http:// or https://."));
      input.reportValidity();
      input.addEventListener("input", () => input.setCustomValidity(""), { once: true });
      return;
    }
    if (this.dataset.single) this.clear();
    if (this.#files.length >= this.max) return;
    input.value = "";
    input.closest("details").open = false;
    this.#add({ transfer_method: "remote_url", url, name: decodeURIComponent(url.split(/[?#]/)[0].split("/").pop()) || url });
  }

  /** Show a file that is there, in the place of the row of its upload if there was one. */
  #add(file, uploaded) {
    const row = this.#show(file);
    uploaded?.replaceWith(row);
    row.file = file;
    row.classList.add("is-there");
    row.querySelector("progress").remove();
    this.#write();
  }

  #show(file) {
    const row = document.createElement("li");
    row.className = "file-item";
    if (file.is_image && file.size < 3 * KILO * KILO) {
      const image = document.createElement("img");
      Object.assign(image, { src: file.url, alt: "", width: 28, height: 28, loading: "lazy" });
      row.append(image);
    }
    const name = document.createElement("span");
    name.className = "clip";
    name.textContent = file.name;
    name.title = file.name;
    const size = document.createElement("span");
    size.className = "hint";
    size.textContent = file.size > 0 ? formatFileSize(file.size) : "";
    const bar = document.createElement("progress");
    Object.assign(bar, { value: 0, max: 1 });
    bar.setAttribute("aria-label", t("Uploading"));
    const remove = document.createElement("button");
    Object.assign(remove, { type: "button", className: "button button-s button-quiet button-icon", textContent: "×" });
    remove.setAttribute("aria-label", t("Remove {name}", { name: file.name }));
    remove.addEventListener("click", () => {
      row.remove();
      this.#write();
    });
    row.append(name, size, bar, remove);
    this.list.append(row);
    return row;
  }

  #fail(row, message) {
    row.classList.add("is-bad");
    row.querySelector("progress")?.remove();
    const text = document.createElement("span");
    text.className = "file-error";
    text.setAttribute("role", "alert");
    text.textContent = message;
    row.append(text);
  }

  #write() {
    const parts = this.#files.map((file) => (file.id ? { id: file.id, name: file.name, size: file.size, url: file.url, is_image: file.is_image } : file));
    this.field.value = parts.length ? JSON.stringify(parts) : "";
    this.toggleAttribute("data-busy", this.#running > 0);
    // A form is not sent while an upload runs: the file would be missing.
    for (const button of this.closest("form")?.querySelectorAll("button[type=submit]") ?? []) button.disabled = this.#running > 0;
    if (this.drop) this.drop.hidden = !this.dataset.single && this.#files.length + this.#running >= this.max;
  }
}

function parse(text) {
  try {
    return text ? JSON.parse(text) : [];
  } catch {
    return [];
  }
}

customElements.define("file-picker", FilePicker);
