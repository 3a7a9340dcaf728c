"""Read the changes in a namespace, newest first, each with its entries, and the numbers of changes by day."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any
from uuid import UUID

from django.contrib.postgres.aggregates import ArrayAgg
from django.db.models import Count, Max, QuerySet, Window
from django.db.models.functions import TruncDate

from config.retry import retry_on_conflict
from memory.core.records import Json
from memory.models import Change, Revision
from memory.models.entries import Operation
from memory.providers.postgres.folding import contains
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.gateway import open_namespace
from memory.services.recall.search import EntrySearch, filter_revisions


MAX_DAYS = 60  # drawn as bars
MAX_KEYS = 5  # listed of a change over many entries


@dataclass(frozen=True, slots=True)
class ChangeSummary:
    """One operation of a change, on one or several entries. ``value`` is the new value if it is only one entry."""

    change_id: UUID
    operation: str
    count: int
    at: datetime
    actor: str
    reason: str
    run_id: str
    node_id: str
    keys: tuple[str, ...]
    entry_id: UUID
    value: Json = None
    can_undo: bool = False


@dataclass(frozen=True, slots=True)
class Day:
    on: date
    counts: Mapping[str, int]  # by operation

    @property
    def total(self) -> int:
        return sum(self.counts.values())


@dataclass(frozen=True, slots=True)
class Timeline:
    changes: Sequence[ChangeSummary]
    total: int
    offset: int
    days: Sequence[Day] = field(default=())  # the last days with changes, oldest first


@retry_on_conflict
def read_timeline(
    caller: MemoryCaller, *, namespace: str, search: EntrySearch, limit: int = 50, offset: int = 0
) -> Timeline:
    """Return a page of the changes that match the search.

    The text is searched in the present entry, everything else in its state after the change.
    """
    with open_namespace(caller, "view", "memory.listed", namespace=namespace) as access:
        row = access.target.row
        if row is None or access.external is not None:
            return Timeline((), 0, offset)
        revisions: QuerySet[Revision] = Revision.objects.unscoped().filter(entry__namespace=row)
        revisions = revisions.filter(contains("entry__text", search.text))
        revisions = filter_revisions(revisions, search).order_by()
        groups = revisions.values("change_id", "operation")
        changes = groups.annotate(at_last=Max("at"), count=Count("id"))
        # Rows and total come from one query: grouping the revisions is the slow part.
        ordered = changes.annotate(total=Window(Count("*"))).order_by("-at_last", "-change_id")
        page = list(ordered[offset : offset + limit])
        total = page[0]["total"] if page else (changes.count() if offset else 0)
        access.detail["keys"] = total
        return Timeline(_summarize_changes(revisions, page), total, offset, _count_days(revisions))


def _summarize_changes(
    revisions: QuerySet[Revision], page: Sequence[Mapping[str, Any]]
) -> tuple[ChangeSummary, ...]:
    ids = [row["change_id"] for row in page]
    page_revisions = revisions.filter(change_id__in=ids)
    groups = page_revisions.values("change_id", "operation")
    keys = {
        (row["change_id"], row["operation"]): row["keys"]
        for row in groups.annotate(keys=ArrayAgg("entry__key", order_by="entry__key"))
    }
    ordered = page_revisions.order_by("change_id", "operation", "entry_id")
    first_revisions = {
        (row.change_id, row.operation): row for row in ordered.distinct("change_id", "operation")
    }
    undoable = Change.objects.unscoped().filter(pk__in=ids, undone_at=None)
    undoable_ids = set(undoable.values_list("pk", flat=True))
    changes = []
    for row in page:
        change_key = (row["change_id"], row["operation"])
        revision = first_revisions[change_key]
        changes.append(
            ChangeSummary(
                row["change_id"],
                row["operation"],
                row["count"],
                row["at_last"],
                revision.actor,
                revision.reason,
                revision.run_id,
                revision.node_id,
                tuple(keys[change_key][:MAX_KEYS]),
                revision.entry_id,
                revision.value if row["count"] == 1 else None,
                row["change_id"] in undoable_ids,
            )
        )
    return tuple(changes)


def _count_days(revisions: QuerySet[Revision]) -> tuple[Day, ...]:
    by_day = revisions.annotate(on=TruncDate("at")).values_list("on", "operation")
    counts: dict[date, dict[str, int]] = {}
    newest = by_day.annotate(Count("id")).order_by("-on")[: MAX_DAYS * len(Operation)]
    for on, operation, count in newest:
        counts.setdefault(on, {})[operation] = count
    return tuple(Day(on, counts[on]) for on in reversed(list(counts)[:MAX_DAYS]))
