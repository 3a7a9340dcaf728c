"""Writes workflow documents in Dify's format."""

from collections.abc import Iterator, Mapping

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
from workflows.engine.language.dsl.credential_removal import remove_credentials
from workflows.engine.language.dsl.dify_agents import update_agent_parameters
from workflows.engine.language.dsl.emit import (
    build_ends,
    build_node_data,
    build_size,
    get_canvas_type,
)
from workflows.engine.language.dsl.reading import (
    ABSOLUTE,
    compute_absolute_position,
    drop_keys,
)
from workflows.engine.language.dsl.sub_graphs import is_foldable
from workflows.engine.language.problems import Problem, build_warning
from workflows.engine.language.values import ValueType, build_zero_value, parse_type


def write_dify(document: Document, *, include_secrets: bool) -> dict[str, Json]:
    """Return the tree, in the order in which Dify exports it."""
    extra = _build_extra(document)
    app = {"name": document.name, "mode": document.mode.value, "description": document.description}
    workflow_extra = dict(extra.pop("workflow", {}))
    workflow = {
        "graph": _build_graph(document, dict(workflow_extra.pop("graph", {})), include_secrets),
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
        "app": {**app, **extra.pop("app", {})},
        "dependencies": extra.pop("dependencies", []),
        "workflow": workflow,
        **extra,
    }


def find_unsupported_by_dify(document: Document) -> Iterator[Problem]:
    """Yield warnings about parts that Dify ignores. The parts are written all the same, so that they can be read back."""
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
    """Return the unread keys of a Dify document as they were, and those of an xworkflow document under ``xworkflow``."""
    if document.dialect is Dialect.DIFY:
        return dict(document.extra)
    extra = dict(document.extra)
    meta = dict(extra.pop("meta", {}))
    dify_extra = dict(meta.pop("dify", {}))
    xworkflow_extra = {**extra, **({"meta": meta} if meta else {})}
    return {**dify_extra, "xworkflow": xworkflow_extra} if xworkflow_extra else dify_extra


def _get_version(document: Document) -> str:
    # Keep the number of a newer version, because its fields may have another meaning there.
    return (document.dialect is Dialect.DIFY and document.version) or versions.DIFY


def _build_graph(
    document: Document, extra: dict[str, Json], include_secrets: bool
) -> dict[str, Json]:
    containers = {node.id: node for node in document.nodes}
    nodes = [_build_node(node, containers, include_secrets) for node in document.nodes]
    notes = [_build_part(note, "custom-note", note.data, containers) for note in document.notes]
    unread = extra.pop("edges", [])
    edges = [*map(_build_edge, document.edges), *(unread if isinstance(unread, list) else ())]
    return {"nodes": [*nodes, *notes], "edges": edges, **extra}


def _build_node(
    node: NodeSpec, containers: Mapping[str, NodeSpec], include_secrets: bool
) -> dict[str, Json]:
    data = build_node_data(node)
    data = update_agent_parameters(data) if node.kind == "agent" else data
    data = data if include_secrets else remove_credentials(node.kind, data)
    return _build_part(node, get_canvas_type(node.kind), data, containers)


def _build_part(
    part: NodeSpec | Note,
    canvas_type: str,
    data: Mapping[str, Json],
    containers: Mapping[str, NodeSpec],
) -> dict[str, Json]:
    tree: dict[str, Json] = {
        "id": part.id,
        "type": canvas_type,
        "position": _build_position(part.position),
        "data": dict(data),
    }
    if part.parent is not None:
        tree["parentId"] = part.parent
    # Dify's copy of the position is outdated when the node was moved.
    copied = {ABSOLUTE: compute_absolute_position(part, containers)}
    return {**tree, **build_size(part), **part.extra, **(copied if ABSOLUTE in part.extra else {})}


def _build_edge(edge: EdgeSpec) -> dict[str, Json]:
    extra = dict(edge.extra)
    source_handle = extra.pop("sourceHandle", edge.handle)
    return {
        "id": edge.id,
        "type": "custom",
        **build_ends(edge),
        # Another spelling of "source" is kept until the edge is moved to another handle.
        "sourceHandle": source_handle if edge.handle == "source" else edge.handle,
        "targetHandle": edge.target_handle,
        **extra,
    }


def _get_value(variable: VariableSpec) -> Json:
    """Return the variable's value, or the zero value of its type: Dify rejects variables without one."""
    if variable.value is not None:
        return variable.value
    return build_zero_value(parse_type(variable.value_type) or ValueType.STRING)


def _build_variable(variable: VariableSpec, scope: str, include_secrets: bool) -> dict[str, Json]:
    tree: dict[str, Json] = {
        "id": variable.id,
        "name": variable.name,
        "value_type": variable.value_type,
        "value": _get_value(variable) if include_secrets or not variable.is_secret else "",
        "description": variable.description,
        "selector": [scope, variable.name],
    }
    if not variable.id:
        del tree["id"]
    return {**tree, **drop_keys(variable.extra, "selector")}


def _build_position(position: Position) -> dict[str, Json]:
    return {"x": position.x, "y": position.y}
