// Shows the first steps beside the canvas, and updates them after each run and each memory.

import { Corner } from "../checklist.js";
import { Tour } from "./tour.js";
import { t } from "../common/translations.js";

export function install(editor) {
  const root = document.getElementById("steps-corner");
  if (!root) return;
  const bubble = document.getElementById("tour");
  let tour = null;
  const corner = new Corner(root, {
    onTour: bubble && (() => tour.begin()),
    onComplete: (step) => editor.say(t("Completed: {step}", { step })),
  });
  if (bubble) tour = new Tour(editor, bubble, (step) => corner.act("tour", step));

  editor.commands.add({ id: "first-steps", label: t("Show first steps"), group: "view", run: () => showAgain(corner) });
  if (tour) editor.commands.add({ id: "tour", label: t("Start tour"), group: "view", run: () => tour.begin(tour.resumeAt) });
  editor.addEventListener("run-over", () => corner.refresh());
  new MutationObserver(() => corner.refresh()).observe(document.getElementById("toasts"), { childList: true });
  corner.refresh().then((card) => {
    const step = card?.dataset.tourAt;
    if (step && tour) tour.begin(step);
  });
}

async function showAgain(corner) {
  await corner.act("show");
  corner.show(true);
  corner.toggle.focus();
}
