// Asks a question with a one-line answer beside the element that it concerns.

const GAP = 8;

/**
 * Ask a question below an element, or above an area (`around`), whose neighbours then stay in sight.
 * @param {{title: string, label: string, value?: string, action?: string, at?: Element | {x: number, y: number} | null, around?: {left: number, top: number, bottom: number} | null}} question
 * `action` is what the button says
 * @returns {Promise<string | null>} the text; null when it was cancelled */
export function askForText({ title, label, value = "", action = "", at = null, around = null }) {
  const box = document.getElementById("ask");
  const field = box.querySelector("input");
  box.querySelector("#ask-title").textContent = title;
  box.querySelector("[data-ask-label]").textContent = label;
  const button = box.querySelector("[type=submit]");
  button.textContent = action || button.dataset.plain;
  field.value = value;
  box.showPopover();
  placeBox(box, around ? findPlaceAround(box, around) : at);
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

/** Return the place above an area, or below it where there is no room above. */
function findPlaceAround(box, { left, top, bottom }) {
  const { height } = box.getBoundingClientRect();
  const above = top - height - 2 * GAP;
  return { x: left, y: above >= GAP ? above : bottom + 2 * GAP };
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
