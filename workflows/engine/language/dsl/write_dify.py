"""Writes documents as Dify reads them."""

from collections.abc import Mapping
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
from workflows.engine.language.dsl.credential_removal import clean_node, is_secret
from workflows.engine.language.dsl.loaded import without
from workflows.engine.language.dsl.sub_graphs import foldable
from workflows.engine.language.dsl.tree import canvas_type, merged, node_data
from workflows.engine.language.problems import Problem, warning
from workflows.engine.language.values import ValueType, parse_type, zero


ABSOLUTE: Final = "positionAbsolute"


def write_dify(document: Document, *, include_secrets: bool) -> dict[str, Json]:
    """The tree, in the order Dify exports it."""
    extra = _own_extra(document)
    app = {"name": document.name, "mode": document.mode.value, "description": document.description}
    workflow_extra = dict(extra.pop("workflow", {}))
    graph_extra = dict(workflow_extra.pop("graph", {}))
    places = _places(document)
    nodes = [_node(node, places[node.id], include_secrets) for node in document.nodes]
    edges = [_edge(edge) for edge in document.edges]
    graph = {
        "nodes": [*nodes, *(_note(note, places[note.id]) for note in document.notes)],
        "edges": [*edges, *graph_extra.pop("edges", [])],
        **graph_extra,
    }
    workflow = {
        "graph": graph,
        "features": dict(document.features),
        "environment_variables": [
            _variable(variable, "env", include_secrets) for variable in document.environment
        ],
        "conversation_variables": [
            _variable(variable, "conversation", include_secrets)
            for variable in document.conversation
        ],
        **workflow_extra,
    }
    return {
        "version": _version(document),
        "kind": extra.pop("kind", "app"),
        "app": merged(app, extra.pop("app", {})),
        "dependencies": extra.pop("dependencies", []),
        "workflow": workflow,
        **extra,
    }


def not_in_dify(document: Document) -> list[Problem]:
    """Return warnings of what Dify won't understand; it is written all the same, and read back here."""
    problems = [
        warning("export.enhanced_memory", "Dify ignores enhanced_memory", node=node.id)
        for node in document.nodes
        if "enhanced_memory" in node.data
    ]
    problems += [
        warning("export.container", "Dify's containers don't end with End nodes", node=node.id)
        for node in document.nodes
        if foldable(node)
    ]
    if document.dialect is Dialect.XWORKFLOW and document.extra:
        kept = ", ".join(sorted(document.extra))
        problems.append(warning("export.parts", f"Dify ignores the section xworkflow ({kept})"))
    return problems


def _own_extra(document: Document) -> dict[str, Json]:
    """What Dify left over stays where it was; what another dialect did goes under its name."""
    if document.dialect is Dialect.DIFY:
        return dict(document.extra)
    extra = dict(document.extra)
    meta = dict(extra.pop("meta", {}))
    own = dict(meta.pop("dify", {}))
    left = {**extra, **({"meta": meta} if meta else {})}
    return {**own, "xworkflow": left} if left else own


def _version(document: Document) -> str:
    # A newer version's number stays: what it means by its fields is not ours to say.
    return (
        document.version
        if document.dialect is Dialect.DIFY and document.version
        else (versions.DIFY)
    )


def _places(document: Document) -> dict[str, Position]:
    """Where each node stands on the canvas, whatever it is in: ours are counted from the container."""
    nodes = {node.id: node for node in document.nodes}
    places: dict[str, Position] = {}
    parts: tuple[NodeSpec | Note, ...] = (*document.nodes, *document.notes)
    for node in parts:
        x, y = node.position.x, node.position.y
        seen, outer = {node.id}, nodes.get(node.parent or "")
        while outer is not None and outer.id not in seen:
            x, y = x + outer.position.x, y + outer.position.y
            seen.add(outer.id)
            outer = nodes.get(outer.parent or "")
        places[node.id] = Position(x, y)
    return places


def _node(node: NodeSpec, place: Position, include_secrets: bool) -> dict[str, Json]:
    data = node_data(node)
    tree: dict[str, Json] = {
        "id": node.id,
        "type": canvas_type(node.kind),
        "position": _position(node.position),
        "data": data if include_secrets else clean_node(node.kind, data),
    }
    if node.parent is not None:
        tree["parentId"] = node.parent
    return merged(_sized(tree, node), _placed(node.extra, place))


def _note(note: Note, place: Position) -> dict[str, Json]:
    tree: dict[str, Json] = {
        "id": note.id,
        "type": "custom-note",
        "position": _position(note.position),
        "data": dict(note.data),
    }
    if note.parent is not None:
        tree["parentId"] = note.parent
    return merged(_sized(tree, note), _placed(note.extra, place))


def _placed(extra: Mapping[str, Json], place: Position) -> Mapping[str, Json]:
    """Dify repeats the place there; what it said of a node that was moved since is no longer so."""
    if ABSOLUTE not in extra:
        return extra
    return {**extra, ABSOLUTE: _position(place)}


def _sized(tree: dict[str, Json], part: NodeSpec | Note) -> dict[str, Json]:
    if part.width is not None:
        tree["width"] = part.width
    if part.height is not None:
        tree["height"] = part.height
    return tree


def _edge(edge: EdgeSpec) -> dict[str, Json]:
    extra = dict(edge.extra)
    spelled = extra.pop("sourceHandle", edge.handle)
    return {
        "id": edge.id,
        "type": "custom",
        "source": edge.source,
        # Another spelling of "source" is kept until somebody rewires the edge.
        "sourceHandle": spelled if edge.handle == "source" else edge.handle,
        "target": edge.target,
        "targetHandle": edge.target_handle,
        **extra,
    }


def _value(variable: VariableSpec) -> Json:
    """Dify refuses variables without a value; the zero of their type is what an absent one means."""
    kind = parse_type(variable.value_type)
    return zero(kind or ValueType.STRING) if variable.value is None else variable.value


def _variable(variable: VariableSpec, head: str, include_secrets: bool) -> dict[str, Json]:
    tree: dict[str, Json] = {
        "id": variable.id,
        "name": variable.name,
        "value_type": variable.value_type,
        "value": _value(variable) if include_secrets or not is_secret(variable) else "",
        "description": variable.description,
        "selector": [head, variable.name],
    }
    if not variable.id:
        del tree["id"]
    return merged(tree, without(variable.extra, "selector"))


def _position(position: Position) -> dict[str, Json]:
    return {"x": position.x, "y": position.y}
