// The files in what a run puts out: pictures, and names with links. The signed addresses that values carry are never shown;
// a link to a stored file asks who follows it.

import { formatFileSize } from "../common/format.js";

const LINK_IN_TEXT = /(!?)\[([^\]\n]*)\]\(([^()\s]+)\)/g;
const PATH = /\/files\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\/$/;
const PICTURES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
const MAX_PICTURE = 10 * 1024 * 1024; // as in workflows/files/shown.py

const isFile = (value) => typeof value === "object" && value?.dify_model_identity === "__dify__file__";

/** Return the id of the stored file that an address of this site links to; an address of another site has none. */
function findLinkedId(address) {
  const url = URL.canParse(address, location.href) ? new URL(address, location.href) : null;
  return url?.origin === location.origin ? PATH.exec(url.pathname)?.[1] : undefined;
}

/** Return the text with the name of each stored file in place of its link, which works for some minutes only. */
export const nameFiles = (text) => text.replace(LINK_IN_TEXT, (link, _mark, name, address) => (findLinkedId(address) ? name : link));

/** Return the parts of a text: its words, and elements in place of its links to stored files. */
export function splitAtFiles(text) {
  const parts = [];
  let position = 0;
  for (const match of text.matchAll(LINK_IN_TEXT)) {
    const [link, mark, name, address] = match;
    const id = findLinkedId(address);
    if (!id) continue;
    parts.push(text.slice(position, match.index), createFile({ name, related_id: id, mime_type: mark && "image/png" }));
    position = match.index + link.length;
  }
  return [...parts, text.slice(position)];
}

/** Return the files if the value is one, or a list of nothing else; null for any other value. */
export function listFiles(value) {
  const values = Array.isArray(value) ? value : [value];
  return values.length > 0 && values.every(isFile) ? values : null;
}

/** Return a file as an element: an image of our own store as a picture, any other as a link with its name and size. */
export function createFile({ name: title, filename, url, related_id: id, mime_type: type, size = 0 }) {
  const name = title || filename || "?";
  const href = id ? `/files/${id}/` : url;
  if (!id && !/^https?:/.test(url ?? "")) return Object.assign(document.createElement("span"), { textContent: name });
  const link = Object.assign(document.createElement("a"), { href });
  const chip = () => {
    link.className = "file-chip";
    delete link.dataset.picture;
    link.append(Object.assign(document.createElement("span"), { className: "clip", textContent: name }));
    if (size > 0) link.append(Object.assign(document.createElement("span"), { className: "hint", textContent: formatFileSize(size) }));
  };
  if (!id) Object.assign(link, { target: "_blank", rel: "noopener noreferrer" });
  if (!id || !PICTURES.has(type) || size > MAX_PICTURE) {
    chip();
    return link;
  }
  link.className = "picture";
  link.dataset.picture = name;
  const image = Object.assign(document.createElement("img"), { alt: name, loading: "lazy", src: href });
  image.addEventListener("error", () => {
    image.remove();
    chip();
  });
  link.append(image);
  return link;
}
