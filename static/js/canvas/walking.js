// Which nodes are next to a node: along its edges to the right and left, among its siblings up and down.

const COLUMN = 200; // how far apart siblings may stand sideways

/** @param {"right"|"left"|"up"|"down"} direction @returns {string[]} ids, the nearest first */
export function neighbours(model, id, direction) {
  const node = model.nodes.get(id);
  if (!node) return [];
  return { right: () => along(model, node, "from", "to"), left: () => along(model, node, "to", "from"), up: () => beside(model, node, -1), down: () => beside(model, node, 1) }[direction]();
}

function along(model, node, here, there) {
  const ids = [...model.edgesOf(node.id)].filter((edge) => edge[here] === node.id).map((edge) => edge[there]);
  const far = (id) => Math.abs(model.nodes.get(id).y - node.y);
  return [...new Set(ids)].filter((id) => model.nodes.has(id)).sort((a, b) => far(a) - far(b));
}

function beside(model, node, way) {
  const others = model.inside(node.scope).filter((other) => other !== node && (other.y - node.y) * way > 0 && Math.abs(other.x - node.x) < COLUMN);
  return others.sort((a, b) => (a.y - b.y) * way || a.x - b.x).map((other) => other.id);
}
