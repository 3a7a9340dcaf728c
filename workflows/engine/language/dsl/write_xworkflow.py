"""Writes workflow documents in xworkflow's format."""

from collections import Counter
from collections.abc import Iterator, Mapping

from workflows.engine.language.containers import find_circles
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
from workflows.engine.language.dsl.credential_removal import remove_credentials
from workflows.engine.language.dsl.emit import build_ends, build_node_data, build_size
from workflows.engine.language.dsl.sub_graphs import fold, is_foldable
from workflows.engine.language.dsl.xworkflow_data import translate_to_xworkflow
from workflows.engine.language.problems import Problem, build_warning


def write_xworkflow(document: Document, *, include_secrets: bool) -> dict[str, Json]:
    """Return the tree, with the values for which xworkflow has no field under ``meta``."""
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
        conversation = document.conversation
        tree["conversation_variables"] = [_build_conversation_variable(v) for v in conversation]
    if meta:
        tree["meta"] = meta
    return {**tree, **extra}


def find_unsupported_by_xworkflow(document: Document) -> Iterator[Problem]:
    """Yield warnings about parts that xworkflow ignores. The parts are written all the same, to be read back."""
    for node in document.nodes:
        if node.kind == "assigner" and str(node.data.get("version", "1")) != "1":
            message = "The Mnemoflow format supports only version 1 of the Variable assigner"
            yield build_warning("export.assigner", message, node=node.id)
    nested = {child for children in _map_bodies(document).values() for child in children}
    for node in document.nodes:
        if node.parent is not None and node.id not in nested:
            message = "The Mnemoflow format nests nodes inside their container"
            yield build_warning("export.container", message, node=node.id)
    for part, is_present in (
        ("name and description", document.name or document.description),
        ("features", document.features),
        ("sticky notes", document.notes),
    ):
        if is_present:
            message = f"The Mnemoflow format ignores {part} (kept in meta)"
            yield build_warning("export.parts", message)
    for variable in document.environment:
        if variable.is_secret:
            message = f"The Mnemoflow format can't mark {variable.name} as a secret"
            yield build_warning("export.variable", message)


def _map_bodies(document: Document) -> dict[str, list[str]]:
    """Return the containers whose body xworkflow can read, with the nodes inside them."""
    counts = Counter(node.id for node in document.nodes)
    bodies: dict[str, list[str]] = {
        node.id: [] for node in document.nodes if is_foldable(node) and counts[node.id] == 1
    }
    # A node in a circle of containers would be inside of nothing, and one whose id another node has can't be told from
    # it, so they are written beside them.
    circles = find_circles({node.id: node.parent for node in document.nodes})
    for node in document.nodes:
        if node.parent in bodies and node.id not in circles and counts[node.id] == 1:
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
    is_chat = any(node.kind == "answer" for node in document.nodes)
    implied_mode = Mode.CHAT if is_chat else Mode.WORKFLOW
    meta: dict[str, Json] = {
        "name": document.name,
        "description": document.description,
        "mode": "" if document.mode is implied_mode else document.mode.value,
        "features": dict(document.features),
        "notes": [_build_part(note, note.data) for note in document.notes],
    }
    return {key: value for key, value in meta.items() if value}


def _build_node(node: NodeSpec, include_secrets: bool) -> dict[str, Json]:
    data = translate_to_xworkflow(node.kind, build_node_data(node))
    return _build_part(node, data if include_secrets else remove_credentials(node.kind, data))


def _build_part(part: NodeSpec | Note, data: Mapping[str, Json]) -> dict[str, Json]:
    tree: dict[str, Json] = {"id": part.id, "data": dict(data)}
    if part.position != Position():
        tree["position"] = {"x": part.position.x, "y": part.position.y}
    tree |= build_size(part)
    if part.parent is not None:
        tree["parentId"] = part.parent
    return {**tree, **part.extra}


def _build_edge(edge: EdgeSpec) -> dict[str, Json]:
    tree: dict[str, Json] = {"id": edge.id, **build_ends(edge)}
    if edge.handle != "source":
        tree["source_handle"] = edge.handle
    if edge.target_handle != "target":
        tree["targetHandle"] = edge.target_handle
    return {**tree, **edge.extra}


def _build_environment_variable(variable: VariableSpec, include_secrets: bool) -> dict[str, Json]:
    value = "" if variable.is_secret and not include_secrets else variable.value
    tree = _add_description(variable, {"name": variable.name, "value": value})
    if variable.value_type != "string":
        tree["value_type"] = variable.value_type
    return {**tree, **variable.extra}


def _build_conversation_variable(variable: VariableSpec) -> dict[str, Json]:
    tree = {"name": variable.name, "type": variable.value_type, "default": variable.value}
    return {**_add_description(variable, tree), **variable.extra}


def _add_description(variable: VariableSpec, tree: Mapping[str, Json]) -> dict[str, Json]:
    texts = {"id": variable.id, "description": variable.description}
    return {**tree, **{key: text for key, text in texts.items() if text}}
