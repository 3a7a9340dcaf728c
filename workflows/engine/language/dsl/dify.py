"""Reads documents as Dify writes them."""

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
from workflows.engine.language.dsl.tree import canvas_type
from workflows.engine.language.dsl.versions import check_dify_version


# Dify's other applications: they carry a model_config and no graph.
MODES_WITHOUT_GRAPH: Final = frozenset({"chat", "agent-chat", "completion"})
KNOWN_PARTS: Final = frozenset(
    {"version", "kind", "app", "dependencies", "workflow", "model_config", "xworkflow"}
)
NOTE: Final = "custom-note"
HEADS: Final[Mapping[str, str]] = {
    "environment_variables": "env",
    "conversation_variables": "conversation",
}


def read_dify(tree: Mapping[str, Json], *, confirm_newer: bool = False) -> Loaded:
    findings = Findings()
    version, pending = check_dify_version(tree.get("version"), findings, confirmed=confirm_newer)
    app = mapping_at(tree, "app", findings)
    mode = _mode(tree, app, findings)
    workflow = mapping_at(tree, "workflow", findings)
    graph = mapping_at(workflow, "graph", findings, where="workflow.")
    findings.raise_errors()
    _report_unknown(tree, findings)
    nodes = list_at(graph, "nodes", findings, where="workflow.graph.")
    edges = list_at(graph, "edges", findings, where="workflow.graph.")
    check_counts(nodes, edges, findings)
    specs, notes = _nodes(nodes, findings)
    edge_specs, odd_edges = _edges(edges, findings)
    graph_extra = without(graph, "nodes", "edges")
    if odd_edges:
        graph_extra["edges"] = odd_edges
    document = Document(
        mode=mode,
        nodes=specs,
        edges=edge_specs,
        name=text_or(app.get("name")),
        description=text_or(app.get("description")),
        environment=_variables(workflow, "environment_variables", findings),
        conversation=_variables(workflow, "conversation_variables", findings),
        notes=notes,
        features=mapping_at(workflow, "features", findings, where="workflow."),
        dialect=Dialect.DIFY,
        version=version,
        extra=_extra(tree, app, workflow, graph_extra),
    )
    findings.raise_errors()
    return Loaded(document, tuple(findings.problems), pending)


def _mode(tree: Mapping[str, Json], app: Mapping[str, Json], findings: Findings) -> Mode:
    if "app" not in tree:
        findings.error("app.missing", "The document has no app section", field="app")
        return Mode.WORKFLOW
    mode = app.get("mode")
    if mode in MODES_WITHOUT_GRAPH:
        message = (
            f"An app of mode {mode!r} has no graph; only workflow and advanced-chat are supported"
        )
        findings.error("app.mode", message, field="app.mode")
        return Mode.WORKFLOW
    try:
        known = Mode(text_or(mode))
    except ValueError:
        message = f"The app's mode must be workflow or advanced-chat, not {mode!r}"
        findings.error("app.mode", message, field="app.mode")
        return Mode.WORKFLOW
    if not isinstance(tree.get("workflow"), Mapping):
        findings.error("workflow.missing", "The document has no workflow section", field="workflow")
    return known


def _report_unknown(tree: Mapping[str, Json], findings: Findings) -> None:
    if text_or(tree.get("kind"), "app") != "app":
        findings.warn("document.kind", f"Kind {tree['kind']!r} is read as app", field="kind")
    for key in sorted(tree.keys() - KNOWN_PARTS):
        findings.warn("document.unknown_key", f"{key} is unknown; it is kept", field=key)


def _nodes(nodes: list[Json], findings: Findings) -> tuple[tuple[NodeSpec, ...], tuple[Note, ...]]:
    specs: list[NodeSpec] = []
    notes: list[Note] = []
    for index, node in enumerate(nodes):
        where = f"workflow.graph.nodes.{index}"
        if not isinstance(node, Mapping) or identifier(node.get("id")) is None:
            findings.error("node.id_missing", "A node has no ID", field=where)
        elif not isinstance(node.get("data"), Mapping):
            node_id = identifier(node["id"])
            findings.error("node.data_missing", "The node has no data", node=node_id, field="data")
        elif node.get("type") == NOTE:
            notes.append(_note(node))
        else:
            specs.append(_node(node, findings))
    return tuple(specs), kept_in(notes, specs)


def _node(node: Mapping[str, Json], findings: Findings) -> NodeSpec:
    data = node["data"]
    node_id = identifier(node["id"]) or ""
    kind = data.get("type")
    if not isinstance(kind, str) or not kind:
        findings.error("node.kind_missing", "The node has no type", node=node_id)
        kind = ""
    return NodeSpec(
        id=node_id,
        kind=kind,
        data=data,
        title=text_or(data.get("title")),
        parent=_parent(node, data),
        position=position(node.get("position")) or Position(),
        width=_number(node.get("width")),
        height=_number(node.get("height")),
        extra=_unless(_leftover(node), "type", canvas_type(kind)),
    )


def _note(node: Mapping[str, Json]) -> Note:
    return Note(
        id=identifier(node["id"]) or "",
        data=node["data"],
        parent=identifier(node.get("parentId")),
        position=position(node.get("position")) or Position(),
        width=_number(node.get("width")),
        height=_number(node.get("height")),
        extra=_unless(_leftover(node), "type", NOTE),
    )


def _parent(node: Mapping[str, Json], data: Mapping[str, Json]) -> str | None:
    for parent in (node.get("parentId"), data.get("iteration_id"), data.get("loop_id")):
        if found := identifier(parent):
            return found
    return None


def _leftover(node: Mapping[str, Json], *kept: str) -> dict[str, Json]:
    extra = without(node, "id", "data", "parentId", "position", "width", "height")
    extra |= {key: node[key] for key in kept if key in node}
    # What isn't shaped as expected stays as it was written.
    if "position" in node and position(node["position"]) is None:
        extra["position"] = node["position"]
    for side in ("width", "height"):
        if side in node and _number(node[side]) is None:
            extra[side] = node[side]
    return extra


def _edges(edges: list[Json], findings: Findings) -> tuple[tuple[EdgeSpec, ...], list[Json]]:
    specs: list[EdgeSpec] = []
    odd: list[Json] = []
    for index, edge in enumerate(edges):
        ends = _ends(edge)
        if ends is None:
            field = f"workflow.graph.edges.{index}"
            findings.warn(
                "edge.ends", "An edge without a source or target is not shown", field=field
            )
            odd.append(edge)
        else:
            specs.append(_edge(edge, *ends))
    return tuple(specs), odd


def _ends(edge: Json) -> tuple[str, str] | None:
    if not isinstance(edge, Mapping):
        return None
    source, target = identifier(edge.get("source")), identifier(edge.get("target"))
    return (source, target) if source and target else None


def _edge(edge: Mapping[str, Json], source: str, target: str) -> EdgeSpec:
    written = edge.get("sourceHandle")
    # Old exports call the way out of a node with a fail-branch "success-branch".
    handle = "source" if written == "success-branch" else identifier(written) or "source"
    extra = without(edge, "id", "source", "target", "sourceHandle", "targetHandle")
    if "sourceHandle" in edge and written != handle:
        extra["sourceHandle"] = written
    return EdgeSpec(
        id=identifier(edge.get("id")) or f"{source}-{handle}-{target}",
        source=source,
        target=target,
        handle=handle,
        target_handle=text_or(edge.get("targetHandle"), "target"),
        extra=_unless(extra, "type", "custom"),
    )


def _variables(
    workflow: Mapping[str, Json], key: str, findings: Findings
) -> tuple[VariableSpec, ...]:
    specs: list[VariableSpec] = []
    for index, variable in enumerate(list_at(workflow, key, findings, where="workflow.")):
        where = f"workflow.{key}.{index}"
        if not isinstance(variable, Mapping):
            findings.error("variable.invalid", "A variable must be a mapping", field=where)
            continue
        required = ("name", "value_type", "value")
        missing = [part for part in required if variable.get(part) is None]
        if missing == ["value"] and key == "environment_variables":
            missing = []
        for part in missing:
            findings.error(
                "variable.incomplete", f"A variable has no {part}", field=f"{where}.{part}"
            )
        if not missing:
            specs.append(_variable(variable, HEADS[key]))
    return tuple(specs)


def _variable(variable: Mapping[str, Json], head: str) -> VariableSpec:
    extra = without(variable, "id", "name", "value_type", "value", "description")
    if "description" in variable and not isinstance(variable["description"], str):
        extra["description"] = variable["description"]
    return VariableSpec(
        name=str(variable["name"]),
        value_type=str(variable["value_type"]),
        value=variable.get("value", ""),
        id=identifier(variable.get("id")) or "",
        description=text_or(variable.get("description")),
        extra=_unless(extra, "selector", [head, variable["name"]]),
    )


def _extra(
    tree: Mapping[str, Json],
    app: Mapping[str, Json],
    workflow: Mapping[str, Json],
    graph: Mapping[str, Json],
) -> dict[str, Json]:
    """What is left of the tree, in the tree's own shape."""
    app_extra = without(app, "name", "mode", "description")
    app_extra |= {
        key: app[key] for key in ("name", "description") if not isinstance(app.get(key, ""), str)
    }
    workflow_extra = without(
        workflow, "graph", "features", "environment_variables", "conversation_variables"
    )
    if graph:
        workflow_extra["graph"] = dict(graph)
    extra = _unless(without(tree, "version", "app", "workflow"), "kind", "app")
    extra = _unless(extra, "dependencies", [])
    if app_extra:
        extra["app"] = app_extra
    if workflow_extra:
        extra["workflow"] = workflow_extra
    return extra


def _unless(extra: dict[str, Json], key: str, default: Json) -> dict[str, Json]:
    """What the writer writes of its own accord isn't kept twice."""
    return without(extra, key) if extra.get(key) == default else extra


def _number(value: Json) -> float | None:
    return value if is_number(value) else None
