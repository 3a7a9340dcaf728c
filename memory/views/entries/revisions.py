"""A history as pages show it: who changed what and why, each revision against the one before it."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.utils import formats, timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from memory.core.records import Json
from memory.host import RunDescription
from memory.logic.text_diff import DiffSegment
from memory.models import Revision
from memory.models.entries import TierChoice
from memory.provenance import Provenance


@dataclass(frozen=True, slots=True)
class Origin:
    """Who or what; ``run`` is none where there was none, or where the reader may not see it."""

    actor: str
    run: RunDescription | None
    run_id: str
    node: str


# What a text that changed is called, if it isn't all there is, and the difference.
Changed = tuple[str | Promise, tuple[DiffSegment, ...]]


@dataclass(frozen=True, slots=True)
class RevisionTold:
    """``texts``: what was written, against the one before; ``fields``: what else changed, before and after."""

    row: Revision
    origin: Origin
    is_first: bool
    texts: tuple[Changed, ...]
    fields: tuple[tuple[str | Promise, str, str], ...] = ()


REVISIONS_A_PAGE: Final = 25


def revisions_told(
    told: Provenance,
    rows: Sequence[Revision],
    texts: Callable[[Revision, Revision], Iterable[Changed]],
) -> tuple[RevisionTold, ...]:
    """Newest first, each against the one that follows it here; of one row more than a page shows, the page."""
    pairs = list(zip(rows, [*rows[1:], None], strict=True))[:REVISIONS_A_PAGE]
    return tuple(
        RevisionTold(
            row,
            origin_of(told, row.actor, row.run_id, row.node_id),
            before is None,
            tuple(texts(before, row)) if before else (),
            tuple(_fields(before, row)) if before else (),
        )
        for row, before in pairs
    )


def older_than(rows: Sequence[Revision]) -> int | None:
    """The number before which there are more."""
    return rows[REVISIONS_A_PAGE - 1].number if len(rows) > REVISIONS_A_PAGE else None


def number_asked(text: str) -> int | None:
    return int(text) if text.isdecimal() and len(text) < 10 else None


def origin_of(told: Provenance, actor: str, run_id: str, node_id: str) -> Origin:
    """A run that acts for itself is named once, as the run."""
    run = told.runs.get(run_id)
    itself = run is not None and actor == f"run:{run_id}"
    who = "" if itself else told.actors.get(actor, "")
    return Origin(who, run, run_id, told.get_node_title(run_id, node_id))


_FIELDS: Final[tuple[tuple[str, Promise], ...]] = (
    ("tier", _("Tier")),
    ("category", _("Category")),
    ("importance", _("Importance")),
    ("expires_at", _("Expires")),
)


def _fields(before: Revision, row: Revision) -> Iterable[tuple[str | Promise, str, str]]:
    for name, label in _FIELDS:
        old, new = getattr(before, name), getattr(row, name)
        if old != new:
            yield label, _shown(old), _shown(new)
    if row.metadata != before.metadata:
        for name in sorted({*row.metadata, *before.metadata}):
            old, new = before.metadata.get(name), row.metadata.get(name)
            if old != new:
                yield name, _shown(old), _shown(new)


def _shown(value: Json) -> str:
    if value in TierChoice.values:
        return str(TierChoice(value).label)
    if isinstance(value, datetime):
        return formats.date_format(timezone.localtime(value), "DATETIME_FORMAT")
    return "–" if value is None else str(value)
