"""The whole draft as the canvas's HTML: scopes inside scopes, and one rule a node for where it is.

Positions are style rules, not attributes: the pages' policy allows no inline style, and a ``<style>`` with
the page's nonce lets the graph be seen before any script runs.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain

from django.utils.safestring import SafeString, mark_safe
from jinja2.environment import TemplateModule

from workflows.engine.document import Document, EdgeSpec, NodeSpec, Position
from workflows.engine.geometry import CARD_WIDTH, Shape, path, shape
from workflows.engine.kinds import AnyKind
from workflows.engine.layout import Box, layered
from workflows.engine.problems import Problem
from workflows.services.kinds import installed_kinds
from workflows.views.editor.cards import CardView, card
from workflows.views.editor.icons import rules_for
from workflows.views.editor.looks import EVERY_LOOK
from workflows.views.editor.marks import Mark
from workflows.views.editor.notes import NoteView, note_view
from workflows.views.editor.rendering import macros


LOOKED_UP = ("warning", "pin", "stop")  # icons of chips
ROOT = "root"  # the scope at the top
FAR_FROM = 260  # nodes


@dataclass(frozen=True, slots=True)
class EdgeView:
    id: str
    source: str
    target: str
    handle: str
    target_handle: str
    path: str = ""
    mark: str = ""


@dataclass(frozen=True, slots=True)
class EditorDrawing:
    html: SafeString
    rules: SafeString  # for one <style nonce>
    is_unplaced: bool  # nobody placed the nodes: what is shown was laid out just now
    nodes: int
    frame: tuple[float, float, float, float] = (0, 0, 0, 0)  # left, top, width, height of it all
    far_from: int = FAR_FROM  # nodes in view; told to the browser, which goes by it from then on

    @property
    def is_far(self) -> bool:
        """Begun as a picture, which the browser paints: so many cards are too small to read at once."""
        return self.nodes >= self.far_from


def draw_editor(
    document: Document,
    problems: Iterable[Problem] = (),
    kinds: Mapping[str, AnyKind] | None = None,
    *,
    pinned: Iterable[str] = (),
    marks: Mapping[str, Mark] | None = None,
) -> EditorDrawing:
    """``pinned``: nodes whose output is held. ``marks``: how nodes and edges differ from another version."""
    known = kinds or installed_kinds()
    return _Drawn(document, list(problems), known, frozenset(pinned), marks or {}).drawing()


def edge_view(edge: EdgeSpec, drawn: str = "") -> EdgeView:
    return EdgeView(edge.id, edge.source, edge.target, edge.handle, edge.target_handle, drawn)


def grouped(problems: Iterable[Problem]) -> dict[str, list[Problem]]:
    found: dict[str, list[Problem]] = defaultdict(list)
    for problem in problems:
        if problem.node:
            found[problem.node].append(problem)
    return found


class _Drawn:
    """One drawing in the making."""

    def __init__(
        self,
        document: Document,
        problems: Sequence[Problem],
        kinds: Mapping[str, AnyKind],
        pinned: frozenset[str],
        marks: Mapping[str, Mark],
    ) -> None:
        self.document = document
        self.problems = grouped(problems)
        self.kinds = kinds
        self.pinned = pinned
        self.marks = marks
        self.by_id = {node.id: node for node in document.nodes}
        self.is_unplaced = _is_unplaced(document.nodes)
        self.macros: TemplateModule = macros()

    def drawing(self) -> EditorDrawing:
        return EditorDrawing(
            html=self._scope(ROOT),
            rules=mark_safe(self._rules()),  # noqa: S308 - escaped by _rule
            is_unplaced=self.is_unplaced,
            nodes=len(self.document.nodes),
            frame=self._frame() if self.marks else (0, 0, 0, 0),
        )

    def _frame(self) -> tuple[float, float, float, float]:
        """Around what lies at the top: a container has its inside within."""
        top: list[CardView | NoteView] = list(self.notes.get(ROOT, ()))
        top += [self.cards[id_] for id_ in self.children.get(ROOT, ())]
        placed = [(float(v.x), float(v.y), float(v.width), float(v.height)) for v in top]
        if not placed:
            return 0, 0, 0, 0
        left, above = min(x for x, *_ in placed), min(y for _, y, *_ in placed)
        right, below = max(x + w for x, _, w, _ in placed), max(y + h for _, y, _, h in placed)
        return left, above, right - left, below - above

    def _rules(self) -> str:
        icons = rules_for([*LOOKED_UP, *(look.icon for look in EVERY_LOOK)])
        return icons + "".join(map(_rule, self._placed()))

    def _placed(self) -> Iterable[CardView | NoteView]:
        return [*self.cards.values(), *chain.from_iterable(self.notes.values())]

    def _scope(self, owner: str) -> SafeString:
        children = self.children.get(owner, [])
        inner = {id_: self._scope(id_) for id_ in children if self.shapes[id_].is_box}
        html = self.macros.scope(  # type: ignore[attr-defined]  # a macro of the template
            owner,
            [self.cards[id_] for id_ in children],
            self.notes.get(owner, ()),
            [self._edge(edge) for edge in self.edges.get(owner, ())],
            inner,
        )
        return mark_safe(str(html))  # noqa: S308 - rendered with autoescape

    def _edge(self, edge: EdgeSpec) -> EdgeView:
        (x1, y1), (x2, y2) = self.places[edge.source], self.places[edge.target]
        out_x, out_y = self.shapes[edge.source].way_out(edge.handle)
        in_x, in_y = self.shapes[edge.target].way_in
        drawn = edge_view(edge, path(x1 + out_x, y1 + out_y, x2 + in_x, y2 + in_y))
        mark = self.marks.get(edge.id)
        return replace(drawn, mark=mark.name) if mark else drawn

    @cached_property
    def cards(self) -> dict[str, CardView]:
        joins = Counter(edge.target for edge in self.document.edges)
        return {
            node.id: self._marked(
                card(
                    node,
                    self.kinds,
                    problems=self.problems.get(node.id, ()),
                    joins=joins[node.id],
                    at=self.places[node.id],
                    is_box=self.shapes[node.id].is_box,
                    is_pinned=node.id in self.pinned,
                )
            )
            for node in self.by_id.values()
        }

    def _marked(self, view: CardView) -> CardView:
        mark = self.marks.get(view.id)
        return replace(view, mark=mark) if mark else view

    @cached_property
    def notes(self) -> dict[str, list[NoteView]]:
        """By the container they lie in."""
        within: dict[str, list[NoteView]] = {}
        for note in self.document.notes:
            view = note_view(note)
            within.setdefault(note.parent or ROOT, []).append(
                replace(view, mark=self.marks.get(note.id)) if self.marks else view
            )
        return within

    @cached_property
    def shapes(self) -> dict[str, Shape]:
        return {
            node.id: shape(node, self.kinds, is_box=node.id in self.children)
            for node in self.by_id.values()
        }

    @cached_property
    def children(self) -> dict[str, list[str]]:
        """Scope → its nodes. A parent that isn't there, or that lies inside its child, is the top."""
        found: dict[str, list[str]] = defaultdict(list)
        for node in self.by_id.values():
            found[self._home(node)].append(node.id)
        return found

    def _home(self, node: NodeSpec) -> str:
        seen, parent = {node.id}, node.parent
        while parent in self.by_id and parent not in seen:
            seen.add(parent)
            parent = self.by_id[parent].parent
        return ROOT if parent in seen or node.parent not in self.by_id else str(node.parent)

    @cached_property
    def edges(self) -> dict[str, list[EdgeSpec]]:
        """Scope → its edges. One that crosses a border is drawn nowhere: the problems list has it."""
        home = {id_: owner for owner, ids in self.children.items() for id_ in ids}
        found: dict[str, list[EdgeSpec]] = defaultdict(list)
        for edge in self.document.edges:
            owner = home.get(edge.source)
            if owner is not None and owner == home.get(edge.target):
                found[owner].append(edge)
        return found

    @cached_property
    def places(self) -> dict[str, tuple[float, float]]:
        if not self.is_unplaced:
            return {n.id: (n.position.x, n.position.y) for n in self.by_id.values()}
        where: dict[str, Position] = {}
        for ids in self.children.values():
            boxes = {id_: Box(self.shapes[id_].width, self.shapes[id_].height) for id_ in ids}
            links = [(e.source, e.target) for e in self.document.edges if e.source in boxes]
            where |= layered(boxes, links)
        return {id_: (at.x, at.y) for id_, at in where.items()}


def _is_unplaced(nodes: Sequence[NodeSpec]) -> bool:
    return len(nodes) > 1 and len({node.position for node in nodes}) == 1


_PLAIN_WIDTH = f"{CARD_WIDTH:g}"


def _rule(view: CardView | NoteView) -> str:
    width = "" if view.width == _PLAIN_WIDTH else f";width:{view.width}px"
    return (
        f"#node-{css_name(view.id)}{{left:{view.x}px;top:{view.y}px;height:{view.height}px{width}}}"
    )


def css_name(text: str) -> str:
    """As CSS.escape, for what follows the first letter: an id is the author's and may be anything."""
    return "".join(
        c if c.isascii() and (c.isalnum() or c in "-_") else f"\\{ord(c):x} " for c in text
    )
