// Arranges nodes on the canvas: six ways to align, two to distribute, tidy up; also zoom, grid and wheel preferences.

import { GRID } from "../../canvas/geometry.js";
import { computeBounds, getSelectedNodes, isNote, getParent, getScope, getVisibleScope } from "../graph_queries.js";
import { storeValue, loadValue } from "../../common/storage.js";
import { t } from "../../common/translations.js";

const ALIGNMENTS = {
  left: { keys: "Alt+Shift+L", label: () => t("Align left edges"), to: (box) => ({ x: box.x }) },
  center: { keys: "Alt+Shift+C", label: () => t("Align centers vertically"), to: (box, n) => ({ x: box.x + (box.w - n.w) / 2 }) },
  right: { keys: "Alt+Shift+R", label: () => t("Align right edges"), to: (box, n) => ({ x: box.x + box.w - n.w }) },
  top: { keys: "Alt+Shift+T", label: () => t("Align top edges"), to: (box) => ({ y: box.y }) },
  middle: { keys: "Alt+Shift+M", label: () => t("Align centers horizontally"), to: (box, n) => ({ y: box.y + (box.h - n.h) / 2 }) },
  bottom: { keys: "Alt+Shift+B", label: () => t("Align bottom edges"), to: (box, n) => ({ y: box.y + box.h - n.h }) },
};

export function install(editor) {
  const hasAtLeast = (min) => (e) => getMovableNodes(e).length >= min;
  editor.commands.add(
    ...Object.entries(ALIGNMENTS).map(([name, alignment]) => ({
      id: `align-${name}`,
      label: alignment.label(),
      keys: alignment.keys,
      group: "move",
      edits: true,
      menu: ["several"],
      when: hasAtLeast(2),
      run: (e) => align(e, alignment),
    })),
    { id: "distribute-x", label: t("Distribute horizontally"), keys: "Alt+Shift+H", group: "move", edits: true, menu: ["several"], when: hasAtLeast(3), run: (e) => distribute(e, "x", "w") },
    { id: "distribute-y", label: t("Distribute vertically"), keys: "Alt+Shift+V", group: "move", edits: true, menu: ["several"], when: hasAtLeast(3), run: (e) => distribute(e, "y", "h") },
    { id: "tidy", label: () => (getMovableNodes(editor).length > 1 ? t("Auto-layout selection") : t("Auto-layout")), keys: "Shift+T", group: "move", edits: true, menu: ["canvas", "several"], words: t("tidy layout arrange organize"), run: tidy },
    { id: "zoom-fit", label: t("Zoom to fit"), keys: "Shift+1", group: "view", menu: ["canvas"], run: (e) => e.canvas.fit() },
    { id: "zoom-selection", label: t("Zoom to selection"), keys: "Shift+2", group: "view", when: (e) => getSelectedNodes(e).length > 0, run: (e) => e.canvas.fit([...e.selection]) },
    { id: "zoom-100", label: t("Zoom to 100%"), keys: "Shift+0", group: "view", run: (e) => zoomTo(e, 1) },
    { id: "zoom-in", label: t("Zoom in"), keys: ["+", "="], group: "view", run: (e) => zoomBy(e, 1.25) },
    { id: "zoom-out", label: t("Zoom out"), keys: "-", group: "view", run: (e) => zoomBy(e, 0.8) },
    { id: "grid", label: () => (editor.canvas.grid ? t("Hide grid") : t("Show grid")), keys: "Shift+G", group: "view", run: toggleGrid },
    { id: "wheel", label: () => (getWheelMode(editor) === "zoom" ? t("Mouse wheel: scroll") : t("Mouse wheel: zoom")), group: "view", run: toggleWheelMode },
  );
  restorePreferences(editor);
}

function getMovableNodes(editor) {
  const nodes = getSelectedNodes(editor);
  const scope = nodes[0] && getScope(nodes[0]);
  return nodes.filter((node) => getScope(node) === scope);
}

function send(editor, moves, label) {
  const ops = moves.filter(({ node, x = node.x, y = node.y }) => x !== node.x || y !== node.y).map(({ node, x = node.x, y = node.y }) => ({ op: "move", id: node.id, x: Math.round(x), y: Math.round(y) }));
  if (!ops.length) return editor.say(t("No changes"));
  return editor.edits.send(ops, { label }).then((change) => change && editor.say(label));
}

function align(editor, alignment) {
  const nodes = getMovableNodes(editor);
  const box = computeBounds(nodes);
  return send(editor, nodes.map((node) => ({ node, ...alignment.to(box, node) })), alignment.label());
}

/** Make the gaps between neighbours equal; the outermost nodes stay. */
function distribute(editor, axis, length) {
  const nodes = getMovableNodes(editor).sort((a, b) => a[axis] - b[axis] || (a.id < b.id ? -1 : 1));
  const lastNode = nodes.at(-1);
  const freeSpace = lastNode[axis] + lastNode[length] - nodes[0][axis] - nodes.reduce((sum, node) => sum + node[length], 0);
  const gap = freeSpace / (nodes.length - 1);
  let position = nodes[0][axis];
  const moves = nodes.map((node) => {
    const move = { node, [axis]: position };
    position += node[length] + gap;
    return move;
  });
  return send(editor, moves, axis === "x" ? t("Distribute horizontally") : t("Distribute vertically"));
}

async function tidy(editor) {
  const nodes = getMovableNodes(editor).filter((node) => !isNote(node));
  const op = nodes.length > 1 ? { op: "tidy", ids: nodes.map(({ id }) => id) } : { op: "tidy", ...getScopeArgument(editor) };
  const label = nodes.length > 1 ? t("Auto-layout applied to nodes: {n}", { n: nodes.length }) : t("Auto-layout applied");
  if (!(await editor.edits.send([op], { label }))) return;
  editor.say(label);
  if (nodes.length < 2) editor.canvas.fit();
}

function getScopeArgument(editor) {
  const scope = getParent(getVisibleScope(editor));
  return scope ? { scope } : {};
}

function zoomBy(editor, factor) {
  zoomTo(editor, editor.canvas.viewport.k * factor);
}

function zoomTo(editor, scale) {
  const { viewport } = editor.canvas;
  viewport.zoomTo(scale);
  editor.say(t("Zoom {n}%", { n: Math.round(viewport.k * 100) }));
}

// Preferences of the person are stored in this browser, not in the draft.

const STORAGE_KEY = "editor-look";

const storePreferences = (changes) => storeValue(STORAGE_KEY, { ...loadValue(STORAGE_KEY, {}), ...changes });

const getWheelMode = (editor) => (editor.canvas.wheelZooms ? "zoom" : "scroll");

function restorePreferences(editor) {
  const preferences = loadValue(STORAGE_KEY, {});
  if (preferences.wheel) editor.canvas.wheelZooms = preferences.wheel === "zoom";
  editor.canvas.viewport.addEventListener("rest", () => editor.canvas.grid && positionGrid(editor));
  showGrid(editor, preferences.grid ?? true);
}

function showGrid(editor, on) {
  editor.canvas.grid = on;
  editor.canvas.root.toggleAttribute("data-grid", on);
  if (on) positionGrid(editor);
}

/** The dots lie in the scrolled layer: panning moves them without cost, and only a zoom positions them again. */
function positionGrid(editor) {
  const { viewport } = editor.canvas;
  const { pane, k, x, y } = viewport;
  const spacing = GRID * 3 * k < 14 ? 4 : 1; // every fourth dot when zoomed out
  pane.style.setProperty("--grid", `${GRID * 3 * spacing * k}px`);
  pane.style.setProperty("--grid-x", `${pane.scrollLeft + x}px`);
  pane.style.setProperty("--grid-y", `${pane.scrollTop + y}px`);
}

function toggleGrid(editor) {
  const on = !editor.canvas.grid;
  showGrid(editor, on);
  storePreferences({ grid: on });
  editor.say(on ? t("Grid shown") : t("Grid hidden"));
}

function toggleWheelMode(editor) {
  const next = getWheelMode(editor) === "zoom" ? "scroll" : "zoom";
  editor.canvas.wheelZooms = next === "zoom";
  storePreferences({ wheel: next });
  editor.say(next === "zoom" ? t("Mouse wheel zooms") : t("Mouse wheel scrolls; Ctrl + wheel zooms"));
}
