// The first steps in the corner: fetched after the page, so that no page waits for them, and again when
// something was done. Without scripts they are a page of their own.

const CLOSED = "first-steps-closed";

export class Corner {
  #done = null;

  constructor(root, { open = false, onTour = null, heard = () => {} } = {}) {
    this.root = root;
    this.body = root.querySelector("#steps-body");
    this.toggle = root.querySelector("[data-steps-toggle]");
    this.open = open;
    this.onTour = onTour;
    this.heard = heard;
    this.toggle.addEventListener("click", () => this.show(this.body.hidden));
    root.addEventListener("keydown", (event) => event.key === "Escape" && this.show(false));
    root.addEventListener("click", (event) => this.#clicked(event));
    root.addEventListener("submit", (event) => this.#submitted(event));
  }

  get card() {
    return this.body.querySelector("[data-steps]");
  }

  /** What is written there now; null when it can't be had. */
  async refresh(body) {
    const answer = await fetch(this.root.dataset.url, {
      method: body ? "POST" : "GET",
      body,
      headers: { "X-Fragment": "1", ...(body ? { "X-CSRFToken": token() } : {}) },
    }).catch(() => null);
    if (!answer?.ok) return null;
    this.body.innerHTML = await answer.text();
    this.#shown();
    return this.card;
  }

  async act(act, place = "") {
    const body = new FormData();
    body.set("act", act);
    body.set("place", place);
    return this.refresh(body);
  }

  show(on) {
    this.body.hidden = !on;
    this.toggle.setAttribute("aria-expanded", String(on));
    remember(on ? "" : "yes");
  }

  #shown() {
    const { card } = this;
    const steps = [...card.querySelectorAll("[data-step]")];
    const done = steps.filter((step) => step.classList.contains("is-done"));
    this.root.hidden = card.classList.contains("is-dismissed");
    this.root.querySelector("[data-steps-count]").textContent = `${done.length}/${steps.length}`;
    card.querySelector("[data-start-tour]").hidden = !this.onTour;
    if (this.#done === null) {
      const wanted = this.open && !remembered();
      this.body.hidden = !wanted;
      this.toggle.setAttribute("aria-expanded", String(wanted));
    } else {
      for (const step of done) if (!this.#done.has(step.dataset.step)) this.heard(step.querySelector("a").textContent);
    }
    this.#done = new Set(done.map((step) => step.dataset.step));
  }

  #clicked(event) {
    if (!event.target.closest("[data-start-tour]")) return;
    this.show(false);
    this.onTour();
  }

  #submitted(event) {
    if (!event.target.matches("[data-steps-form]")) return;
    event.preventDefault();
    this.act(event.submitter.value);
  }
}

const token = () => JSON.parse(document.body.getAttribute("hx-headers:inherited") ?? "{}")["X-CSRFToken"];

function remembered() {
  try {
    return localStorage.getItem(CLOSED) === "yes";
  } catch {
    return false;
  }
}

function remember(value) {
  try {
    localStorage.setItem(CLOSED, value);
  } catch {
    // not remembered, still closed
  }
}

// On pages other than the editor, which makes its own.
const root = document.getElementById("steps-corner");
if (root && !document.getElementById("editor")) new Corner(root, { open: innerWidth > 900 }).refresh(); // on a phone it would cover the page
