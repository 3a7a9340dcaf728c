"""Reads xworkflow's flat documents.

They have no mode, positions or names. Our writer adds those under ``meta``, which xworkflow ignores.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Final

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
from workflows.engine.language.dsl.limits import check_nesting
from workflows.engine.language.dsl.loose_values import list_number_ids, read_loosely
from workflows.engine.language.dsl.reading import (
    Loaded,
    Reader,
    attach_notes,
    check_foreign_sections,
    collect_unread_ends,
    drop_keys,
    get_text,
    read_coordinate,
    read_ends,
    read_identifier,
    read_position,
)
from workflows.engine.language.dsl.sub_graphs import unfold
from workflows.engine.language.dsl.versions import check_xworkflow_version
from workflows.engine.language.dsl.xworkflow_data import translate_to_dify
from workflows.engine.language.values import infer_type


KNOWN_SECTIONS: Final = frozenset(
    {
        *("version", "nodes", "edges", "environment_variables", "conversation_variables"),
        *("error_handler", "mcp_servers", "meta"),
    }
)
# The mappings in the keys of a Dify document that our writer put under ``meta``.
DIFY_SECTIONS: Final = (("app",), ("workflow",), ("workflow", "graph"))
# Section → the keys of a variable's type and of its value.
VARIABLE_KEYS: Final[Mapping[str, tuple[str, str]]] = {
    "environment_variables": ("value_type", "value"),
    "conversation_variables": ("type", "default"),
}


def read_xworkflow(tree: Mapping[str, Json]) -> Loaded:
    """Parse an xworkflow document. Raises DocumentInvalid with all errors at once."""
    reader = Reader()
    version = check_xworkflow_version(tree.get("version"), reader)
    nodes, edges = reader.get_list(tree, "nodes"), reader.get_list(tree, "edges")
    reader.check_counts(nodes, edges)
    nodes, edges = unfold(nodes, edges)
    reader.check_counts(nodes, edges)
    for key in sorted(tree.keys() - KNOWN_SECTIONS):
        reader.add_warning("document.unknown_key", f"{key} is unknown; it is kept", field=key)
    meta = reader.get_mapping(tree, "meta")
    check_foreign_sections(meta, "dify", DIFY_SECTIONS, reader, prefix="meta.")
    number_ids = list_number_ids(nodes)
    specs = tuple(
        _read_node(node, number_ids, reader) for node in reader.iter_nodes(nodes, "nodes")
    )
    check_nesting(specs)
    document = Document(
        mode=_read_mode(meta, specs),
        nodes=specs,
        edges=_read_edges(edges, reader),
        name=get_text(meta.get("name")),
        description=get_text(meta.get("description")),
        environment=_read_variables(tree, "environment_variables", reader),
        conversation=_read_variables(tree, "conversation_variables", reader),
        notes=attach_notes([_read_note(note) for note in _iter_notes(meta, reader)], specs),
        features=reader.get_mapping(meta, "features", prefix="meta."),
        dialect=Dialect.XWORKFLOW,
        version=version,
        extra=_collect_extra(tree, meta),
    )
    reader.raise_errors()
    return Loaded(document, tuple(reader.problems))


def _read_mode(meta: Mapping[str, Json], nodes: tuple[NodeSpec, ...]) -> Mode:
    # Documents from before modes existed have none. Only chats have Answer nodes, so these nodes identify a chat.
    if meta.get("mode") in list(Mode):
        return Mode(meta["mode"])
    return Mode.CHAT if any(node.kind == "answer" for node in nodes) else Mode.WORKFLOW


def _read_node(node: Mapping[str, Json], number_ids: Collection[str], reader: Reader) -> NodeSpec:
    data, kind = read_loosely(node["data"], number_ids), reader.read_kind(node)
    extra = drop_keys(node, "id", "data", "position", "parentId", "width", "height")
    if "position" in node and read_position(node["position"]) is None:
        extra["position"] = node["position"]
    return NodeSpec(
        id=read_identifier(node["id"]) or "",
        kind=kind,
        data=translate_to_dify(kind, data),
        title=get_text(data.get("title")),
        parent=read_identifier(node.get("parentId")),
        position=read_position(node.get("position")) or Position(),
        width=read_coordinate(node.get("width")),
        height=read_coordinate(node.get("height")),
        extra=extra,
    )


def _read_edges(edges: list[Json], reader: Reader) -> tuple[EdgeSpec, ...]:
    specs: list[EdgeSpec] = []
    for index, edge in enumerate(edges):
        if isinstance(edge, Mapping):
            specs.append(_read_edge(edge))
        else:
            message = "An edge needs a source and a target"
            reader.add_error("edge.ends", message, field=f"edges.{index}")
    return tuple(specs)


def _read_edge(edge: Mapping[str, Json]) -> EdgeSpec:
    source, target = read_ends(edge)
    source_handle = edge.get("source_handle", edge.get("sourceHandle"))
    handle = read_identifier(source_handle) or "source"
    return EdgeSpec(
        id=read_identifier(edge.get("id")) or f"{source}-{handle}-{target}",
        source=source,
        target=target,
        handle=handle,
        target_handle=get_text(edge.get("targetHandle"), "target"),
        extra={
            **drop_keys(
                edge, "id", "source", "target", "source_handle", "sourceHandle", "targetHandle"
            ),
            **collect_unread_ends(edge),
        },
    )


def _read_variables(tree: Mapping[str, Json], key: str, reader: Reader) -> tuple[VariableSpec, ...]:
    specs: list[VariableSpec] = []
    for index, variable in enumerate(reader.get_list(tree, key)):
        if isinstance(variable, Mapping) and isinstance(variable.get("name"), str):
            specs.append(_read_variable(variable, *VARIABLE_KEYS[key]))
        else:
            path = f"{key}.{index}"
            reader.add_error("variable.incomplete", "A variable has no name", field=path)
    return tuple(specs)


def _read_variable(variable: Mapping[str, Json], type_key: str, value_key: str) -> VariableSpec:
    value = variable.get(value_key)
    guess = "string" if value is None else str(infer_type(value))
    return VariableSpec(
        name=variable["name"],
        value_type=get_text(variable.get(type_key), guess),
        value=value,
        id=read_identifier(variable.get("id")) or "",
        description=get_text(variable.get("description")),
        extra=drop_keys(variable, "name", "id", "description", type_key, value_key),
    )


def _iter_notes(meta: Mapping[str, Json], reader: Reader) -> Iterator[Mapping[str, Json]]:
    for index, note in enumerate(reader.get_list(meta, "notes", prefix="meta.")):
        if isinstance(note, Mapping) and isinstance(note.get("data") or {}, Mapping):
            yield note
        else:
            message = "A note must be a mapping with data"
            reader.add_error("note.invalid", message, field=f"meta.notes.{index}")


def _read_note(note: Mapping[str, Json]) -> Note:
    return Note(
        id=read_identifier(note.get("id")) or "",
        data=note.get("data") or {},
        parent=read_identifier(note.get("parentId")),
        position=read_position(note.get("position")) or Position(),
        width=read_coordinate(note.get("width")),
        height=read_coordinate(note.get("height")),
        extra=drop_keys(note, "id", "data", "parentId", "position", "width", "height"),
    )


def _collect_extra(tree: Mapping[str, Json], meta: Mapping[str, Json]) -> dict[str, Json]:
    extra = drop_keys(tree, "version", "nodes", "edges", *VARIABLE_KEYS, "meta")
    meta_extra = drop_keys(meta, "name", "description", "mode", "features", "notes")
    return {**extra, **({"meta": meta_extra} if meta_extra else {})}
