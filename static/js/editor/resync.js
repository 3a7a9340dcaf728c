// The canvas as a fresh page has it, told as a Change: for what operations can't tell, and to take back what was shown too soon.

/**
 * What a page shows, for these ids or all; null when the page has no canvas (signed out, gone). With the ids comes what is
 * missing here: a node that was shown as deleted took its edges, and what lay in it, along.
 */
export function snapshotChange(editor, page, ids) {
  const root = page.getElementById("editor");
  if (!root) return null;
  const wanted = ids && new Set(ids);
  const { nodes: here, edges: wires } = editor.model;
  const isWanted = (id) => !wanted || wanted.has(id);
  const isDrawn = (id) => isWanted(id) || !(here.has(id) || wires.has(id));
  const nodes = collect(page, "wf-node[data-id]", isDrawn);
  const edges = collect(page, "path.wf-edge[data-id]", isDrawn);
  const known = [...here.keys(), ...wires.keys()];
  return {
    revision: Number(root.dataset.revision),
    resync: true,
    author: null,
    ops: [],
    html: { nodes, edges, gone: known.filter((id) => isWanted(id) && !(id in nodes) && !(id in edges)) },
    problems: null,
  };
}

function collect(page, selector, isWanted) {
  const found = [...page.querySelectorAll(selector)].map((el) => [el.dataset.id, el.outerHTML]);
  return Object.fromEntries(found.filter(([id]) => isWanted(id)));
}
