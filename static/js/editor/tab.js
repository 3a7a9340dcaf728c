// Which tab this is, and which tabs are gone: what a dead one left unsent is taken over by one that lives.

const PREFIX = "mnemoflow-tab-";
const BEAT = 3000; // ms between signs of life, where the browser has no locks
const DEAD = 4 * BEAT;

/** New with every load of the page: sessionStorage would be copied along when a tab is duplicated. */
export const CLIENT = randomId();

export function randomId() {
  const bytes = crypto.getRandomValues(new Uint8Array(12)); // randomUUID is for https only
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** As long as this page lives, whoever waits for it keeps waiting. */
export function stayAlive() {
  if (navigator.locks) {
    navigator.locks.request(PREFIX + CLIENT, () => new Promise(() => {}));
    return;
  }
  const beat = () => keep(PREFIX + CLIENT, String(Date.now()));
  beat();
  setInterval(beat, BEAT);
  addEventListener("pagehide", () => localStorage.removeItem(PREFIX + CLIENT));
  addEventListener("pageshow", beat);
}

/** Calls back once that tab is gone, in one tab only: a closed or crashed one gives its lock back by itself. */
export function onceGone(client, act) {
  if (navigator.locks) {
    navigator.locks.request(PREFIX + client, act);
    return;
  }
  const look = () => {
    const last = Number(read(PREFIX + client) ?? 0);
    if (Date.now() - last < DEAD) setTimeout(look, BEAT);
    else act();
  };
  look();
}

function keep(key, value) {
  try {
    localStorage.setItem(key, value);
  } catch {
    // full or forbidden: then there is nothing of ours in it to take over either
  }
}

function read(key) {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}
