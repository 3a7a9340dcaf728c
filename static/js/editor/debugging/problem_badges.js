// The badges of the cards on the canvas. An edit redraws only the cards that it touched, but it can cause problems elsewhere.

/** Make the badges agree with the list of problems in the panel. */
export function paintBadges(root, panel) {
  const found = collectByNode(panel);
  const isWhole = !panel.querySelector("[data-more]"); // a long list is cut; the cards of the rest keep their badges
  for (const node of root.querySelectorAll("wf-node")) {
    const problems = found.get(node.dataset.id);
    if (problems || isWhole) paintBadge(node, problems);
  }
}

function collectByNode(panel) {
  const found = new Map(); // node id → its problems
  for (const link of panel.querySelectorAll("[data-jump]")) {
    const problems = found.get(link.dataset.jump) ?? { sentences: [], isError: false };
    problems.sentences.push(link.querySelector(".grow").textContent.trim());
    problems.isError ||= Boolean(link.querySelector(".pill-bad"));
    found.set(link.dataset.jump, problems);
  }
  return found;
}

function paintBadge(node, problems) {
  const head = node.querySelector(":scope > .wf-card > .wf-head");
  const shown = head?.querySelector(":scope > .wf-i-warning");
  if (!head || !problems) return shown?.remove();
  const badge = shown ?? document.createElement("span");
  badge.className = `wf-chip ${problems.isError ? "wf-bad" : "wf-warn"} wf-i-warning`;
  badge.title = problems.sentences.join("\n");
  if (!shown) head.querySelector(":scope > .wf-names").after(badge);
  return badge;
}
