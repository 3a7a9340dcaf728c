// The first steps beside the canvas: looked up again when a run is over and when a memory came back.

import { Corner } from "../checklist.js";
import { Tour } from "./tour.js";
import { t } from "./words.js";

export function install(editor) {
  const root = document.getElementById("steps-corner");
  if (!root) return;
  const bubble = document.getElementById("tour");
  let tour = null;
  const corner = new Corner(root, {
    onTour: bubble && (() => tour.begin()),
    heard: (step) => editor.say(t("Done: {step}", { step })),
  });
  if (bubble) tour = new Tour(editor, bubble, (place) => corner.act("tour", place));

  editor.commands.add({ id: "first-steps", label: t("Show the first steps"), group: "view", run: () => again(corner) });
  if (tour) editor.commands.add({ id: "tour", label: t("Show me around"), group: "view", run: () => tour.begin(tour.left) });
  editor.addEventListener("run-over", () => corner.refresh());
  new MutationObserver(() => corner.refresh()).observe(document.getElementById("toasts"), { childList: true });
  corner.refresh().then((card) => {
    const place = card?.dataset.tourAt;
    if (place && tour) tour.begin(place);
  });
}

async function again(corner) {
  await corner.act("show");
  corner.show(true);
  corner.toggle.focus();
}
