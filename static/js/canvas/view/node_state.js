// The state of a node in a run, on its card: an icon and a word, so that the colour only helps.

import { formatTime } from "../../common/format.js";
import { t } from "../../common/translations.js";

const STATES = {
  idle: null,
  waiting: ["clock", () => t("Queued")],
  running: ["run", () => t("Running")],
  completed: ["check", () => t("Succeeded")],
  partial: ["warning", () => t("Partially succeeded")],
  failed: ["warning", () => t("Failed")],
  skipped: ["skip", () => t("Skipped")],
  paused: ["pause", () => t("Paused")],
  retrying: ["loop", () => t("Retrying")],
};
const ENDED = new Set(["completed", "partial", "failed", "skipped"]);
const SVG = "http://www.w3.org/2000/svg";

const AWAITED = {
  answer: () => t("Waits for an answer"),
  approval: () => t("Waits for permission"),
  decision: () => t("Uncertain: needs a decision"),
  time: () => t("Waits"),
  child: () => t("Waits for a sub-workflow"),
};

/** Return the state of a node in an event. A node that completed with an error has left something undone. */
export function getState({ status, error }) {
  return status === "completed" && error ? "partial" : status;
}

/** Return what a paused node waits for and until when, as {word, text} for showState; empty texts for any other node. */
export function describeWait({ status, waits_for: awaited, due_at: dueAt }) {
  const word = status === "paused" ? AWAITED[awaited]?.() : "";
  if (!word) return { word: "", text: "" };
  return { word, text: dueAt == null ? "" : t("until {time}", { time: formatTime(dueAt) }) };
}

/**
 * Show the state of a node, or none when it is idle. The text is for screen readers and for a state that goes on: what is
 * done has its output in the log.
 * @param {HTMLElement} el the node's element
 * @param {{state?: string, word?: string, time?: string, text?: string}} shown ``word`` replaces that of the state
 * @param {string} icons the address of the icons
 */
export function showState(el, { state = "idle", word = "", time = "", text = "" }, icons) {
  const label = STATES[state];
  if (label) el.dataset.state = state;
  else delete el.dataset.state;
  const strip = el.querySelector(":scope > .wf-state") ?? (label ? el.appendChild(makeStrip()) : null);
  if (!strip) return;
  strip.hidden = !label;
  if (!label) return el.removeAttribute("aria-description");
  const [icon, getWord] = label;
  strip.querySelector("use").setAttribute("href", `${icons}#${icon}`);
  const parts = { word: word || getWord(), time, text: ENDED.has(state) ? "" : text };
  for (const [slot, value] of Object.entries(parts)) strip.querySelector(`[data-${slot}]`).textContent = value ?? "";
  el.setAttribute("aria-description", [parts.word, time, text].filter(Boolean).join(", "));
}

function makeStrip() {
  const strip = document.createElement("div");
  strip.className = "wf-state";
  const icon = document.createElementNS(SVG, "svg");
  icon.setAttribute("class", "icon");
  icon.setAttribute("aria-hidden", "true");
  icon.append(document.createElementNS(SVG, "use"));
  strip.append(icon);
  for (const slot of ["word", "time", "text"]) {
    const span = document.createElement("span");
    span.dataset[slot] = "";
    strip.append(span);
  }
  return strip;
}
