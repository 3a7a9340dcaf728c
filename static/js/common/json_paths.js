// Reads and changes one path in a JSON value in the same way as the server: missing parents are created.

export function getAtPath(tree, path) {
  for (const step of path) {
    if (!hasStep(tree, step)) return undefined;
    tree = tree[step];
  }
  return tree;
}

/** Return a copy with one path changed; undefined removes the value. A missing list item starts as a copy of `blank`. */
export function setAtPath(tree, path, value, blank) {
  const copy = structuredClone(tree ?? {});
  let parent = copy;
  path.slice(0, -1).forEach((step, depth) => {
    if (parent[step] === null || typeof parent[step] !== "object") parent[step] = createParent(path[depth + 1], parent, blank);
    parent = parent[step];
  });
  const last = path.at(-1);
  if (value !== undefined) parent[last] = value;
  else if (Array.isArray(parent)) parent.splice(last, 1);
  else delete parent[last];
  return copy;
}

/** Return the operation that turns `tree` into `next` at a path, addressed to the deepest existing parent. */
export function buildOperation(tree, next, path) {
  for (let depth = 1; depth < path.length; depth++) {
    const parent = getAtPath(tree, path.slice(0, depth));
    if (parent === undefined || parent === null || typeof parent !== "object") return { path: path.slice(0, depth), value: getAtPath(next, path.slice(0, depth)) };
  }
  const value = getAtPath(next, path);
  if (value === undefined) return { path, remove: true };
  const container = path.length > 1 ? getAtPath(tree, path.slice(0, -1)) : tree;
  if (Array.isArray(container) && path.at(-1) >= container.length) return { path, value, insert: true };
  return { path, value };
}

export function isEqual(a, b) {
  if (a === b) return true;
  if (a === null || b === null || typeof a !== "object" || typeof b !== "object") return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => key in b && isEqual(a[key], b[key]));
}

export const parseJson = (text, fallback = null) => {
  try {
    return JSON.parse(text);
  } catch {
    return fallback;
  }
};

function hasStep(tree, step) {
  return tree !== null && typeof tree === "object" && step in tree;
}

function createParent(nextStep, container, blank) {
  if (typeof nextStep === "number") return [];
  return Array.isArray(container) && blank && typeof blank === "object" ? structuredClone(blank) : {};
}
