// One question to the server and what its answer means for whoever asked: done, clash, refused, or try again.

const PATIENCE = 20_000; // ms; a network that swallows everything is as good as none
const LATER = new Set([408, 425, 429, 502, 503, 504]);

let token = null;

/**
 * @returns {Promise<{kind: "done"|"clash"|"refused"|"away"|"signed-out"|"broken", status: number, body: any}>}
 * "away": nobody answered, ask again later. "broken": the server failed over this one.
 */
export async function ask(url, { method = "GET", body } = {}) {
  const first = await once(url, method, body);
  if (first.kind !== "stale-token") return first;
  const renewed = await renewToken();
  if (!renewed) return { ...first, kind: "signed-out" };
  const second = await once(url, method, body);
  return second.kind === "stale-token" ? { ...second, kind: "refused" } : second; // not the token: not allowed
}

/** A page of ours as a document, or null where it can't be had. */
export async function fetchPage(url) {
  try {
    const answer = await fetch(url, { redirect: "manual", signal: AbortSignal.timeout(PATIENCE) });
    if (!answer.ok) return null;
    // its style rules carry another page's nonce: parsed here they would be refused, and that would be said
    const html = (await answer.text()).replaceAll(/<style[\s\S]*?<\/style>/g, "");
    return new DOMParser().parseFromString(html, "text/html");
  } catch {
    return null;
  }
}

async function once(url, method, body) {
  let answer;
  try {
    answer = await fetch(url, {
      method,
      headers: method === "GET" ? {} : { "Content-Type": "application/json", "X-CSRFToken": currentToken() },
      body: body === undefined ? undefined : JSON.stringify(body),
      redirect: "manual",
      signal: AbortSignal.timeout(PATIENCE),
    });
    return { status: answer.status, ...(await meaning(answer)) };
  } catch {
    return { kind: "away", status: 0, body: null };
  }
}

async function meaning(answer) {
  // signed out: the page asks to sign in instead of answering
  if (answer.type === "opaqueredirect" || answer.status === 401) return { kind: "signed-out", body: null };
  if (LATER.has(answer.status)) return { kind: "away", body: null };
  const isJson = answer.headers.get("Content-Type")?.includes("json");
  if (answer.status === 403 && !isJson) return { kind: "stale-token", body: null };
  const body = isJson ? await answer.json() : null;
  if (answer.ok) return { kind: "done", body };
  if (answer.status >= 500) return { kind: "broken", body };
  return { kind: answer.status === 409 && body?.error?.clashes?.length ? "clash" : "refused", body };
}

// Signing in again, in whatever tab, changes the token that forms and scripts show.
function currentToken() {
  token ??= tokenOf(document);
  return token;
}

function tokenOf(page) {
  return JSON.parse(page.body.getAttribute("hx-headers:inherited") ?? "{}")["X-CSRFToken"] ?? "";
}

async function renewToken() {
  const page = await fetchPage(location.href);
  if (!page) return false;
  token = tokenOf(page);
  document.body.setAttribute("hx-headers:inherited", page.body.getAttribute("hx-headers:inherited") ?? "{}");
  return Boolean(token);
}
