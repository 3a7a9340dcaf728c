"""Bodies of xworkflow's containers: written inside the container, drawn and run as nodes of the document.

Their ids are their own (every body has a ``start``), so an id or edge id that is taken gets its
container's in front of it, and so do the references to it in the body. How a node was written is
kept under ``sub_graph`` in its extra, until it is written back.
"""

import re
from collections.abc import Mapping
from typing import Final

from workflows.engine.language.containers import CONTAINERS, ENTRY_KINDS, entry_kind
from workflows.engine.language.document import Json, NodeSpec
from workflows.engine.language.dsl.loaded import identifier, without


Tree = dict[str, Json]
Names = Mapping[str, str]

MARK: Final = "sub_graph"
SCOPE: Final = "__scope__"
# xworkflow's short names inside bodies.
_SHORT: Final[Mapping[str, str]] = {"template": "template-transform"}
_REFERENCE: Final = re.compile(r"\{\{#([a-zA-Z0-9_]{1,50})(?=\.)")
_UNFIT: Final = re.compile(r"[^a-zA-Z0-9_]")


def unfolded(nodes: list[Json], edges: list[Json]) -> tuple[list[Json], list[Json]]:
    """Nodes and edges with all bodies among them, each node of a body with its ``parentId``."""
    reader = _Unfolding(nodes, edges)
    for node in nodes:
        reader.add(node)
    return reader.nodes, [*edges, *reader.edges]


def folded(
    nodes: list[Tree], edges: list[Tree], bodies: Mapping[str, list[str]]
) -> tuple[list[Tree], list[Tree]]:
    """The reverse. ``bodies``: containers to be written with a body, and the nodes in it."""
    by_id = {node["id"]: node for node in nodes}
    inside = {child: container for container, held in bodies.items() for child in held}
    gathered: dict[str, list[Tree]] = {container: [] for container in bodies}
    left: list[Tree] = []
    for edge in edges:
        container = inside.get(edge["source"])
        within = container is not None and container == inside.get(edge["target"])
        (gathered[container] if within and container is not None else left).append(edge)
    # From the innermost outwards: a container is folded before it is put into one.
    for container in sorted(bodies, key=lambda name: -_depth(name, inside)):
        if container in by_id:
            held = [by_id[child] for child in bodies[container] if child in by_id]
            _fold(by_id[container], held, gathered[container])
    return [node for node in nodes if node["id"] not in inside], left


def foldable(container: NodeSpec) -> bool:
    """Whether xworkflow has words for how the container says what comes of its rounds."""
    if container.kind == "loop":
        return "condition" in container.data
    return container.kind == "iteration" and not container.data.get("output_selector")


class _Unfolding:
    def __init__(self, nodes: list[Json], edges: list[Json]) -> None:
        self.nodes: list[Json] = []
        self.edges: list[Json] = []
        self._taken = {_id(node) for node in nodes}
        self._edges_taken = {_id(edge) for edge in edges}

    def add(self, node: Json) -> None:
        graph = _graph(node)
        if graph is None:
            self.nodes.append(node)
            return
        data = {key: _spelled(key, part) for key, part in node["data"].items() if key != MARK}
        container, kind = _id(node), data["type"]
        self.nodes.append({**node, "data": data})
        names = self._names(container, graph["nodes"])
        # A body's start gives nothing: who refers to one of that name means the one outside.
        meant = {name: names[name] for name in names if _gives(name, graph["nodes"])}
        for child in graph["nodes"]:
            self.add(_child(child, container, kind, names.get(_id(child)), meant))
        self.edges += [self._edge(edge, container, names) for edge in graph.get("edges") or ()]

    def _names(self, container: str, children: list[Json]) -> dict[str, str]:
        """New names for the ids that are taken."""
        names: dict[str, str] = {}
        for child in children:
            old = _id(child)
            new = _free(old, container, self._taken)
            self._taken.add(new)
            if new != old:
                names[old] = new
        return names

    def _edge(self, edge: Mapping[str, Json], container: str, names: Names) -> Tree:
        ends = {end: names.get(_id(edge, end), edge.get(end)) for end in ("source", "target")}
        old = _id(edge)
        if not old:
            return {**edge, **ends, MARK: {}}
        new = _free(old, container, self._edges_taken)
        self._edges_taken.add(new)
        return {**edge, **ends, "id": new, MARK: {"id": old}}


def _gives(name: str, nodes: list[Json]) -> bool:
    return any(_id(node) == name and _kind(node) != "start" for node in nodes)


def _child(
    child: Mapping[str, Json], container: str, kind: str, new: str | None, names: Names
) -> Tree:
    """A node of a body as a node of the document."""
    written = child.get("data")
    data = dict(written) if isinstance(written, Mapping) else {}
    outside = [key for key in ("type", "title") if key in child and key not in data]
    beside = [key for key in ("type", "title") if key in child and key in data]
    named = _kind(child)
    data = {**_renamed(data, names), **{key: child[key] for key in (*outside, *beside)}}
    data["type"] = entry_kind(kind) if named == "start" else _SHORT.get(named, named)
    old = _id(child)
    mark: Tree = {"id": old, "type": named, "outside": outside, "beside": beside}
    rest = without(child, "id", "data", "type", "title")
    graph = data.get(MARK)
    if not isinstance(graph, Mapping):
        data = {key: _spelled(key, part) for key, part in data.items()}
    return {**rest, "id": new or old, "data": data, "parentId": container, MARK: mark}


def _fold(container: Tree, held: list[Tree], edges: list[Tree]) -> None:
    names: dict[str, str] = {}
    for child in held:
        old = child.get(MARK, {}).get("id")
        if old and old != child["id"]:
            names[child["id"]] = old
    graph: Tree = {
        "nodes": [_body_node(child, names) for child in held],
        "edges": [_body_edge(edge, names) for edge in edges],
    }
    container["data"] = {**without(container["data"], "start_node_id"), MARK: graph}


def _body_node(child: Tree, names: Names) -> Tree:
    mark = child.get(MARK) or {}
    data = _renamed(dict(child["data"]), names)
    kind = data["type"]
    written = mark.get("type")
    same = written and _SHORT.get(written, written) == kind
    data["type"] = "start" if kind in ENTRY_KINDS else written if same else kind
    outside = mark.get("outside", ["type"])
    node = {"id": names.get(child["id"], child["id"])}
    node |= {key: data[key] for key in (*outside, *mark.get("beside", ())) if key in data}
    return {
        **node,
        **without(child, "id", "data", "parentId", MARK),
        "data": without(data, *outside),
    }


def _body_edge(edge: Tree, names: Names) -> Tree:
    written = without(edge, "id", MARK) | {
        end: names.get(edge[end], edge[end]) for end in ("source", "target")
    }
    mark = edge.get(MARK)
    old = edge["id"] if mark is None else mark.get("id")
    return {"id": old, **written} if old else written


def _renamed(value: Json, names: Names) -> Json:
    """References to nodes by their new names; a body inside that has a node of that name means its own."""
    if not names:
        return value
    if isinstance(value, Mapping):
        return {key: _renamed_part(key, part, names) for key, part in value.items()}
    if isinstance(value, list):
        return [_renamed(part, names) for part in value]
    if isinstance(value, str) and "{{#" in value:
        return _REFERENCE.sub(lambda found: "{{#" + names.get(found[1], found[1]), value)
    return value


def _renamed_part(key: str, value: Json, names: Names) -> Json:
    if key == MARK and isinstance(value, Mapping) and isinstance(value.get("nodes"), list):
        own = {_id(node) for node in value["nodes"] if _kind(node) != "start"}
        left = {old: new for old, new in names.items() if old not in own}
        return {**value, "nodes": _renamed(value["nodes"], left)}
    if isinstance(value, str) and key.endswith("selector"):
        head, dot, rest = value.partition(".")
        return f"{names.get(head, head)}{dot}{rest}"
    if isinstance(value, list) and _selects(key):
        return _head_renamed(value, names)
    return _renamed(value, names)


def _selects(key: str) -> bool:
    return key.endswith(("selector", "selectors")) or key == "variables"


def _head_renamed(value: list[Json], names: Names) -> list[Json]:
    """Of a selector, or of each of several."""
    if value and all(isinstance(part, str) for part in value):
        return [names.get(value[0], value[0]), *value[1:]]
    return [
        _head_renamed(part, names) if isinstance(part, list) else _renamed(part, names)
        for part in value
    ]


def _spelled(key: str, value: Json) -> Json:
    """Selectors as lists: ``a.b`` is one too, and ``item`` belongs to the round."""
    if isinstance(value, str) and key.endswith("selector") and value:
        return value.split(".") if "." in value else [SCOPE, value]
    if isinstance(value, Mapping):
        return {name: _spelled(name, part) for name, part in value.items()}
    if isinstance(value, list):
        return [_spelled("", part) for part in value]
    return value


def _graph(node: Json) -> Mapping[str, Json] | None:
    """The body of a container. One that isn't shaped like a graph stays where it is."""
    data = node.get("data") if _id(node) else None
    if not isinstance(data, Mapping) or data.get("type") not in CONTAINERS:
        return None
    graph = data.get(MARK)
    if not isinstance(graph, Mapping) or not isinstance(graph.get("nodes"), list):
        return None
    edges = graph.get("edges") or []
    whole = isinstance(edges, list) and all(isinstance(edge, Mapping) for edge in edges)
    return graph if whole and all(map(_id, graph["nodes"])) else None


def _kind(child: Mapping[str, Json]) -> str:
    """Of a node as bodies have them: the kind stands beside the data, or in it."""
    data = child.get("data")
    kind = child.get("type") or (data.get("type") if isinstance(data, Mapping) else None)
    return kind if isinstance(kind, str) else ""


def _id(tree: Json, key: str = "id") -> str:
    return (identifier(tree.get(key)) or "") if isinstance(tree, Mapping) else ""


def _free(name: str, container: str, taken: set[str]) -> str:
    if name not in taken:
        return name
    # What stands in templates must fit between their braces.
    made = _UNFIT.sub("_", f"{container}_{name}")[-50:]
    number = 2
    while made in taken:
        made, number = f"{made[:45]}_{number}", number + 1
    return made


def _depth(name: str, inside: Mapping[str, str]) -> int:
    depth = 0
    around = {name}
    while (outer := inside.get(name)) is not None and outer not in around:
        around.add(outer)
        name, depth = outer, depth + 1
    return depth
