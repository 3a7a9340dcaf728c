"""A node's card as a template prints it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from django.utils.translation import gettext as _

from workflows.engine.geometry import SOURCE, Shape, compute_shape, format_number
from workflows.engine.kinds import AnyKind
from workflows.engine.language.document import NodeSpec, Position
from workflows.engine.language.memory_usage import MEMORY_FIELDS
from workflows.engine.language.problems import Problem
from workflows.engine.nodes import find_appearance
from workflows.llm.directory import ModelDirectory
from workflows.templatetags.kind_words import get_kind_title
from workflows.templatetags.problems import describe_problem
from workflows.views.canvas.model_marks import ModelMark, build_model_mark
from workflows.views.canvas.summaries import (
    LabelledHandle,
    clip,
    count_columns,
    label_handles,
    summarize_node,
)


# Widths on a card, in columns: a letter is one wide, a Chinese character two. Texts are cut here, not by the
# browser, because every element that clips its overflow is a separate paint chunk.
TITLE_WIDTH = 20
LINE_WIDTH = 28
CHIP_WIDTH = 4
BOX_WIDTH = 48
BADGE_MARGIN = 3


@dataclass(frozen=True, slots=True)
class Mark:
    """The difference of a node, edge or note between two versions: a sign and a word, never a color alone."""

    name: str
    sign: str
    word: str


@dataclass(frozen=True, slots=True)
class Badge:
    """The number of a node's problems; the tooltip has their messages."""

    word: str
    sentences: str
    is_error: bool


@dataclass(frozen=True, slots=True)
class CardView:
    """The values that the template prints; coordinates and sizes are already formatted."""

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
    line: str  # below the title
    handles: tuple[LabelledHandle, ...]
    handle_names: str  # as JSON; empty for a single unlabelled handle
    has_target_handle: bool
    is_box: bool
    is_dot: bool
    remembers: bool
    is_disabled: bool
    is_pinned: bool
    incoming: int
    badge: Badge | None
    label: str
    mark: Mark | None
    model_mark: ModelMark | None  # of a node that names a model

    @property
    def model_badge(self) -> ModelMark | None:
        """Return the mark if another model than the named one answers."""
        return self.model_mark if self.model_mark and self.model_mark.state else None

    @property
    def short_title(self) -> str:
        return clip(self.title, self._cut_for_chips(TITLE_WIDTH))

    @property
    def short_line(self) -> str:
        badge = self.model_badge
        pill = count_columns(badge.word) + BADGE_MARGIN if badge else 0
        return clip(self.line, self._cut_for_chips(LINE_WIDTH) - pill)

    def _cut_for_chips(self, width: int) -> int:
        """Return the columns that the marks at the right of the card leave to a text."""
        if self.is_box:
            return BOX_WIDTH
        marks = (self.badge, self.is_disabled, self.is_pinned, self.mark, self.remembers)
        return width - CHIP_WIDTH * sum(map(bool, marks))

    @property
    def has_rows(self) -> bool:
        return len(self.handles) > 1


def build_card(
    node: NodeSpec,
    kinds: Mapping[str, AnyKind],
    *,
    problems: Sequence[Problem] = (),
    incoming: int = 0,
    position: Position | None = None,
    shape: Shape | None = None,
    is_box: bool = False,
    is_pinned: bool = False,
    mark: Mark | None = None,
    models: ModelDirectory | None = None,
) -> CardView:
    """Describe a node's card. ``position`` and ``shape`` are given if they differ from what is stored.

    With the team's ``models``, the card says which one answers.
    """
    shape = shape or compute_shape(node, kinds, is_box=is_box)
    appearance = find_appearance(node.kind, kinds)
    kind_title = get_kind_title(node.kind, kinds)
    badge = _build_badge(problems)
    model_mark = build_model_mark(node, models)
    position = position or node.position
    title = node.title or kind_title
    return CardView(
        id=node.id,
        kind=node.kind,
        title=title,
        kind_title=kind_title,
        icon=appearance.icon,
        family=appearance.family,
        parent=node.parent or "",
        x=format_number(position.x),
        y=format_number(position.y),
        width=format_number(shape.width),
        height=format_number(shape.height),
        line=summarize_node(_name_model(node, model_mark), kinds, title),
        handles=label_handles(node, kinds, shape.handles),
        handle_names=_encode_handles(shape),
        has_target_handle=shape.has_target_handle,
        is_box=shape.is_box,
        is_dot=shape.is_dot,
        remembers=_uses_memory(node),
        is_disabled=node.data.get("disabled") is True,
        is_pinned=is_pinned,
        incoming=incoming,
        badge=badge,
        mark=mark,
        model_mark=model_mark,
        label=_build_label(node.title, kind_title, model_mark, badge),
    )


def _build_label(title: str, kind_title: str, model: ModelMark | None, badge: Badge | None) -> str:
    """Return the text by which a screen reader names the card."""
    parts = (title, kind_title, model.sentence if model else "", badge.word if badge else "")
    return ", ".join(filter(None, parts))


def _name_model(node: NodeSpec, mark: ModelMark | None) -> NodeSpec:
    """Return the node with the name of the model that answers for it."""
    if mark is None:
        return node
    model = {**(node.data.get("model") or {}), "name": mark.name}
    return replace(node, data={**node.data, "model": model})


def _encode_handles(shape: Shape) -> str:
    return "" if shape.handles == (SOURCE,) else json.dumps(shape.handles, ensure_ascii=False)


def _uses_memory(node: NodeSpec) -> bool:
    memory, tools = (node.data.get(name) for name in MEMORY_FIELDS)
    if isinstance(tools, Mapping) and any(tools.values()):
        return True
    return isinstance(memory, Mapping) and bool(memory.get("enabled"))


def _build_badge(problems: Sequence[Problem]) -> Badge | None:
    if not problems:
        return None
    return Badge(
        word=_("Problems: %(count)d") % {"count": len(problems)},
        sentences="\n".join(describe_problem(problem) for problem in problems),
        is_error=any(problem.is_error for problem in problems),
    )
