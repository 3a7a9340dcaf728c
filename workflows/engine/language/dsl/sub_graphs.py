"""Moves the bodies of xworkflow's containers to the top level of the document when it is read, and back when written.

Ids are unique only inside a body (each has a ``start``), so a duplicate id of a node or edge gets its container's id
as a prefix, and so do the references to it in the body. The original id and type of a node stay under ``sub_graph``
in its ``extra``, until they are written back.
"""

import re
from collections.abc import Mapping
from typing import Final

from workflows.engine.language.containers import (
    BODY_OPERATIONS,
    CONTAINERS,
    ENTRY_KINDS,
    LIST_OPERATOR,
    get_entry_kind,
    list_containers,
)
from workflows.engine.language.document import Json, NodeSpec
from workflows.engine.language.dsl.reading import drop_keys, read_identifier


Tree = dict[str, Json]
Names = Mapping[str, str]  # old id → new id

MARK: Final = "sub_graph"
SCOPE: Final = "__scope__"
# A short name that xworkflow uses inside bodies → the kind.
_ALIASES: Final[Mapping[str, str]] = {"template": "template-transform"}
_REFERENCE: Final = re.compile(r"\{\{#([a-zA-Z0-9_]{1,50})(?=\.)")
_INVALID_IN_REFERENCE: Final = re.compile(r"[^a-zA-Z0-9_]")


def unfold(nodes: list[Json], edges: list[Json]) -> tuple[list[Json], list[Json]]:
    """Return all nodes and edges including those of bodies, each node of a body with its ``parentId``."""
    reader = _Unfolder(nodes, edges)
    for node in nodes:
        reader.add(node)
    return reader.nodes, [*edges, *reader.edges]


def fold(
    nodes: list[Tree], edges: list[Tree], bodies: Mapping[str, list[str]]
) -> tuple[list[Tree], list[Tree]]:
    """Put nodes and edges back into bodies. ``bodies`` maps the containers to the nodes inside them."""
    by_id = {node["id"]: node for node in nodes}
    containers = {child: name for name, children in bodies.items() for child in children}
    inner_edges: dict[str, list[Tree]] = {container: [] for container in bodies}
    outer_edges: list[Tree] = []
    for edge in edges:
        container = _find_container(edge, containers)
        if container is not None:
            inner_edges[container].append(edge)
        else:
            outer_edges.append(edge)
    # Innermost containers first: a container is folded before it becomes part of another body.
    for container in sorted(bodies, key=lambda name: -len(list_containers(name, containers))):
        if container in by_id:
            children = [by_id[child] for child in bodies[container] if child in by_id]
            _fold_container(by_id[container], children, inner_edges[container])
    return [node for node in nodes if node["id"] not in containers], outer_edges


def _find_container(edge: Tree, containers: Names) -> str | None:
    """Return the container of both ends of an edge, or of the one end that it still has."""
    ends = (_get_id(edge, "source"), _get_id(edge, "target"))
    around = {containers.get(end) for end in ends if end}
    return around.pop() if len(around) == 1 else None


def is_foldable(container: NodeSpec) -> bool:
    """Return whether xworkflow can express the result of the container, so that its body can be written inside it."""
    if container.kind == "loop":
        return "condition" in container.data
    return container.kind == "iteration" and not container.data.get("output_selector")


class _Unfolder:
    """Collects the nodes and edges of a document and of all bodies, under ids that are unique."""

    def __init__(self, nodes: list[Json], edges: list[Json]) -> None:
        self.nodes: list[Json] = []
        self.edges: list[Json] = []
        self._used_ids = {_get_id(node) for node in nodes}
        self._used_edge_ids = {_get_id(edge) for edge in edges}

    def add(self, node: Json) -> None:
        """Add a node, and after a container the nodes and edges of its body."""
        graph = _get_graph(node)
        if graph is None:
            self.nodes.append(node)
            return
        data = drop_keys(node["data"], MARK)
        data = {key: _normalize_selectors(key, part) for key, part in data.items()}
        data["type"] = _get_container_kind(data)
        container, kind = _get_id(node), data["type"]
        self.nodes.append({**node, "data": data})
        names = self._choose_names(container, graph["nodes"])
        # The start of a body has no outputs, so a reference to its name means the node outside.
        referenced_names = {
            name: names[name] for name in names if _has_outputs(name, graph["nodes"])
        }
        for child in graph["nodes"]:
            self.add(
                _build_child(child, container, kind, names.get(_get_id(child)), referenced_names)
            )
        self.edges += [
            self._build_edge(edge, container, names) for edge in graph.get("edges") or ()
        ]

    def _choose_names(self, container: str, children: list[Json]) -> dict[str, str]:
        """Return new names for the ids that are used already."""
        names: dict[str, str] = {}
        for child in children:
            old_id = _get_id(child)
            new_id = _choose_free_name(old_id, container, self._used_ids)
            self._used_ids.add(new_id)
            if new_id != old_id:
                names[old_id] = new_id
        return names

    def _build_edge(self, edge: Mapping[str, Json], container: str, names: Names) -> Tree:
        ends = {
            end: names.get(_get_id(edge, end), edge[end])
            for end in ("source", "target")
            if end in edge
        }
        old_id = _get_id(edge)
        if not old_id:
            return {**edge, **ends, MARK: {}}
        new_id = _choose_free_name(old_id, container, self._used_edge_ids)
        self._used_edge_ids.add(new_id)
        return {**edge, **ends, "id": new_id, MARK: {"id": old_id}}


def _has_outputs(name: str, nodes: list[Json]) -> bool:
    return any(_get_id(node) == name and _get_kind(node) != "start" for node in nodes)


def _build_child(
    child: Mapping[str, Json], container: str, kind: str, new_id: str | None, names: Names
) -> Tree:
    """Return a node of a body as a node of the document."""
    source_data = child.get("data")
    data = dict(source_data) if isinstance(source_data, Mapping) else {}
    outer_keys = [key for key in ("type", "title") if key in child and key not in data]
    duplicated = [key for key in ("type", "title") if key in child and key in data]
    source_kind = _get_kind(child)
    data = {**_rename_nodes(data, names), **{key: child[key] for key in (*outer_keys, *duplicated)}}
    data["type"] = (
        get_entry_kind(kind) if source_kind == "start" else _ALIASES.get(source_kind, source_kind)
    )
    old_id = _get_id(child)
    mark: Tree = {"id": old_id, "type": source_kind, "outside": outer_keys, "beside": duplicated}
    other_keys = drop_keys(child, "id", "data", "type", "title")
    graph = data.get(MARK)
    if not isinstance(graph, Mapping):
        data = {key: _normalize_selectors(key, part) for key, part in data.items()}
    return {**other_keys, "id": new_id or old_id, "data": data, "parentId": container, MARK: mark}


def _fold_container(container: Tree, children: list[Tree], edges: list[Tree]) -> None:
    names: dict[str, str] = {}
    for child in children:
        old_id = child.get(MARK, {}).get("id")
        if old_id and old_id != child["id"]:
            names[child["id"]] = old_id
    graph: Tree = {
        "nodes": [_build_body_node(child, names) for child in children],
        "edges": [_build_body_edge(edge, names) for edge in edges],
    }
    data = drop_keys(container["data"], "start_node_id")
    if data["type"] == "iteration" and _has_body_operation(data):
        data["type"] = LIST_OPERATOR
    container["data"] = {**data, MARK: graph}


def _build_body_node(child: Tree, names: Names) -> Tree:
    mark = child.get(MARK) or {}
    data = _rename_nodes(dict(child["data"]), names)
    kind = data["type"]
    source_kind = mark.get("type")
    is_same_kind = source_kind and _ALIASES.get(source_kind, source_kind) == kind
    inner_kind = source_kind if is_same_kind else kind
    data["type"] = "start" if kind in ENTRY_KINDS else inner_kind
    outer_keys = mark.get("outside", ["type"])
    node = {"id": names.get(child["id"], child["id"])}
    node |= {key: data[key] for key in (*outer_keys, *mark.get("beside", ())) if key in data}
    return {
        **node,
        **drop_keys(child, "id", "data", "parentId", MARK),
        "data": drop_keys(data, *outer_keys),
    }


def _build_body_edge(edge: Tree, names: Names) -> Tree:
    body_edge = drop_keys(edge, "id", MARK) | {
        end: names.get(_get_id(edge, end), edge[end]) for end in ("source", "target") if end in edge
    }
    mark = edge.get(MARK)
    old_id = edge["id"] if mark is None else mark.get("id")
    return {"id": old_id, **body_edge} if old_id else body_edge


def _rename_nodes(value: Json, names: Names) -> Json:
    """Rename nodes in references, except inside a nested body that has a node of the same name."""
    if not names:
        return value
    if isinstance(value, Mapping):
        return {key: _rename_part(key, part, names) for key, part in value.items()}
    if isinstance(value, list):
        return [_rename_nodes(part, names) for part in value]
    if isinstance(value, str) and "{{#" in value:
        return _REFERENCE.sub(lambda match: "{{#" + names.get(match[1], match[1]), value)
    return value


def _rename_part(key: str, value: Json, names: Names) -> Json:
    if key == MARK and isinstance(value, Mapping) and isinstance(value.get("nodes"), list):
        inner_ids = {_get_id(node) for node in value["nodes"] if _get_kind(node) != "start"}
        outer_names = {old: new for old, new in names.items() if old not in inner_ids}
        return {**value, "nodes": _rename_nodes(value["nodes"], outer_names)}
    if isinstance(value, str) and key.endswith("selector"):
        node_id, dot, path = value.partition(".")
        return f"{names.get(node_id, node_id)}{dot}{path}"
    if isinstance(value, list) and _is_selector_key(key):
        return _rename_selectors(value, names)
    return _rename_nodes(value, names)


def _is_selector_key(key: str) -> bool:
    return key.endswith(("selector", "selectors")) or key == "variables"


def _rename_selectors(value: list[Json], names: Names) -> list[Json]:
    """Rename the node of a selector, or of each selector in a list."""
    if value and all(isinstance(part, str) for part in value):
        return [names.get(value[0], value[0]), *value[1:]]
    return [
        _rename_selectors(part, names) if isinstance(part, list) else _rename_nodes(part, names)
        for part in value
    ]


def _normalize_selectors(key: str, value: Json) -> Json:
    """Convert selectors from text to lists: "a.b" to ["a", "b"], and "item" to a variable of the current iteration."""
    if isinstance(value, str) and key.endswith("selector") and value:
        return value.split(".") if "." in value else [SCOPE, value]
    if isinstance(value, Mapping):
        return {name: _normalize_selectors(name, part) for name, part in value.items()}
    if isinstance(value, list):
        return [_normalize_selectors("", part) for part in value]
    return value


def _get_graph(node: Json) -> Mapping[str, Json] | None:
    """Return the body of a container, or None if it isn't shaped like a graph."""
    data = node.get("data") if _get_id(node) else None
    if not isinstance(data, Mapping) or _get_container_kind(data) not in CONTAINERS:
        return None
    graph = data.get(MARK)
    if not isinstance(graph, Mapping) or not isinstance(graph.get("nodes"), list):
        return None
    edges = graph.get("edges") or []
    has_valid_edges = isinstance(edges, list) and all(isinstance(edge, Mapping) for edge in edges)
    return graph if has_valid_edges and all(map(_get_id, graph["nodes"])) else None


def _get_container_kind(data: Mapping[str, Json]) -> Json:
    """Return the kind of a node with a body: of a list operator whose operation runs one, iteration."""
    kind = data.get("type")
    return "iteration" if kind == LIST_OPERATOR and _has_body_operation(data) else kind


def _has_body_operation(data: Mapping[str, Json]) -> bool:
    operation = data.get("operation")
    return isinstance(operation, str) and operation in BODY_OPERATIONS


def _get_kind(child: Mapping[str, Json]) -> str:
    """Return the kind of a node in a body, which is next to its data or inside it."""
    data = child.get("data")
    kind = child.get("type") or (data.get("type") if isinstance(data, Mapping) else None)
    return kind if isinstance(kind, str) else ""


def _get_id(tree: Json, key: str = "id") -> str:
    return (read_identifier(tree.get(key)) or "") if isinstance(tree, Mapping) else ""


def _choose_free_name(name: str, container: str, used: set[str]) -> str:
    if name not in used:
        return name
    # Ids in templates must fit between the braces of a reference.
    candidate = _INVALID_IN_REFERENCE.sub("_", f"{container}_{name}")[-50:]
    number = 2
    while candidate in used:
        candidate, number = f"{candidate[:45]}_{number}", number + 1
    return candidate
