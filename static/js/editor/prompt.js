// Asks a question with a one-line answer beside the element that it concerns.

const GAP = 8;

/** @returns {Promise<string | null>} the text; null when it was cancelled */
export function askForText({ title, label, value = "", at = null }) {
  const box = document.getElementById("ask");
  const field = box.querySelector("input");
  box.querySelector("#ask-title").textContent = title;
  box.querySelector("[data-ask-label]").textContent = label;
  field.value = value;
  box.showPopover();
  placeBox(box, at);
  field.focus();
  field.select();
  return new Promise((resolve) => {
    const controller = new AbortController();
    const finish = (text) => {
      controller.abort();
      if (box.matches(":popover-open")) box.hidePopover();
      resolve(text);
    };
    const { signal } = controller;
    box.querySelector("form").addEventListener("submit", (event) => (event.preventDefault(), finish(field.value)), { signal });
    box.querySelector("[data-ask-cancel]").addEventListener("click", () => finish(null), { signal });
    box.addEventListener("toggle", (event) => event.newState === "closed" && finish(null), { signal });
  });
}

/** Place a box below an element or in the middle, always fully on the screen. */
export function placeBox(box, at) {
  const { width, height } = box.getBoundingClientRect();
  const [w, h] = [document.documentElement.clientWidth, document.documentElement.clientHeight];
  const target = at instanceof Element ? at.getBoundingClientRect() : null;
  const point = target ? { x: target.left, y: target.bottom + GAP } : (at ?? { x: (w - width) / 2, y: h * 0.2 });
  box.style.left = `${Math.max(GAP, Math.min(point.x, w - width - GAP))}px`;
  box.style.top = `${Math.max(GAP, Math.min(point.y, h - height - GAP))}px`;
}
