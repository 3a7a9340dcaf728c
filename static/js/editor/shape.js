// What the canvas consists of, in three numbers, to be compared with what the server says of the draft.
// Its twin is workflows/services/editing/shape.py.

const TABLE = Uint32Array.from({ length: 256 }, (_none, byte) => {
  let rest = byte;
  for (let bit = 0; bit < 8; bit++) rest = rest & 1 ? (rest >>> 1) ^ 0xedb88320 : rest >>> 1;
  return rest;
});
const LETTERS = new TextEncoder();

/** `mark` is the same whatever the order, and another one where an id, a parent or an end is. */
export function shapeOf({ nodes, edges }) {
  let mark = 0;
  for (const { id, el } of nodes.values()) mark += crc32(`${id} ${el.dataset.parent}`);
  for (const { id, from, to } of edges.values()) mark += crc32(`${id} ${from} ${to}`);
  return { nodes: nodes.size, edges: edges.size, mark: mark % 2 ** 32 };
}

/** Whether the two are of the same draft. */
export function isSame(one, other) {
  return one.nodes === other.nodes && one.edges === other.edges && one.mark === other.mark;
}

function crc32(text) {
  let rest = 0xffffffff;
  for (const byte of LETTERS.encode(text)) rest = TABLE[(rest ^ byte) & 255] ^ (rest >>> 8);
  return (rest ^ 0xffffffff) >>> 0;
}
