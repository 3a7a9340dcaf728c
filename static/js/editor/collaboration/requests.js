// Sends one request and classifies the answer: done, conflict, refused, or try again.

const TIMEOUT = 20_000; // ms; a network that swallows requests counts as offline
const RETRY_STATUSES = new Set([408, 425, 429, 502, 503, 504]);

let token = null;

/**
 * @returns {Promise<{kind: "done"|"conflict"|"refused"|"away"|"signed-out"|"broken", status: number, body: any}>} "away": no
 * answer, try again later. "broken": the server failed on this request.
 */
export async function sendRequest(url, { method = "GET", body } = {}) {
  const firstTry = await sendOnce(url, method, body);
  if (firstTry.kind !== "stale-token") return firstTry;
  const isRenewed = await renewToken();
  if (!isRenewed) return { ...firstTry, kind: "signed-out" };
  const secondTry = await sendOnce(url, method, body);
  return secondTry.kind === "stale-token" ? { ...secondTry, kind: "refused" } : secondTry; // the token is valid, so the request is not allowed
}

/** Return a page of ours as a document, or null when it cannot be loaded. */
export async function fetchPage(url) {
  try {
    const response = await fetch(url, { redirect: "manual", signal: AbortSignal.timeout(TIMEOUT) });
    if (!response.ok) return null;
    // The style rules carry the nonce of another page and would be reported as violations when parsed.
    const html = (await response.text()).replaceAll(/<style[\s\S]*?<\/style>/g, "");
    return new DOMParser().parseFromString(html, "text/html");
  } catch {
    return null;
  }
}

async function sendOnce(url, method, body) {
  let response;
  try {
    response = await fetch(url, {
      method,
      headers: method === "GET" ? {} : { "Content-Type": "application/json", "X-CSRFToken": getToken() },
      body: body === undefined ? undefined : JSON.stringify(body),
      redirect: "manual",
      signal: AbortSignal.timeout(TIMEOUT),
    });
    return { status: response.status, ...(await classify(response)) };
  } catch {
    return { kind: "away", status: 0, body: null };
  }
}

async function classify(response) {
  // a signed-out person gets a redirect to the sign-in page
  if (response.type === "opaqueredirect" || response.status === 401) return { kind: "signed-out", body: null };
  if (RETRY_STATUSES.has(response.status)) return { kind: "away", body: null };
  const isJson = response.headers.get("Content-Type")?.includes("json");
  if (response.status === 403 && !isJson) return { kind: "stale-token", body: null };
  const body = isJson ? await response.json() : null;
  if (response.ok) return { kind: "done", body };
  if (response.status >= 500) return { kind: "broken", body };
  return { kind: response.status === 409 && body?.error?.conflicts?.length ? "conflict" : "refused", body };
}

// Signing in again in any tab changes the token that forms and scripts use.
function getToken() {
  token ??= readToken(document);
  return token;
}

function readToken(page) {
  return JSON.parse(page.body.getAttribute("hx-headers:inherited") ?? "{}")["X-CSRFToken"] ?? "";
}

async function renewToken() {
  const page = await fetchPage(location.href);
  if (!page) return false;
  token = readToken(page);
  document.body.setAttribute("hx-headers:inherited", page.body.getAttribute("hx-headers:inherited") ?? "{}");
  return Boolean(token);
}
