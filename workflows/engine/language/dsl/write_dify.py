"""Writes workflow documents in Dify's format."""

from collections.abc import Iterator, Mapping
from typing import Final

from workflows.engine.language.document import (
    Dialect,
    Document,
    EdgeSpec,
    Json,
    NodeSpec,
    Note,
    Position,
    VariableSpec,
)
from workflows.engine.language.dsl import versions
from workflows.engine.language.dsl.credential_removal import clean_node
from workflows.engine.language.dsl.loaded import drop_keys
from workflows.engine.language.dsl.sub_graphs import is_foldable
from workflows.engine.language.dsl.tree import (
    build_node_data,
    build_size,
    get_canvas_type,
    merge_extra,
)
from workflows.engine.language.problems import Problem, build_warning
from workflows.engine.language.values import ValueType, build_zero_value, parse_type


ABSOLUTE: Final = "positionAbsolute"


def write_dify(document: Document, *, include_secrets: bool) -> dict[str, Json]:
    """Return the tree, in the order in which Dify exports it."""
    extra = _build_extra(document)
    app = {"name": document.name, "mode": document.mode.value, "description": document.description}
    workflow_extra = dict(extra.pop("workflow", {}))
    graph_extra = dict(workflow_extra.pop("graph", {}))
    positions = _compute_positions(document)
    nodes = [_build_node(node, positions[node.id], include_secrets) for node in document.nodes]
    edges = [_build_edge(edge) for edge in document.edges]
    graph = {
        "nodes": [
            *nodes,
            *(_build_part(n, "custom-note", n.data, positions[n.id]) for n in document.notes),
        ],
        "edges": [*edges, *graph_extra.pop("edges", [])],
        **graph_extra,
    }
    workflow = {
        "graph": graph,
        "features": dict(document.features),
        "environment_variables": [
            _build_variable(variable, "env", include_secrets) for variable in document.environment
        ],
        "conversation_variables": [
            _build_variable(variable, "conversation", include_secrets)
            for variable in document.conversation
        ],
        **workflow_extra,
    }
    return {
        "version": _get_version(document),
        "kind": extra.pop("kind", "app"),
        "app": merge_extra(app, extra.pop("app", {})),
        "dependencies": extra.pop("dependencies", []),
        "workflow": workflow,
        **extra,
    }


def find_unsupported_by_dify(document: Document) -> Iterator[Problem]:
    """Yield warnings about parts that Dify ignores. They are written nevertheless, for reading them back."""
    for node in document.nodes:
        if "enhanced_memory" in node.data:
            message = "Dify ignores enhanced_memory"
            yield build_warning("export.enhanced_memory", message, node=node.id)
    for node in document.nodes:
        if is_foldable(node):
            message = "Dify's containers don't end with End nodes"
            yield build_warning("export.container", message, node=node.id)
    if document.dialect is Dialect.XWORKFLOW and document.extra:
        parts = ", ".join(sorted(document.extra))
        yield build_warning("export.parts", f"Dify ignores the section xworkflow ({parts})")


def _build_extra(document: Document) -> dict[str, Json]:
    """Return the unread parts of a Dify document at their original keys; those of another dialect go under its name."""
    if document.dialect is Dialect.DIFY:
        return dict(document.extra)
    extra = dict(document.extra)
    meta = dict(extra.pop("meta", {}))
    dify_extra = dict(meta.pop("dify", {}))
    other_extra = {**extra, **({"meta": meta} if meta else {})}
    return {**dify_extra, "xworkflow": other_extra} if other_extra else dify_extra


def _get_version(document: Document) -> str:
    # Keep the number of a newer version, because its fields may have another meaning there.
    return (document.dialect is Dialect.DIFY and document.version) or versions.DIFY


def _compute_positions(document: Document) -> dict[str, Position]:
    """Return the absolute positions on the canvas; in the document they are relative to the container."""
    nodes = {node.id: node for node in document.nodes}
    positions: dict[str, Position] = {}
    parts: tuple[NodeSpec | Note, ...] = (*document.nodes, *document.notes)
    for node in parts:
        x, y = node.position.x, node.position.y
        visited, outer = {node.id}, nodes.get(node.parent or "")
        while outer is not None and outer.id not in visited:
            x, y = x + outer.position.x, y + outer.position.y
            visited.add(outer.id)
            outer = nodes.get(outer.parent or "")
        positions[node.id] = Position(x, y)
    return positions


def _build_node(node: NodeSpec, absolute: Position, include_secrets: bool) -> dict[str, Json]:
    data = build_node_data(node)
    data = data if include_secrets else clean_node(node.kind, data)
    return _build_part(node, get_canvas_type(node.kind), data, absolute)


def _build_part(
    part: NodeSpec | Note, canvas_type: str, data: Mapping[str, Json], absolute: Position
) -> dict[str, Json]:
    tree: dict[str, Json] = {
        "id": part.id,
        "type": canvas_type,
        "position": _build_position(part.position),
        "data": dict(data),
    }
    if part.parent is not None:
        tree["parentId"] = part.parent
    return merge_extra({**tree, **build_size(part)}, _update_absolute(part.extra, absolute))


def _update_absolute(extra: Mapping[str, Json], absolute: Position) -> Mapping[str, Json]:
    """Update Dify's copy of the position, which is outdated when the node was moved."""
    if ABSOLUTE not in extra:
        return extra
    return {**extra, ABSOLUTE: _build_position(absolute)}


def _build_edge(edge: EdgeSpec) -> dict[str, Json]:
    extra = dict(edge.extra)
    source_handle = extra.pop("sourceHandle", edge.handle)
    return {
        "id": edge.id,
        "type": "custom",
        "source": edge.source,
        # Another spelling of "source" is kept until the edge is moved to another handle.
        "sourceHandle": source_handle if edge.handle == "source" else edge.handle,
        "target": edge.target,
        "targetHandle": edge.target_handle,
        **extra,
    }


def _get_value(variable: VariableSpec) -> Json:
    """Return the variable's value, or the zero value of its type: Dify rejects variables without one."""
    kind = parse_type(variable.value_type)
    return build_zero_value(kind or ValueType.STRING) if variable.value is None else variable.value


def _build_variable(variable: VariableSpec, head: str, include_secrets: bool) -> dict[str, Json]:
    tree: dict[str, Json] = {
        "id": variable.id,
        "name": variable.name,
        "value_type": variable.value_type,
        "value": _get_value(variable) if include_secrets or not variable.is_secret else "",
        "description": variable.description,
        "selector": [head, variable.name],
    }
    if not variable.id:
        del tree["id"]
    return merge_extra(tree, drop_keys(variable.extra, "selector"))


def _build_position(position: Position) -> dict[str, Json]:
    return {"x": position.x, "y": position.y}
