// The first steps in the corner of the editor: fetched after the page, so that it loads faster, and again after progress.
// Home shows them in the page, and without scripts they are a page of their own.

const STORAGE_KEY = "first-steps-closed";

export class Corner {
  #completed = null;

  constructor(root, { open = false, onTour = null, onComplete: heard = () => {} } = {}) {
    this.root = root;
    this.body = root.querySelector("#steps-body");
    this.toggle = root.querySelector("[data-steps-toggle]");
    this.open = open;
    this.onTour = onTour;
    this.onComplete = heard;
    this.toggle.addEventListener("click", () => this.show(this.body.hidden));
    root.addEventListener("keydown", (event) => event.key === "Escape" && this.show(false));
    root.addEventListener("click", (event) => this.#onClick(event));
    root.addEventListener("submit", (event) => this.#onSubmit(event));
  }

  get card() {
    return this.body.querySelector("[data-steps]");
  }

  /** Fetch the present steps; null when that fails. */
  async refresh(body) {
    const response = await fetch(this.root.dataset.url, {
      method: body ? "POST" : "GET",
      body,
      headers: { "X-Fragment": "1", ...(body ? { "X-CSRFToken": token() } : {}) },
    }).catch(() => null);
    if (!response?.ok) return null;
    this.body.innerHTML = await response.text();
    this.#onLoad();
    return this.card;
  }

  async act(action, place = "") {
    const body = new FormData();
    body.set("act", action);
    body.set("place", place);
    return this.refresh(body);
  }

  show(on) {
    this.body.hidden = !on;
    this.toggle.setAttribute("aria-expanded", String(on));
    storeClosed(on ? "" : "yes");
  }

  #onLoad() {
    const { card } = this;
    const steps = [...card.querySelectorAll("[data-step]")];
    const completed = steps.filter((step) => step.classList.contains("is-done"));
    this.root.hidden = card.classList.contains("is-dismissed");
    this.root.querySelector("[data-steps-count]").textContent = `${completed.length}/${steps.length}`;
    card.querySelector("[data-start-tour]").hidden = !this.onTour;
    if (this.#completed === null) {
      const isOpen = this.open && !isStoredClosed();
      this.body.hidden = !isOpen;
      this.toggle.setAttribute("aria-expanded", String(isOpen));
    } else {
      for (const step of completed) if (!this.#completed.has(step.dataset.step)) this.onComplete(step.querySelector("a").textContent);
    }
    this.#completed = new Set(completed.map((step) => step.dataset.step));
  }

  #onClick(event) {
    if (!event.target.closest("[data-start-tour]")) return;
    this.show(false);
    this.onTour();
  }

  #onSubmit(event) {
    if (!event.target.matches("[data-steps-form]")) return;
    event.preventDefault();
    this.act(event.submitter.value);
  }
}

const token = () => JSON.parse(document.body.getAttribute("hx-headers:inherited") ?? "{}")["X-CSRFToken"];

function isStoredClosed() {
  try {
    return localStorage.getItem(STORAGE_KEY) === "yes";
  } catch {
    return false;
  }
}

function storeClosed(value) {
  try {
    localStorage.setItem(STORAGE_KEY, value);
  } catch {
    // not stored, but closed
  }
}
