"""The revisions of an entry or a page for display: who changed what and why, each compared with the one before."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.utils import formats, timezone
from django.utils.functional import Promise
from django.utils.text import capfirst

from memory.core.entry_codec import STATE
from memory.core.records import Json
from memory.host import RunDescription
from memory.logic.text_diff import DiffSegment
from memory.models import Revision
from memory.models.entries import PromptUseChoice, TierChoice
from memory.provenance import Provenance


REVISIONS_PER_PAGE: Final = 25
# Value and metadata are shown separately; a position means nothing to a reader.
_FIELDS: Final = [
    (field.name, capfirst(field.verbose_name))
    for field in Revision._meta.concrete_fields
    if field.name in {*STATE} - {"value", "metadata", "position"}
]

# The labels of values by the names of their fields.
_CHOICES: Final[Mapping[str, Mapping[str, str | Promise]]] = {
    "tier": dict(TierChoice.choices),
    "prompt_use": dict(PromptUseChoice.choices),
}


@dataclass(frozen=True, slots=True)
class Origin:
    """The author of a revision or recall; ``run`` is None if there was none or the reader may not see it."""

    actor: str
    run: RunDescription | None
    run_id: str
    node: str
    is_run_deleted: bool = False


# The label of a changed text, empty for the whole value, and the difference.
TextChange = tuple[str | Promise, tuple[DiffSegment, ...]]


@dataclass(frozen=True, slots=True)
class RevisionRow:
    """A revision; ``texts`` are the changed texts, ``fields`` the labels of other changes with both values."""

    row: Revision
    origin: Origin
    is_first: bool
    texts: tuple[TextChange, ...]
    fields: tuple[tuple[str | Promise, str, str], ...] = ()


def build_revision_rows(
    provenance: Provenance,
    rows: Sequence[Revision],
    diff_texts: Callable[[Revision, Revision], Iterable[TextChange]],
) -> tuple[RevisionRow, ...]:
    """Return a page of revisions, newest first, each compared with the next in ``rows``.

    ``rows`` may have one row more than a page.
    """
    pairs = list(zip(rows, [*rows[1:], None], strict=True))[:REVISIONS_PER_PAGE]
    return tuple(
        RevisionRow(
            row,
            build_origin(provenance, row.actor, row.run_id, row.node_id),
            before is None,
            tuple(diff_texts(before, row)) if before else (),
            tuple(_list_field_changes(before, row)) if before else (),
        )
        for row, before in pairs
    )


def find_older_number(rows: Sequence[Revision]) -> int | None:
    """Return the lowest revision number of the page if there are older revisions, else None."""
    return rows[REVISIONS_PER_PAGE - 1].number if len(rows) > REVISIONS_PER_PAGE else None


def parse_revision(text: str) -> int | None:
    """Parse a number in a query or form; return None if it is missing or invalid."""
    return int(text) if text.isdecimal() and len(text) < 10 else None


def build_origin(provenance: Provenance, actor: str, run_id: str, node_id: str) -> Origin:
    """Build the origin. If a run is its own actor, only the run is named."""
    run = provenance.runs.get(run_id)
    is_deleted = run_id in provenance.deleted_runs
    is_run = (run is not None or is_deleted) and actor == f"run:{run_id}"
    label = "" if is_run else provenance.actors.get(actor, "")
    node = provenance.get_node_title(run_id, node_id)
    return Origin(label, run, run_id, node, is_deleted)


def _list_field_changes(
    before: Revision, row: Revision
) -> Iterable[tuple[str | Promise, str, str]]:
    for name, label in _FIELDS:
        old, new = getattr(before, name), getattr(row, name)
        if old != new:
            yield label, _format_field(name, old), _format_field(name, new)
    if row.metadata != before.metadata:
        for name in sorted({*row.metadata, *before.metadata}):
            old, new = before.metadata.get(name), row.metadata.get(name)
            if old != new:
                yield name, _format_value(old), _format_value(new)


def _format_field(name: str, value: Json) -> str:
    choices = _CHOICES.get(name)
    return str(choices[value]) if choices and value in choices else _format_value(value)


def _format_value(value: Json) -> str:
    if isinstance(value, datetime):
        return formats.date_format(timezone.localtime(value), "DATETIME_FORMAT")
    return "–" if value is None or value == "" else str(value)
