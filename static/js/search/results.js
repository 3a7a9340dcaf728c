// Fetches the results of the search of every page.

let request = null;

/** Return the results' HTML; null if a later search replaced this one, or if the server can't be reached. */
export async function fetchHtml(address, query) {
  request?.abort();
  request = new AbortController();
  try {
    const response = await fetch(`${address}?${new URLSearchParams({ fragment: "1", q: query })}`, { signal: request.signal });
    return response.ok && !response.redirected ? await response.text() : null;
  } catch {
    return null;
  }
}

/** Return the results as values, for lists that draw their rows themselves. */
export async function fetchResults(address, query) {
  const html = await fetchHtml(address, query);
  if (!html) return [];
  const content = new DOMParser().parseFromString(html, "text/html");
  return [...content.querySelectorAll("[role=option]")].map((option) => ({
    href: option.getAttribute("href"),
    name: option.querySelector("[data-title]").textContent,
    detail: option.querySelector("[data-detail]")?.textContent ?? "",
    group: option.closest("[data-group]").dataset.group,
    icon: option.querySelector("svg"),
  }));
}
