"""Renders the HTML of the nodes and edges that a change touched.

The cost depends only on the change; the rest of the draft is not read. The browser computes the paths of
edges, because it has the positions of both ends.
"""

from collections.abc import Iterable, Mapping
from typing import TypedDict

from workflows.engine.kinds import AnyKind
from workflows.engine.language.document import EdgeSpec, NodeSpec, Note
from workflows.engine.language.problems import Problem
from workflows.execution.kinds import load_kinds
from workflows.llm.directory import ModelDirectory
from workflows.views.canvas.cards import build_card
from workflows.views.canvas.drawing import EdgeView, group_by_node
from workflows.views.canvas.notes import build_note_view
from workflows.views.canvas.rendering import load_macros


class Fragments(TypedDict):
    """The HTML of a change."""

    nodes: dict[str, str]
    edges: dict[str, str]
    gone: list[str]


def render_fragments(
    nodes: Iterable[NodeSpec | Note] = (),
    edges: Iterable[EdgeSpec] = (),
    *,
    removed_ids: Iterable[str] = (),
    problems: Iterable[Problem] = (),
    kinds: Mapping[str, AnyKind] | None = None,
    pinned: Iterable[str] = (),
    models: ModelDirectory | None = None,
) -> Fragments:
    """Render the nodes, notes and edges of a change.

    ``problems`` may contain all problems of the draft. ``removed_ids`` are the ids of removed nodes, notes and edges.
    """
    kinds = kinds or load_kinds()
    node_problems, pinned_ids, macros = group_by_node(problems), frozenset(pinned), load_macros()
    node_html: dict[str, str] = {}
    for node in nodes:
        if isinstance(node, Note):
            node_html[node.id] = str(macros.note(build_note_view(node))).strip()  # type: ignore[attr-defined]
        else:
            view = build_card(
                node,
                kinds,
                problems=node_problems.get(node.id, ()),
                is_pinned=node.id in pinned_ids,
                models=models,
            )
            node_html[node.id] = str(macros.node(view)).strip()  # type: ignore[attr-defined]
    return Fragments(
        nodes=node_html,
        edges={edge.id: str(macros.edge(EdgeView(edge))) for edge in edges},  # type: ignore[attr-defined]
        gone=list(removed_ids),
    )
