// Brings back the view that adding a node has changed, once that is undone and nobody has moved the view in between.

const TOLERANCE = 2; // px

const views = new Map(); // the id of an added node → the view before it was added, and the one after

const readView = ({ viewport: { x, y, k, width, height } }) => ({ x, y, k, width, height });
const isSame = (one, other) => one.k === other.k && ["x", "y", "width", "height"].every((key) => Math.abs(one[key] - other[key]) < TOLERANCE);

export function install(editor) {
  editor.addEventListener("change", ({ detail: { kind, client, ops = [] } }) => {
    if (kind !== "undo" || client !== editor.edits.client) return;
    for (const { op, id } of ops) if (op === "delete" && views.has(id)) restore(editor, id);
  });
}

/** Show a node that was just added, and note which view that replaces. */
export function showInstead(editor, id, show) {
  const before = readView(editor.canvas);
  show();
  const after = readView(editor.canvas);
  if (!isSame(before, after)) views.set(id, { before, after });
}

function restore({ canvas }, id) {
  const { before, after } = views.get(id);
  views.delete(id);
  if (isSame(readView(canvas), after)) canvas.viewport.set(before.x, before.y, before.k);
}
