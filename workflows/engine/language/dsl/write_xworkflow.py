"""Writes documents as xworkflow reads them."""

from collections.abc import Mapping

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
from workflows.engine.language.dsl import versions
from workflows.engine.language.dsl.credential_removal import clean_node, is_secret
from workflows.engine.language.dsl.sub_graphs import foldable, folded
from workflows.engine.language.dsl.tree import merged, node_data
from workflows.engine.language.dsl.xworkflow_data import outward
from workflows.engine.language.problems import Problem, warning


def write_xworkflow(document: Document, *, include_secrets: bool) -> dict[str, Json]:
    extra = _own_extra(document)
    meta = {**_meta(document), **extra.pop("meta", {})}
    nodes, edges = folded(
        [_node(node, include_secrets) for node in document.nodes],
        [_edge(edge) for edge in document.edges],
        _bodies(document),
    )
    tree: dict[str, Json] = {"version": versions.XWORKFLOW, "nodes": nodes, "edges": edges}
    if document.environment:
        tree["environment_variables"] = [
            _environment(variable, include_secrets) for variable in document.environment
        ]
    if document.conversation:
        tree["conversation_variables"] = [_conversation(item) for item in document.conversation]
    if meta:
        tree["meta"] = meta
    return {**tree, **extra}


def not_in_xworkflow(document: Document) -> list[Problem]:
    """Return warnings of what xworkflow won't understand; it is written all the same, and read back here."""
    problems = [
        warning(
            "export.assigner",
            "The Mnemoflow format supports only version 1 of the Variable assigner",
            node=node.id,
        )
        for node in document.nodes
        if node.kind == "assigner" and str(node.data.get("version", "1")) != "1"
    ]
    written = {child for held in _bodies(document).values() for child in held}
    problems += [
        warning(
            "export.container",
            "The Mnemoflow format nests nodes inside their container",
            node=node.id,
        )
        for node in document.nodes
        if node.parent is not None and node.id not in written
    ]
    for part, present in (
        ("name and description", document.name or document.description),
        ("features", document.features),
        ("sticky notes", document.notes),
    ):
        if present:
            problems.append(
                warning("export.parts", f"The Mnemoflow format ignores {part} (kept in meta)")
            )
    problems += [
        warning("export.variable", f"The Mnemoflow format can't mark {variable.name} as a secret")
        for variable in document.environment
        if is_secret(variable)
    ]
    return problems


def _bodies(document: Document) -> dict[str, list[str]]:
    """Containers whose body xworkflow can read, with the nodes in it."""
    bodies: dict[str, list[str]] = {node.id: [] for node in document.nodes if foldable(node)}
    for node in document.nodes:
        if node.parent in bodies:
            bodies[node.parent].append(node.id)
    return {container: held for container, held in bodies.items() if held}


def _own_extra(document: Document) -> dict[str, Json]:
    if document.dialect is Dialect.XWORKFLOW:
        return dict(document.extra)
    extra = dict(document.extra)
    own = dict(extra.pop("xworkflow", {}))
    if extra:
        own["meta"] = {**own.get("meta", {}), "dify": extra}
    return own


def _meta(document: Document) -> dict[str, Json]:
    """What has no place of its own; the mode only where the nodes don't tell it."""
    told = Mode.CHAT if any(node.kind == "answer" for node in document.nodes) else Mode.WORKFLOW
    meta: dict[str, Json] = {
        "name": document.name,
        "description": document.description,
        "mode": "" if document.mode is told else document.mode.value,
        "features": dict(document.features),
        "notes": [_note(note) for note in document.notes],
    }
    return {key: value for key, value in meta.items() if value}


def _node(node: NodeSpec, include_secrets: bool) -> dict[str, Json]:
    data = outward(node.kind, node_data(node))
    tree: dict[str, Json] = {
        "id": node.id,
        "data": data if include_secrets else clean_node(node.kind, data),
        **_placed(node),
    }
    if node.parent is not None:
        tree["parentId"] = node.parent
    return merged(tree, node.extra)


def _note(note: Note) -> dict[str, Json]:
    tree: dict[str, Json] = {"id": note.id, "data": dict(note.data), **_placed(note)}
    if note.parent is not None:
        tree["parentId"] = note.parent
    return merged(tree, note.extra)


def _placed(part: NodeSpec | Note) -> dict[str, Json]:
    placed: dict[str, Json] = {}
    if part.position != Position():
        placed["position"] = {"x": part.position.x, "y": part.position.y}
    if part.width is not None:
        placed["width"] = part.width
    if part.height is not None:
        placed["height"] = part.height
    return placed


def _edge(edge: EdgeSpec) -> dict[str, Json]:
    tree: dict[str, Json] = {"id": edge.id, "source": edge.source, "target": edge.target}
    if edge.handle != "source":
        tree["source_handle"] = edge.handle
    if edge.target_handle != "target":
        tree["targetHandle"] = edge.target_handle
    return merged(tree, edge.extra)


def _environment(variable: VariableSpec, include_secrets: bool) -> dict[str, Json]:
    value = "" if is_secret(variable) and not include_secrets else variable.value
    tree = _described(variable, {"name": variable.name, "value": value})
    if variable.value_type != "string":
        tree["value_type"] = variable.value_type
    return merged(tree, variable.extra)


def _conversation(variable: VariableSpec) -> dict[str, Json]:
    tree = {"name": variable.name, "type": variable.value_type, "default": variable.value}
    return merged(_described(variable, tree), variable.extra)


def _described(variable: VariableSpec, tree: Mapping[str, Json]) -> dict[str, Json]:
    about = {"id": variable.id, "description": variable.description}
    return {**tree, **{key: text for key, text in about.items() if text}}
