// Identifies this tab and detects closed tabs, whose unsent edits a living tab takes over.

import { createRandomId } from "../../common/random_ids.js";

const PREFIX = "mnemoflow-tab-";
const HEARTBEAT = 3000; // ms between heartbeats in browsers without locks
const DEAD_AFTER = 4 * HEARTBEAT;

/** New with each load of the page, since sessionStorage is copied when a tab is duplicated. */
export const CLIENT = createRandomId();

/** Keep the tabs that wait for the end of this page waiting. */
export function stayAlive() {
  if (navigator.locks) {
    navigator.locks.request(PREFIX + CLIENT, () => new Promise(() => {}));
    return;
  }
  const storeHeartbeat = () => storeItem(PREFIX + CLIENT, String(Date.now()));
  storeHeartbeat();
  setInterval(storeHeartbeat, HEARTBEAT);
  addEventListener("pagehide", () => localStorage.removeItem(PREFIX + CLIENT));
  addEventListener("pageshow", storeHeartbeat);
}

/** Call back in exactly one tab once that tab is closed; a closed or crashed tab releases its lock by itself. */
export function onceClosed(client, callback) {
  if (navigator.locks) {
    navigator.locks.request(PREFIX + client, callback);
    return;
  }
  const check = () => {
    const lastBeat = Number(loadItem(PREFIX + client) ?? 0);
    if (Date.now() - lastBeat < DEAD_AFTER) setTimeout(check, HEARTBEAT);
    else callback();
  };
  check();
}

function storeItem(key, value) {
  try {
    localStorage.setItem(key, value);
  } catch {
    // full or forbidden; then there are no stored edits to take over either
  }
}

function loadItem(key) {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}
