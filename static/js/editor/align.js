// Order on the canvas: six ways to align, two to distribute, tidy up; and how one looks at it.

import { GRID } from "../canvas/geometry.js";
import { bounds, chosenNodes, isNote, parentOf, scopeOf, shownScope } from "./graph.js";
import { keep, kept } from "./kept.js";
import { t } from "./words.js";

const WAYS = {
  left: { keys: "Alt+Shift+L", label: () => t("Align left edges"), to: (box) => ({ x: box.x }) },
  center: { keys: "Alt+Shift+C", label: () => t("Align centres in a column"), to: (box, n) => ({ x: box.x + (box.w - n.w) / 2 }) },
  right: { keys: "Alt+Shift+R", label: () => t("Align right edges"), to: (box, n) => ({ x: box.x + box.w - n.w }) },
  top: { keys: "Alt+Shift+T", label: () => t("Align top edges"), to: (box) => ({ y: box.y }) },
  middle: { keys: "Alt+Shift+M", label: () => t("Align middles in a row"), to: (box, n) => ({ y: box.y + (box.h - n.h) / 2 }) },
  bottom: { keys: "Alt+Shift+B", label: () => t("Align bottom edges"), to: (box, n) => ({ y: box.y + box.h - n.h }) },
};

export function install(editor) {
  const several = (least) => (e) => movable(e).length >= least;
  editor.commands.add(
    ...Object.entries(WAYS).map(([name, way]) => ({
      id: `align-${name}`,
      label: way.label(),
      keys: way.keys,
      group: "move",
      edits: true,
      menu: ["several"],
      when: several(2),
      run: (e) => align(e, way),
    })),
    { id: "distribute-x", label: t("Distribute from left to right"), keys: "Alt+Shift+H", group: "move", edits: true, menu: ["several"], when: several(3), run: (e) => distribute(e, "x", "w") },
    { id: "distribute-y", label: t("Distribute from top to bottom"), keys: "Alt+Shift+V", group: "move", edits: true, menu: ["several"], when: several(3), run: (e) => distribute(e, "y", "h") },
    { id: "tidy", label: () => (movable(editor).length > 1 ? t("Tidy up the selection") : t("Tidy up")), keys: "Shift+T", group: "move", edits: true, menu: ["canvas", "several"], words: t("layout arrange organise"), run: tidy },
    { id: "zoom-fit", label: t("Zoom to fit"), keys: "Shift+1", group: "view", menu: ["canvas"], run: (e) => e.canvas.fit() },
    { id: "zoom-selection", label: t("Zoom to the selection"), keys: "Shift+2", group: "view", when: (e) => chosenNodes(e).length > 0, run: (e) => e.canvas.fit([...e.selection]) },
    { id: "zoom-100", label: t("Zoom to 100 %"), keys: "Shift+0", group: "view", run: (e) => zoomTo(e, 1) },
    { id: "zoom-in", label: t("Zoom in"), keys: ["+", "="], group: "view", run: (e) => zoomBy(e, 1.25) },
    { id: "zoom-out", label: t("Zoom out"), keys: "-", group: "view", run: (e) => zoomBy(e, 0.8) },
    { id: "grid", label: () => (editor.canvas.grid ? t("Hide the grid") : t("Show the grid")), keys: "Shift+G", group: "view", run: grid },
    { id: "wheel", label: () => (wheel(editor) === "zoom" ? t("Wheel: scroll instead of zoom") : t("Wheel: zoom instead of scroll")), group: "view", run: switchWheel },
  );
  keepLook(editor);
}

function movable(editor) {
  const nodes = chosenNodes(editor);
  const scope = nodes[0] && scopeOf(nodes[0]);
  return nodes.filter((node) => scopeOf(node) === scope);
}

function send(editor, moves, words) {
  const ops = moves.filter(({ node, x = node.x, y = node.y }) => x !== node.x || y !== node.y).map(({ node, x = node.x, y = node.y }) => ({ op: "move", id: node.id, x: Math.round(x), y: Math.round(y) }));
  if (!ops.length) return editor.say(t("Already so"));
  return editor.edits.send(ops, { label: words }).then((done) => done && editor.say(words));
}

function align(editor, way) {
  const nodes = movable(editor);
  const box = bounds(nodes);
  return send(editor, nodes.map((node) => ({ node, ...way.to(box, node) })), way.label());
}

/** The same room between any two neighbours; the outermost stay. */
function distribute(editor, axis, length) {
  const nodes = movable(editor).sort((a, b) => a[axis] - b[axis] || (a.id < b.id ? -1 : 1));
  const last = nodes.at(-1);
  const room = last[axis] + last[length] - nodes[0][axis] - nodes.reduce((sum, node) => sum + node[length], 0);
  const gap = room / (nodes.length - 1);
  let at = nodes[0][axis];
  const moves = nodes.map((node) => {
    const move = { node, [axis]: at };
    at += node[length] + gap;
    return move;
  });
  return send(editor, moves, axis === "x" ? t("Distribute from left to right") : t("Distribute from top to bottom"));
}

async function tidy(editor) {
  const nodes = movable(editor).filter((node) => !isNote(node));
  const op = nodes.length > 1 ? { op: "tidy", ids: nodes.map(({ id }) => id) } : { op: "tidy", ...scoped(editor) };
  const words = nodes.length > 1 ? t("Tidied up nodes: {n}", { n: nodes.length }) : t("Tidied up");
  if (!(await editor.edits.send([op], { label: words }))) return;
  editor.say(words);
  if (nodes.length < 2) editor.canvas.fit();
}

function scoped(editor) {
  const scope = parentOf(shownScope(editor));
  return scope ? { scope } : {};
}

function zoomBy(editor, factor) {
  zoomTo(editor, editor.canvas.viewport.k * factor);
}

function zoomTo(editor, scale) {
  const { viewport } = editor.canvas;
  viewport.zoomTo(scale);
  editor.say(t("Zoom {n} %", { n: Math.round(viewport.k * 100) }));
}

// What one prefers stays in this browser: it is the person's, not the draft's.

const KEPT = "editor-look";

const keepMore = (more) => keep(KEPT, { ...kept(KEPT, {}), ...more });

const wheel = (editor) => (editor.canvas.wheelZooms ? "zoom" : "scroll");

function keepLook(editor) {
  const look = kept(KEPT, {});
  if (look.wheel) editor.canvas.wheelZooms = look.wheel === "zoom";
  editor.canvas.viewport.addEventListener("rest", () => editor.canvas.grid && lay(editor));
  show(editor, look.grid ?? false);
}

function show(editor, on) {
  editor.canvas.grid = on;
  editor.canvas.root.toggleAttribute("data-grid", on);
  if (on) lay(editor);
}

/** The dots lie in the scrolled layer: panning moves them for nothing, only a zoom lays them anew. */
function lay(editor) {
  const { viewport } = editor.canvas;
  const { pane, k, x, y } = viewport;
  const far = GRID * 3 * k < 14 ? 4 : 1; // zoomed out, every fourth
  pane.style.setProperty("--grid", `${GRID * 3 * far * k}px`);
  pane.style.setProperty("--grid-x", `${pane.scrollLeft + x}px`);
  pane.style.setProperty("--grid-y", `${pane.scrollTop + y}px`);
}

function grid(editor) {
  const on = !editor.canvas.grid;
  show(editor, on);
  keepMore({ grid: on });
  editor.say(on ? t("The grid is shown") : t("No grid"));
}

function switchWheel(editor) {
  const next = wheel(editor) === "zoom" ? "scroll" : "zoom";
  editor.canvas.wheelZooms = next === "zoom";
  keepMore({ wheel: next });
  editor.say(next === "zoom" ? t("The wheel zooms") : t("The wheel scrolls; with Ctrl it zooms"));
}
