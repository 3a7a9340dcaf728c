// Summarises the canvas in three numbers, to compare it with the draft on the server. Its twin is
// workflows/services/editing/draft_checksum.py.

const TABLE = Uint32Array.from({ length: 256 }, (_none, byte) => {
  let checksum = byte;
  for (let bit = 0; bit < 8; bit++) checksum = checksum & 1 ? (checksum >>> 1) ^ 0xedb88320 : checksum >>> 1;
  return checksum;
});
const LETTERS = new TextEncoder();

/** Return the shape. `mark` does not depend on the order, but on every id, parent and end. */
export function computeShape({ nodes, edges }) {
  let mark = 0;
  for (const { id, el } of nodes.values()) mark += crc32(`${id} ${el.dataset.parent}`);
  for (const { id, from, to } of edges.values()) mark += crc32(`${id} ${from} ${to}`);
  return { nodes: nodes.size, edges: edges.size, mark: mark % 2 ** 32 };
}

/** Return whether two shapes describe the same draft. */
export function isSame(a, b) {
  return a.nodes === b.nodes && a.edges === b.edges && a.mark === b.mark;
}

function crc32(text) {
  let checksum = 0xffffffff;
  for (const byte of LETTERS.encode(text)) checksum = TABLE[(checksum ^ byte) & 255] ^ (checksum >>> 8);
  return (checksum ^ 0xffffffff) >>> 0;
}
