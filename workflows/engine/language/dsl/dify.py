"""Reads workflow documents in Dify's format."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Final, TypeVar

from workflows.engine.language.document import (
    Dialect,
    Document,
    EdgeSpec,
    Json,
    Mode,
    NodeSpec,
    Note,
    Position,
    VariableSpec,
)
from workflows.engine.language.dsl.dify_model_apps import draw_graph, has_no_graph
from workflows.engine.language.dsl.emit import get_canvas_type
from workflows.engine.language.dsl.foreign_formats import move_graph
from workflows.engine.language.dsl.limits import check_nesting
from workflows.engine.language.dsl.loose_values import list_number_ids, read_loosely
from workflows.engine.language.dsl.reading import (
    ABSOLUTE,
    Loaded,
    Reader,
    attach_notes,
    check_foreign_sections,
    collect_unread_ends,
    compute_absolute_position,
    drop_keys,
    get_text,
    read_coordinate,
    read_ends,
    read_identifier,
    read_position,
)
from workflows.engine.language.dsl.versions import check_dify_version


KNOWN_SECTIONS: Final = frozenset(
    {"version", "kind", "app", "dependencies", "workflow", "model_config", "xworkflow"}
)
# The mappings in the keys of an xworkflow document that our writer put under ``xworkflow``.
XWORKFLOW_SECTIONS: Final = (("meta",),)
NOTE_TYPE: Final = "custom-note"
VARIABLE_SCOPES: Final[Mapping[str, str]] = {
    "environment_variables": "env",
    "conversation_variables": "conversation",
}
_Part = TypeVar("_Part", NodeSpec, Note)


def read_dify(tree: Mapping[str, Json], *, confirm_newer: bool = False) -> Loaded:
    """Parse a Dify document.

    Unknown or malformed parts are kept in ``extra``, so that writing the document gives them back. Raises
    DocumentInvalid with all errors at once.
    """
    reader = Reader()
    version, pending = check_dify_version(tree.get("version"), reader, confirmed=confirm_newer)
    if has_no_graph(tree):
        tree = draw_graph(tree, reader)
    tree = move_graph(tree, reader)
    app = reader.get_mapping(tree, "app")
    mode = _read_mode(tree, app, reader)
    workflow = reader.get_mapping(tree, "workflow")
    graph = reader.get_mapping(workflow, "graph", prefix="workflow.")
    check_foreign_sections(tree, "xworkflow", XWORKFLOW_SECTIONS, reader)
    reader.raise_errors()
    _warn_about_unknown_keys(tree, reader)
    nodes = reader.get_list(graph, "nodes", prefix="workflow.graph.")
    edges = reader.get_list(graph, "edges", prefix="workflow.graph.")
    reader.check_counts(nodes, edges)
    specs, notes = _read_nodes(nodes, reader)
    check_nesting(specs)
    containers = {node.id: node for node in specs}
    specs = tuple(_correct_copy(node, containers) for node in specs)
    notes = tuple(_correct_copy(note, containers) for note in notes)
    edge_specs, unreadable_edges = _read_edges(edges, reader)
    graph_extra = drop_keys(graph, "nodes", "edges")
    if unreadable_edges:
        graph_extra["edges"] = unreadable_edges
    document = Document(
        mode=mode,
        nodes=specs,
        edges=edge_specs,
        name=get_text(app.get("name")),
        description=get_text(app.get("description")),
        environment=_read_variables(workflow, "environment_variables", reader),
        conversation=_read_variables(workflow, "conversation_variables", reader),
        notes=notes,
        features=reader.get_mapping(workflow, "features", prefix="workflow."),
        dialect=Dialect.DIFY,
        version=version,
        extra=_collect_document_extra(tree, app, workflow, graph_extra),
    )
    reader.raise_errors()
    return Loaded(document, tuple(reader.problems), pending)


def _read_mode(tree: Mapping[str, Json], app: Mapping[str, Json], reader: Reader) -> Mode:
    if "app" not in tree:
        reader.add_error("app.missing", "The document has no app section", field="app")
        return Mode.WORKFLOW
    mode = app.get("mode")
    try:
        parsed_mode = Mode(get_text(mode))
    except ValueError:
        message = f"The app's mode must be workflow or advanced-chat, not {mode!r}"
        reader.add_error("app.mode", message, field="app.mode")
        return Mode.WORKFLOW
    if not isinstance(tree.get("workflow"), Mapping):
        reader.add_error(
            "workflow.missing", "The document has no workflow section", field="workflow"
        )
    return parsed_mode


def _warn_about_unknown_keys(tree: Mapping[str, Json], reader: Reader) -> None:
    if get_text(tree.get("kind"), "app") != "app":
        reader.add_warning("document.kind", f"Kind {tree['kind']!r} is read as app", field="kind")
    for key in sorted(tree.keys() - KNOWN_SECTIONS):
        reader.add_warning("document.unknown_key", f"{key} is unknown; it is kept", field=key)


def _read_nodes(nodes: list[Json], reader: Reader) -> tuple[tuple[NodeSpec, ...], tuple[Note, ...]]:
    specs: list[NodeSpec] = []
    notes: list[Note] = []
    number_ids = list_number_ids(nodes)
    for node in reader.iter_nodes(nodes, "workflow.graph.nodes"):
        if node.get("type") == NOTE_TYPE:
            notes.append(_read_note(node))
        else:
            specs.append(_read_node(node, number_ids, reader))
    return tuple(specs), attach_notes(notes, specs)


def _read_node(node: Mapping[str, Json], number_ids: Collection[str], reader: Reader) -> NodeSpec:
    kind = reader.read_kind(node, outside=True)
    data = read_loosely(node["data"], number_ids)
    if not data.get("type"):
        data["type"] = kind
    return NodeSpec(
        id=read_identifier(node["id"]) or "",
        kind=kind,
        data=data,
        title=get_text(data.get("title")),
        parent=_read_parent(node, data),
        position=read_position(node.get("position")) or Position(),
        width=read_coordinate(node.get("width")),
        height=read_coordinate(node.get("height")),
        extra=_drop_default(_collect_extra(node), "type", get_canvas_type(kind)),
    )


def _read_note(node: Mapping[str, Json]) -> Note:
    return Note(
        id=read_identifier(node["id"]) or "",
        data=node["data"],
        parent=read_identifier(node.get("parentId")),
        position=read_position(node.get("position")) or Position(),
        width=read_coordinate(node.get("width")),
        height=read_coordinate(node.get("height")),
        extra=_drop_default(_collect_extra(node), "type", NOTE_TYPE),
    )


def _correct_copy(part: _Part, containers: Mapping[str, NodeSpec]) -> _Part:
    """Return the node or note with the right copy of its position, which documents written by hand have wrong."""
    if ABSOLUTE not in part.extra:
        return part
    position = compute_absolute_position(part, containers)
    if part.extra[ABSOLUTE] == position:
        return part
    return replace(part, extra={**part.extra, ABSOLUTE: position})


def _read_parent(node: Mapping[str, Json], data: Mapping[str, Json]) -> str | None:
    for parent in (node.get("parentId"), data.get("iteration_id"), data.get("loop_id")):
        if parent_id := read_identifier(parent):
            return parent_id
    return None


def _collect_extra(node: Mapping[str, Json]) -> dict[str, Json]:
    extra = drop_keys(node, "id", "data", "parentId", "position", "width", "height")
    # Values of an unexpected type are kept, so that the writer gives them back.
    if "position" in node and read_position(node["position"]) is None:
        extra["position"] = node["position"]
    for dimension in ("width", "height"):
        if dimension in node and read_coordinate(node[dimension]) is None:
            extra[dimension] = node[dimension]
    return extra


def _read_edges(edges: list[Json], reader: Reader) -> tuple[tuple[EdgeSpec, ...], list[Json]]:
    specs: list[EdgeSpec] = []
    unreadable: list[Json] = []
    for index, edge in enumerate(edges):
        if isinstance(edge, Mapping):
            specs.append(_read_edge(edge))
        else:
            path = f"workflow.graph.edges.{index}"
            message = "An edge without a source or target is not shown"
            reader.add_warning("edge.ends", message, field=path)
            unreadable.append(edge)
    return tuple(specs), unreadable


def _read_edge(edge: Mapping[str, Json]) -> EdgeSpec:
    source, target = read_ends(edge)
    source_handle = edge.get("sourceHandle")
    # Old Dify exports name the success handle of a node with a fail branch "success-branch".
    is_success = source_handle == "success-branch"
    handle = (not is_success and read_identifier(source_handle)) or "source"
    extra = drop_keys(edge, "id", "source", "target", "sourceHandle", "targetHandle")
    if "sourceHandle" in edge and read_identifier(source_handle) != handle:
        extra["sourceHandle"] = source_handle
    extra |= collect_unread_ends(edge)
    return EdgeSpec(
        id=read_identifier(edge.get("id")) or f"{source}-{handle}-{target}",
        source=source,
        target=target,
        handle=handle,
        target_handle=get_text(edge.get("targetHandle"), "target"),
        extra=_drop_default(extra, "type", "custom"),
    )


def _read_variables(
    workflow: Mapping[str, Json], key: str, reader: Reader
) -> tuple[VariableSpec, ...]:
    specs: list[VariableSpec] = []
    for index, variable in enumerate(reader.get_list(workflow, key, prefix="workflow.")):
        path = f"workflow.{key}.{index}"
        if not isinstance(variable, Mapping):
            reader.add_error("variable.invalid", "A variable must be a mapping", field=path)
            continue
        required = ("name", "value_type", "value")
        missing = [part for part in required if variable.get(part) is None]
        if missing == ["value"] and key == "environment_variables":
            missing = []
        for part in missing:
            message = f"A variable has no {part}"
            reader.add_error("variable.incomplete", message, field=f"{path}.{part}")
        if not missing:
            specs.append(_read_variable(variable, VARIABLE_SCOPES[key]))
    return tuple(specs)


def _read_variable(variable: Mapping[str, Json], scope: str) -> VariableSpec:
    extra = drop_keys(variable, "id", "name", "value_type", "value", "description")
    if "description" in variable and not isinstance(variable["description"], str):
        extra["description"] = variable["description"]
    return VariableSpec(
        name=str(variable["name"]),
        value_type=str(variable["value_type"]),
        value=variable.get("value", ""),
        id=read_identifier(variable.get("id")) or "",
        description=get_text(variable.get("description")),
        extra=_drop_default(extra, "selector", [scope, variable["name"]]),
    )


def _collect_document_extra(
    tree: Mapping[str, Json],
    app: Mapping[str, Json],
    workflow: Mapping[str, Json],
    graph: Mapping[str, Json],
) -> dict[str, Json]:
    """Return the keys that were not parsed, nested as in the document."""
    app_extra = drop_keys(app, "name", "mode", "description")
    app_extra |= {
        key: app[key] for key in ("name", "description") if not isinstance(app.get(key, ""), str)
    }
    workflow_extra = drop_keys(
        workflow, "graph", "features", "environment_variables", "conversation_variables"
    )
    if graph:
        workflow_extra["graph"] = dict(graph)
    extra = _drop_default(drop_keys(tree, "version", "app", "workflow"), "kind", "app")
    extra = _drop_default(extra, "dependencies", [])
    if app_extra:
        extra["app"] = app_extra
    if workflow_extra:
        extra["workflow"] = workflow_extra
    return extra


def _drop_default(extra: dict[str, Json], key: str, default: Json) -> dict[str, Json]:
    """Drop a key whose value is the default that the writer adds automatically."""
    return drop_keys(extra, key) if extra.get(key) == default else extra
