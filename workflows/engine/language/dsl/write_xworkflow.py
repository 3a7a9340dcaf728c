"""Writes workflow documents in xworkflow's format."""

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
from workflows.engine.language.dsl.sub_graphs import fold, is_foldable
from workflows.engine.language.dsl.tree import build_node_data, merge_extra
from workflows.engine.language.dsl.xworkflow_data import translate_to_xworkflow
from workflows.engine.language.problems import Problem, build_warning


def write_xworkflow(document: Document, *, include_secrets: bool) -> dict[str, Json]:
    extra = _build_extra(document)
    meta = {**_build_meta(document), **extra.pop("meta", {})}
    nodes, edges = fold(
        [_build_node(node, include_secrets) for node in document.nodes],
        [_build_edge(edge) for edge in document.edges],
        _map_bodies(document),
    )
    tree: dict[str, Json] = {"version": versions.XWORKFLOW, "nodes": nodes, "edges": edges}
    if document.environment:
        tree["environment_variables"] = [
            _build_environment_variable(variable, include_secrets)
            for variable in document.environment
        ]
    if document.conversation:
        tree["conversation_variables"] = [
            _build_conversation_variable(item) for item in document.conversation
        ]
    if meta:
        tree["meta"] = meta
    return {**tree, **extra}


def find_unsupported_by_xworkflow(document: Document) -> list[Problem]:
    """Return warnings about parts that xworkflow ignores. They are written nevertheless, for reading them back."""
    problems = [
        build_warning(
            "export.assigner",
            "The Mnemoflow format supports only version 1 of the Variable assigner",
            node=node.id,
        )
        for node in document.nodes
        if node.kind == "assigner" and str(node.data.get("version", "1")) != "1"
    ]
    nested = {child for children in _map_bodies(document).values() for child in children}
    problems += [
        build_warning(
            "export.container",
            "The Mnemoflow format nests nodes inside their container",
            node=node.id,
        )
        for node in document.nodes
        if node.parent is not None and node.id not in nested
    ]
    for part, present in (
        ("name and description", document.name or document.description),
        ("features", document.features),
        ("sticky notes", document.notes),
    ):
        if present:
            problems.append(
                build_warning("export.parts", f"The Mnemoflow format ignores {part} (kept in meta)")
            )
    problems += [
        build_warning(
            "export.variable", f"The Mnemoflow format can't mark {variable.name} as a secret"
        )
        for variable in document.environment
        if is_secret(variable)
    ]
    return problems


def _map_bodies(document: Document) -> dict[str, list[str]]:
    """Return the containers whose body xworkflow can read, with the nodes in it."""
    bodies: dict[str, list[str]] = {node.id: [] for node in document.nodes if is_foldable(node)}
    for node in document.nodes:
        if node.parent in bodies:
            bodies[node.parent].append(node.id)
    return {container: children for container, children in bodies.items() if children}


def _build_extra(document: Document) -> dict[str, Json]:
    if document.dialect is Dialect.XWORKFLOW:
        return dict(document.extra)
    extra = dict(document.extra)
    xworkflow_extra = dict(extra.pop("xworkflow", {}))
    if extra:
        xworkflow_extra["meta"] = {**xworkflow_extra.get("meta", {}), "dify": extra}
    return xworkflow_extra


def _build_meta(document: Document) -> dict[str, Json]:
    """Return the values for which xworkflow has no field, and the mode if the nodes do not imply it."""
    implied_mode = (
        Mode.CHAT if any(node.kind == "answer" for node in document.nodes) else Mode.WORKFLOW
    )
    meta: dict[str, Json] = {
        "name": document.name,
        "description": document.description,
        "mode": "" if document.mode is implied_mode else document.mode.value,
        "features": dict(document.features),
        "notes": [_build_note(note) for note in document.notes],
    }
    return {key: value for key, value in meta.items() if value}


def _build_node(node: NodeSpec, include_secrets: bool) -> dict[str, Json]:
    data = translate_to_xworkflow(node.kind, build_node_data(node))
    tree: dict[str, Json] = {
        "id": node.id,
        "data": data if include_secrets else clean_node(node.kind, data),
        **_build_geometry(node),
    }
    if node.parent is not None:
        tree["parentId"] = node.parent
    return merge_extra(tree, node.extra)


def _build_note(note: Note) -> dict[str, Json]:
    tree: dict[str, Json] = {"id": note.id, "data": dict(note.data), **_build_geometry(note)}
    if note.parent is not None:
        tree["parentId"] = note.parent
    return merge_extra(tree, note.extra)


def _build_geometry(part: NodeSpec | Note) -> dict[str, Json]:
    geometry: dict[str, Json] = {}
    if part.position != Position():
        geometry["position"] = {"x": part.position.x, "y": part.position.y}
    if part.width is not None:
        geometry["width"] = part.width
    if part.height is not None:
        geometry["height"] = part.height
    return geometry


def _build_edge(edge: EdgeSpec) -> dict[str, Json]:
    tree: dict[str, Json] = {"id": edge.id, "source": edge.source, "target": edge.target}
    if edge.handle != "source":
        tree["source_handle"] = edge.handle
    if edge.target_handle != "target":
        tree["targetHandle"] = edge.target_handle
    return merge_extra(tree, edge.extra)


def _build_environment_variable(variable: VariableSpec, include_secrets: bool) -> dict[str, Json]:
    value = "" if is_secret(variable) and not include_secrets else variable.value
    tree = _add_description(variable, {"name": variable.name, "value": value})
    if variable.value_type != "string":
        tree["value_type"] = variable.value_type
    return merge_extra(tree, variable.extra)


def _build_conversation_variable(variable: VariableSpec) -> dict[str, Json]:
    tree = {"name": variable.name, "type": variable.value_type, "default": variable.value}
    return merge_extra(_add_description(variable, tree), variable.extra)


def _add_description(variable: VariableSpec, tree: Mapping[str, Json]) -> dict[str, Json]:
    about = {"id": variable.id, "description": variable.description}
    return {**tree, **{key: text for key, text in about.items() if text}}
