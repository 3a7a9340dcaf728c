"""What a change looks like: the HTML of exactly the nodes and edges it touched.

Costs what is given, nothing of the rest of the draft is read. Paths are left to the browser, which has
the places of both ends.
"""

from collections.abc import Iterable, Mapping
from typing import TypedDict

from workflows.engine.document import EdgeSpec, NodeSpec, Note
from workflows.engine.kinds import AnyKind
from workflows.engine.problems import Problem
from workflows.services.kinds import installed_kinds
from workflows.views.editor.cards import card
from workflows.views.editor.drawing import edge_view, grouped
from workflows.views.editor.notes import note_view
from workflows.views.editor.rendering import macros


class Fragments(TypedDict):
    """The ``html`` of a Change."""

    nodes: dict[str, str]
    edges: dict[str, str]
    gone: list[str]


def fragments_for(
    nodes: Iterable[NodeSpec | Note] = (),
    edges: Iterable[EdgeSpec] = (),
    *,
    gone: Iterable[str] = (),
    problems: Iterable[Problem] = (),
    kinds: Mapping[str, AnyKind] | None = None,
    pinned: Iterable[str] = (),
) -> Fragments:
    """``problems`` may be those of the whole draft; ``gone`` are ids of nodes, notes and edges."""
    kinds = kinds or installed_kinds()
    by_node, held, made = grouped(problems), frozenset(pinned), macros()
    drawn: dict[str, str] = {}
    for node in nodes:
        if isinstance(node, Note):
            drawn[node.id] = str(made.note(note_view(node))).strip()  # type: ignore[attr-defined]
        else:
            view = card(node, kinds, problems=by_node.get(node.id, ()), is_pinned=node.id in held)
            drawn[node.id] = str(made.node(view)).strip()  # type: ignore[attr-defined]
    return Fragments(
        nodes=drawn,
        edges={edge.id: str(made.edge(edge_view(edge))) for edge in edges},  # type: ignore[attr-defined]
        gone=list(gone),
    )
