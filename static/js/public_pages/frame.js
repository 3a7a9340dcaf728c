// The frame of the bubble on another site. It keeps the visitor's ticket in its own storage, which browsers keep apart for
// each site around it, sends the ticket with each request, and loads the page's content with it.

import { loadValue, storeValue } from "../common/storage.js";

const place = document.getElementById("page");
const { content, visitor, failed } = place.dataset;
const key = `visitor:${visitor}`;
let ticket = loadValue(key, "");

function addHeaders() {
  const headers = { "X-Visitor": ticket, "Accept-Language": document.documentElement.lang };
  document.body.setAttribute("hx-headers:inherited", JSON.stringify(headers));
  return headers;
}

function keepTicket(text) {
  ticket = text;
  storeValue(key, text);
}

async function fetchTicket() {
  const response = await fetch(visitor, { method: "POST", headers: addHeaders() });
  if (!response.ok) throw new Error(response.statusText);
  keepTicket((await response.json()).ticket);
}

async function show() {
  await fetchTicket();
  const response = await fetch(`${content}${location.search}`, { headers: addHeaders() });
  if (!response.ok) throw new Error(response.statusText);
  place.outerHTML = await response.text();
  window.htmx.process(document.body);
  await import("../runs/stream.js");
  await import("../chat/form.js");
  await import("../chat/page.js");
  await import("../common/file_picker.js");
}

// The right password: the ticket says so from now on.
document.addEventListener("visitor-changed", ({ detail }) => {
  keepTicket(detail.value);
  location.reload();
});

// The site around the frame closes the bubble with Escape too.
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && !event.defaultPrevented && !document.querySelector("dialog[open]")) window.parent.postMessage("mnemoflow:close", "*");
});

show().catch(() => (place.textContent = failed));
