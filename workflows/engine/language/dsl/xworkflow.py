"""Reads xworkflow's flat documents.

They have no mode, positions or names. Our writer adds those under ``meta``, which xworkflow ignores.
"""

from collections.abc import Mapping
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
from workflows.engine.language.dsl.loaded import (
    Findings,
    Loaded,
    attach_notes,
    check_counts,
    drop_keys,
    get_list,
    get_mapping,
    get_text,
    iter_nodes,
    read_ends,
    read_identifier,
    read_kind,
    read_position,
)
from workflows.engine.language.dsl.sub_graphs import unfold
from workflows.engine.language.dsl.versions import check_xworkflow_version
from workflows.engine.language.dsl.xworkflow_data import translate_to_dify
from workflows.engine.language.values import infer_type, is_number


KNOWN_SECTIONS: Final = frozenset(
    {
        *("version", "nodes", "edges", "environment_variables", "conversation_variables"),
        *("error_handler", "mcp_servers", "meta"),
    }
)
# Section → the keys of a variable's type and of its value.
VARIABLE_KEYS: Final[Mapping[str, tuple[str, str]]] = {
    "environment_variables": ("value_type", "value"),
    "conversation_variables": ("type", "default"),
}


def read_xworkflow(tree: Mapping[str, Json]) -> Loaded:
    findings = Findings()
    version = check_xworkflow_version(tree.get("version"), findings)
    nodes, edges = get_list(tree, "nodes", findings), get_list(tree, "edges", findings)
    check_counts(nodes, edges, findings)
    nodes, edges = unfold(nodes, edges)
    check_counts(nodes, edges, findings)
    for key in sorted(tree.keys() - KNOWN_SECTIONS):
        findings.add_warning("document.unknown_key", f"{key} is unknown; it is kept", field=key)
    meta = get_mapping(tree, "meta", findings)
    specs = tuple(_read_node(node, findings) for node in iter_nodes(nodes, "nodes", findings))
    document = Document(
        mode=_read_mode(meta, specs),
        nodes=specs,
        edges=_read_edges(edges, findings),
        name=get_text(meta.get("name")),
        description=get_text(meta.get("description")),
        environment=_read_variables(tree, "environment_variables", findings),
        conversation=_read_variables(tree, "conversation_variables", findings),
        notes=attach_notes([_read_note(note) for note in meta.get("notes") or ()], specs),
        features=meta.get("features") or {},
        dialect=Dialect.XWORKFLOW,
        version=version,
        extra=_collect_extra(tree, meta),
    )
    findings.raise_errors()
    return Loaded(document, tuple(findings.problems))


def _read_mode(meta: Mapping[str, Json], nodes: tuple[NodeSpec, ...]) -> Mode:
    # Documents from before modes existed have none. Only chats have Answer nodes, so these nodes identify a chat.
    if meta.get("mode") in list(Mode):
        return Mode(meta["mode"])
    return Mode.CHAT if any(node.kind == "answer" for node in nodes) else Mode.WORKFLOW


def _read_node(node: Mapping[str, Json], findings: Findings) -> NodeSpec:
    data, kind = node["data"], read_kind(node, findings)
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
        width=node["width"] if is_number(node.get("width")) else None,
        height=node["height"] if is_number(node.get("height")) else None,
        extra=extra,
    )


def _read_edges(edges: list[Json], findings: Findings) -> tuple[EdgeSpec, ...]:
    specs: list[EdgeSpec] = []
    for index, edge in enumerate(edges):
        ends = read_ends(edge)
        if ends is not None:
            specs.append(_read_edge(edge, *ends))
        else:
            message = "An edge needs a source and a target"
            findings.add_error("edge.ends", message, field=f"edges.{index}")
    return tuple(specs)


def _read_edge(edge: Mapping[str, Json], source: str, target: str) -> EdgeSpec:
    source_handle = edge.get("source_handle", edge.get("sourceHandle"))
    handle = read_identifier(source_handle) or "source"
    return EdgeSpec(
        id=read_identifier(edge.get("id")) or f"{source}-{handle}-{target}",
        source=source,
        target=target,
        handle=handle,
        target_handle=get_text(edge.get("targetHandle"), "target"),
        extra=drop_keys(
            edge, "id", "source", "target", "source_handle", "sourceHandle", "targetHandle"
        ),
    )


def _read_variables(
    tree: Mapping[str, Json], key: str, findings: Findings
) -> tuple[VariableSpec, ...]:
    specs: list[VariableSpec] = []
    for index, variable in enumerate(get_list(tree, key, findings)):
        if isinstance(variable, Mapping) and isinstance(variable.get("name"), str):
            specs.append(_read_variable(variable, *VARIABLE_KEYS[key]))
        else:
            path = f"{key}.{index}"
            findings.add_error("variable.incomplete", "A variable has no name", field=path)
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


def _read_note(note: Mapping[str, Json]) -> Note:
    return Note(
        id=read_identifier(note.get("id")) or "",
        data=note.get("data") or {},
        parent=read_identifier(note.get("parentId")),
        position=read_position(note.get("position")) or Position(),
        width=note.get("width"),
        height=note.get("height"),
        extra=drop_keys(note, "id", "data", "parentId", "position", "width", "height"),
    )


def _collect_extra(tree: Mapping[str, Json], meta: Mapping[str, Json]) -> dict[str, Json]:
    extra = drop_keys(
        tree,
        *("version", "nodes", "edges", "environment_variables", "conversation_variables", "meta"),
    )
    meta_extra = drop_keys(meta, "name", "description", "mode", "features", "notes")
    return {**extra, **({"meta": meta_extra} if meta_extra else {})}
