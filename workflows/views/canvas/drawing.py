"""Renders a document as the HTML of nested scopes, for the editor's canvas and for pages that show a graph."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain

from django.utils.safestring import SafeString, mark_safe
from jinja2.environment import TemplateModule

from workflows.engine.geometry import format_number
from workflows.engine.kinds import AnyKind
from workflows.engine.language.document import Document, EdgeSpec
from workflows.engine.language.problems import Problem
from workflows.engine.nodes import KNOWN_KINDS
from workflows.execution.kinds import load_kinds
from workflows.llm.directory import ModelDirectory
from workflows.views.canvas.cards import CardView, Mark, build_card
from workflows.views.canvas.layout import ROOT, Frame, GraphLayout
from workflows.views.canvas.notes import NoteView, build_note_view
from workflows.views.canvas.rendering import load_macros
from workflows.views.canvas.styles import build_icon_rules, build_position_rule, build_scale_rules


CHIP_ICONS = ("warning", "pin", "stop", "memory")
# With as many nodes in view, the cards are too small to read and a painted picture is shown.
MIN_FAR_NODES = 260


@dataclass(frozen=True, slots=True)
class EdgeView:
    edge: EdgeSpec
    path: str = ""
    mark: Mark | None = None


@dataclass(frozen=True, slots=True)
class Drawing:
    """The HTML of a document, its style rules, and the values that the script of the canvas needs."""

    html: SafeString
    rules: SafeString  # for one <style nonce>
    is_unplaced: bool  # the nodes have no stored positions and were laid out automatically
    node_count: int
    frame: Frame
    far_from: int = MIN_FAR_NODES  # the browser uses the same number

    @property
    def is_far(self) -> bool:
        """Return whether to show a painted picture first, because so many cards are too small to read."""
        return self.node_count >= self.far_from

    @property
    def scale_rules(self) -> SafeString:
        """Return the style rules for a page that shows only the graph."""
        return mark_safe(build_scale_rules(self.frame))  # noqa: S308 - numbers

    @property
    def frame_text(self) -> str:
        return " ".join(map(format_number, self.frame))


def draw(
    document: Document,
    problems: Iterable[Problem] = (),
    kinds: Mapping[str, AnyKind] | None = None,
    *,
    pinned: Iterable[str] = (),
    marks: Mapping[str, Mark] | None = None,
    models: ModelDirectory | None = None,
) -> Drawing:
    """Draw a document. ``pinned`` nodes have fixed outputs; ``marks`` are differences between versions.

    With the team's ``models``, cards say which of them answers.
    """
    layout = GraphLayout(document, kinds or load_kinds())
    groups = group_by_node(problems)
    return _DrawingBuilder(layout, groups, frozenset(pinned), marks or {}, models).build()


def group_by_node(problems: Iterable[Problem]) -> dict[str, list[Problem]]:
    """Return the problems of each node by the node's id; problems without a node are left out."""
    groups: dict[str, list[Problem]] = defaultdict(list)
    for problem in problems:
        if problem.node:
            groups[problem.node].append(problem)
    return groups


@dataclass(frozen=True)
class _DrawingBuilder:
    """Builds the drawing of one document."""

    layout: GraphLayout
    problems: Mapping[str, list[Problem]]
    pinned: frozenset[str]
    marks: Mapping[str, Mark]
    models: ModelDirectory | None

    def build(self) -> Drawing:
        return Drawing(
            html=self._render_scope(ROOT),
            rules=mark_safe(self._build_rules()),  # noqa: S308 - escaped by build_position_rule
            is_unplaced=self.layout.is_unplaced,
            node_count=len(self.layout.document.nodes),
            frame=self.layout.frame,
        )

    def _build_rules(self) -> str:
        kinds = (*KNOWN_KINDS.values(), *self.layout.kinds.values())
        notes = chain.from_iterable(self.notes.values())
        views: list[CardView | NoteView] = [*self.cards.values(), *notes]
        icons = build_icon_rules([*CHIP_ICONS, *(kind.icon for kind in kinds)])
        return icons + "".join(map(build_position_rule, views))

    def _render_scope(self, scope: str) -> SafeString:
        layout = self.layout
        children = layout.children.get(scope, [])
        inner_scopes = {
            id_: self._render_scope(id_) for id_ in children if layout.shapes[id_].is_box
        }
        html = self.macros.scope(  # type: ignore[attr-defined]  # a macro of the template
            scope,
            [self.cards[id_] for id_ in children],
            self.notes.get(scope, ()),
            [
                EdgeView(edge, layout.build_path(edge), self.marks.get(edge.id))
                for edge in layout.edges.get(scope, ())
            ],
            inner_scopes,
        )
        return mark_safe(str(html))  # noqa: S308 - rendered with autoescape

    @cached_property
    def macros(self) -> TemplateModule:
        return load_macros()

    @cached_property
    def cards(self) -> dict[str, CardView]:
        layout = self.layout
        incoming_counts = Counter(edge.target for edge in layout.document.edges)
        return {
            node.id: build_card(
                node,
                layout.kinds,
                problems=self.problems.get(node.id, ()),
                incoming=incoming_counts[node.id],
                position=layout.positions[node.id],
                shape=layout.shapes[node.id],
                is_pinned=node.id in self.pinned,
                mark=self.marks.get(node.id),
                models=self.models,
            )
            for node in layout.nodes.values()
        }

    @cached_property
    def notes(self) -> dict[str, list[NoteView]]:
        """Return the notes of each scope."""
        notes: dict[str, list[NoteView]] = {}
        for note in self.layout.document.notes:
            view = replace(build_note_view(note), mark=self.marks.get(note.id))
            notes.setdefault(self.layout.get_scope(note), []).append(view)
        return notes
