"""Reads xworkflow's flat documents.

They have no mode, positions or names. What our own writer adds for those stands under ``meta``,
which xworkflow passes over.
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
    check_counts,
    identifier,
    is_number,
    kept_in,
    list_at,
    mapping_at,
    position,
    text_or,
    without,
)
from workflows.engine.language.dsl.sub_graphs import unfolded
from workflows.engine.language.dsl.versions import check_xworkflow_version
from workflows.engine.language.dsl.xworkflow_data import inward
from workflows.engine.language.values import infer


KNOWN_PARTS: Final = frozenset(
    {
        *("version", "nodes", "edges", "environment_variables", "conversation_variables"),
        *("error_handler", "mcp_servers", "meta"),
    }
)


def read_xworkflow(tree: Mapping[str, Json]) -> Loaded:
    findings = Findings()
    version = check_xworkflow_version(tree.get("version"), findings)
    nodes, edges = list_at(tree, "nodes", findings), list_at(tree, "edges", findings)
    check_counts(nodes, edges, findings)
    nodes, edges = unfolded(nodes, edges)
    check_counts(nodes, edges, findings)
    for key in sorted(tree.keys() - KNOWN_PARTS):
        findings.warn("document.unknown_key", f"{key} is unknown; it is kept", field=key)
    meta = mapping_at(tree, "meta", findings)
    specs = _nodes(nodes, findings)
    document = Document(
        mode=_mode(meta, specs),
        nodes=specs,
        edges=_edges(edges, findings),
        name=text_or(meta.get("name")),
        description=text_or(meta.get("description")),
        environment=_environment(tree, findings),
        conversation=_conversation(tree, findings),
        notes=kept_in([_note(note) for note in meta.get("notes") or ()], specs),
        features=meta.get("features") or {},
        dialect=Dialect.XWORKFLOW,
        version=version,
        extra=_extra(tree, meta),
    )
    findings.raise_errors()
    return Loaded(document, tuple(findings.problems))


def _mode(meta: Mapping[str, Json], nodes: tuple[NodeSpec, ...]) -> Mode:
    # Only a chat has answers, and every workflow written before there were modes has none.
    if meta.get("mode") in list(Mode):
        return Mode(meta["mode"])
    return Mode.CHAT if any(node.kind == "answer" for node in nodes) else Mode.WORKFLOW


def _nodes(nodes: list[Json], findings: Findings) -> tuple[NodeSpec, ...]:
    specs: list[NodeSpec] = []
    for index, node in enumerate(nodes):
        where = f"nodes.{index}"
        if not isinstance(node, Mapping) or identifier(node.get("id")) is None:
            findings.error("node.id_missing", "A node has no ID", field=where)
        elif not isinstance(node.get("data"), Mapping):
            node_id = identifier(node["id"])
            findings.error("node.data_missing", "The node has no data", node=node_id, field="data")
        else:
            specs.append(_node(node, findings))
    return tuple(specs)


def _node(node: Mapping[str, Json], findings: Findings) -> NodeSpec:
    data = node["data"]
    node_id = identifier(node["id"]) or ""
    kind = data.get("type")
    if not isinstance(kind, str) or not kind:
        findings.error("node.kind_missing", "The node has no type", node=node_id)
        kind = ""
    extra = without(node, "id", "data", "position", "parentId", "width", "height")
    if "position" in node and position(node["position"]) is None:
        extra["position"] = node["position"]
    return NodeSpec(
        id=node_id,
        kind=kind,
        data=inward(kind, data),
        title=text_or(data.get("title")),
        parent=identifier(node.get("parentId")),
        position=position(node.get("position")) or Position(),
        width=node["width"] if is_number(node.get("width")) else None,
        height=node["height"] if is_number(node.get("height")) else None,
        extra=extra,
    )


def _edges(edges: list[Json], findings: Findings) -> tuple[EdgeSpec, ...]:
    specs: list[EdgeSpec] = []
    for index, edge in enumerate(edges):
        ends = (
            [identifier(edge.get(end)) for end in ("source", "target")]
            if isinstance(edge, Mapping)
            else []
        )
        if len(ends) == 2 and ends[0] and ends[1]:
            specs.append(_edge(edge, ends[0], ends[1]))
        else:
            findings.error(
                "edge.ends", "An edge needs a source and a target", field=f"edges.{index}"
            )
    return tuple(specs)


def _edge(edge: Mapping[str, Json], source: str, target: str) -> EdgeSpec:
    written = edge.get("source_handle", edge.get("sourceHandle"))
    handle = identifier(written) or "source"
    return EdgeSpec(
        id=identifier(edge.get("id")) or f"{source}-{handle}-{target}",
        source=source,
        target=target,
        handle=handle,
        target_handle=text_or(edge.get("targetHandle"), "target"),
        extra=without(
            edge, "id", "source", "target", "source_handle", "sourceHandle", "targetHandle"
        ),
    )


def _environment(tree: Mapping[str, Json], findings: Findings) -> tuple[VariableSpec, ...]:
    return tuple(
        _variable(variable, type_key="value_type", value_key="value")
        for variable in _named(tree, "environment_variables", findings)
    )


def _conversation(tree: Mapping[str, Json], findings: Findings) -> tuple[VariableSpec, ...]:
    return tuple(
        _variable(variable, type_key="type", value_key="default")
        for variable in _named(tree, "conversation_variables", findings)
    )


def _named(tree: Mapping[str, Json], key: str, findings: Findings) -> list[Mapping[str, Json]]:
    named = []
    for index, variable in enumerate(list_at(tree, key, findings)):
        if isinstance(variable, Mapping) and isinstance(variable.get("name"), str):
            named.append(variable)
        else:
            findings.error("variable.incomplete", "A variable has no name", field=f"{key}.{index}")
    return named


def _variable(variable: Mapping[str, Json], *, type_key: str, value_key: str) -> VariableSpec:
    value = variable.get(value_key)
    guess = "string" if value is None else str(infer(value))
    return VariableSpec(
        name=variable["name"],
        value_type=text_or(variable.get(type_key), guess),
        value=value,
        id=identifier(variable.get("id")) or "",
        description=text_or(variable.get("description")),
        extra=without(variable, "name", "id", "description", type_key, value_key),
    )


def _note(note: Mapping[str, Json]) -> Note:
    return Note(
        id=identifier(note.get("id")) or "",
        data=note.get("data") or {},
        parent=identifier(note.get("parentId")),
        position=position(note.get("position")) or Position(),
        width=note.get("width"),
        height=note.get("height"),
        extra=without(note, "id", "data", "parentId", "position", "width", "height"),
    )


def _extra(tree: Mapping[str, Json], meta: Mapping[str, Json]) -> dict[str, Json]:
    extra = without(
        tree,
        *("version", "nodes", "edges", "environment_variables", "conversation_variables", "meta"),
    )
    left = without(meta, "name", "description", "mode", "features", "notes")
    return {**extra, **({"meta": left} if left else {})}
