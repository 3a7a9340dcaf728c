// Reading and changing one place in a JSON value, the way the server does it: what is missing on the way is made.

export function get(tree, path) {
  for (const step of path) {
    if (!has(tree, step)) return undefined;
    tree = tree[step];
  }
  return tree;
}

/** A copy with one place changed; undefined takes it away. `blank` is what a list item that isn't there begins as. */
export function put(tree, path, value, blank) {
  const copy = structuredClone(tree ?? {});
  let at = copy;
  path.slice(0, -1).forEach((step, depth) => {
    if (at[step] === null || typeof at[step] !== "object") at[step] = fresh(path[depth + 1], at, blank);
    at = at[step];
  });
  const last = path.at(-1);
  if (value !== undefined) at[last] = value;
  else if (Array.isArray(at)) at.splice(last, 1);
  else delete at[last];
  return copy;
}

/** The operation that makes `next` of `tree` at a path: on the deepest place that is already there. */
export function operation(tree, next, path) {
  for (let depth = 1; depth < path.length; depth++) {
    const here = get(tree, path.slice(0, depth));
    if (here === undefined || here === null || typeof here !== "object") return { path: path.slice(0, depth), value: get(next, path.slice(0, depth)) };
  }
  const value = get(next, path);
  if (value === undefined) return { path, remove: true };
  const home = path.length > 1 ? get(tree, path.slice(0, -1)) : tree;
  if (Array.isArray(home) && path.at(-1) >= home.length) return { path, value, insert: true };
  return { path, value };
}

export function same(one, other) {
  if (one === other) return true;
  if (one === null || other === null || typeof one !== "object" || typeof other !== "object") return false;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const keys = Object.keys(one);
  return keys.length === Object.keys(other).length && keys.every((key) => key in other && same(one[key], other[key]));
}

export const read = (text, otherwise = null) => {
  try {
    return JSON.parse(text);
  } catch {
    return otherwise;
  }
};

function has(tree, step) {
  return tree !== null && typeof tree === "object" && step in tree;
}

function fresh(nextStep, home, blank) {
  if (typeof nextStep === "number") return [];
  return Array.isArray(home) && blank && typeof blank === "object" ? structuredClone(blank) : {};
}
