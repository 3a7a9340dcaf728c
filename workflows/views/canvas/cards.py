"""A node as a template prints it: everything decided, nothing left to ask."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from workflows.engine.document import NodeSpec
from workflows.engine.geometry import DOTS, SOURCE, Shape, number, shape
from workflows.engine.kinds import AnyKind
from workflows.engine.problems import Problem
from workflows.templatetags.problems import in_words
from workflows.views.editor.looks import look_of
from workflows.views.editor.marks import Mark
from workflows.views.editor.summaries import Way, clipped, summary, ways


# Room on a card, in columns: a letter is one wide, a Chinese character two. Cut here and not by the
# browser: what clips its overflow is a paint chunk of its own.
TITLE_ROOM = 25
KIND_ROOM = 26
CHIP_ROOM = 4
BOX_ROOM = 48
LINE_ROOM = 33
REMEMBERS_ROOM = 12


@dataclass(frozen=True, slots=True)
class Badge:
    """What is wrong with the node, in short; the sentences are its tooltip."""

    word: str
    sentences: str
    is_error: bool


@dataclass(frozen=True, slots=True)
class CardView:
    id: str
    kind: str
    title: str
    kind_title: str
    icon: str
    family: str
    parent: str
    x: str
    y: str
    width: str
    height: str
    summary: str
    ways: tuple[Way, ...]
    outs: str  # the handles as JSON; empty for a single plain way out
    rows: int
    has_way_in: bool
    is_box: bool
    is_dot: bool
    remembers: bool
    is_disabled: bool
    is_pinned: bool
    joins: int
    badge: Badge | None
    label: str
    mark: Mark | None = None

    @property
    def short_title(self) -> str:
        chips = sum((bool(self.badge), self.is_disabled, self.is_pinned, bool(self.mark)))
        return clipped(self.title, BOX_ROOM if self.is_box else TITLE_ROOM - CHIP_ROOM * chips)

    @property
    def line(self) -> str:
        """Below the title."""
        words = (self.kind_title, self.summary) if self.is_box else (self.kind_title,)
        return clipped(" · ".join(filter(None, words)), BOX_ROOM if self.is_box else KIND_ROOM)

    @property
    def has_rows(self) -> bool:
        return len(self.ways) > 1


def card(
    node: NodeSpec,
    kinds: Mapping[str, AnyKind],
    *,
    problems: Sequence[Problem] = (),
    joins: int = 0,
    at: tuple[float, float] | None = None,
    is_box: bool = False,
    is_pinned: bool = False,
) -> CardView:
    kind = kinds.get(node.kind)
    form = shape(node, kinds, is_box=is_box)
    look = look_of(node.kind, kind)
    kind_title = _(kind.title) if kind else node.kind
    badge = _badge(problems)
    x, y = at or (node.position.x, node.position.y)
    return CardView(
        id=node.id,
        kind=node.kind,
        title=node.title or kind_title,
        kind_title=kind_title,
        icon=look.icon,
        family=look.family,
        parent=node.parent or "",
        x=number(x),
        y=number(y),
        width=number(form.width),
        height=number(form.height),
        summary=clipped(summary(node, kind), LINE_ROOM - REMEMBERS_ROOM * _remembers(node))
        if form.rows or form.is_box
        else "",
        ways=ways(node, kind, form.ways),
        outs=_outs(form),
        rows=form.rows,
        has_way_in=form.has_way_in,
        is_box=form.is_box,
        is_dot=node.kind in DOTS,
        remembers=_remembers(node),
        is_disabled=node.data.get("disabled") is True,
        is_pinned=is_pinned,
        joins=joins,
        badge=badge,
        label=", ".join(filter(None, (node.title, kind_title, badge.word if badge else ""))),
    )


def _outs(form: Shape) -> str:
    return "" if form.ways == (SOURCE,) else json.dumps(form.ways, ensure_ascii=False)


def _remembers(node: NodeSpec) -> bool:
    memory = node.data.get("enhanced_memory")
    return isinstance(memory, Mapping) and bool(memory.get("enabled"))


def _badge(problems: Sequence[Problem]) -> Badge | None:
    if not problems:
        return None
    return Badge(
        word=_("problems: %(count)d") % {"count": len(problems)},
        sentences="\n".join(in_words(problem) for problem in problems),
        is_error=any(problem.is_error for problem in problems),
    )
