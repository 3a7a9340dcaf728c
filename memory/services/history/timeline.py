"""What happened in a namespace, newest first: acts, each with the entries it touched, and how much on which day."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any
from uuid import UUID

from django.contrib.postgres.aggregates import ArrayAgg
from django.db.models import Count, Max, QuerySet, Window
from django.db.models.functions import TruncDate

from config.retry import retry_on_conflict
from memory.core.filters import parse_filter
from memory.core.records import Json
from memory.models import Change, Revision
from memory.models.entries import Operation
from memory.providers.postgres.filters import narrowed
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.gateway import MemoryGateway
from memory.services.recall.search import EntrySearch


DAYS = 60  # drawn as bars
KEYS = 5  # of an act over many


@dataclass(frozen=True, slots=True)
class Happened:
    """One act: a step's or a person's, over one entry or many. ``value`` is what one entry had after it."""

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
    happened: Sequence[Happened]
    total: int
    offset: int
    days: Sequence[Day] = field(
        default=()
    )  # the last ones on which something happened, oldest first


@retry_on_conflict
def timeline(
    caller: MemoryCaller, *, namespace: str, sought: EntrySearch, limit: int = 50, offset: int = 0
) -> Timeline:
    """``sought`` narrows by what a change made of an entry; ``actor`` is who made the change."""
    with MemoryGateway(caller).open_namespace(
        "view", "memory.listed", namespace=namespace
    ) as access:
        row = access.place.row
        if row is None or access.external is not None:
            return Timeline((), 0, offset)
        every = _narrowed(Revision.objects.unscoped().filter(entry__namespace=row), sought)
        acts = every.values("change_id", "operation").annotate(at_last=Max("at"), count=Count("id"))
        # How many acts there are is counted as they are sorted: grouping them is what takes time.
        counted = acts.annotate(total=Window(Count("*"))).order_by("-at_last", "-change_id")
        page = list(counted[offset : offset + limit])
        total = page[0]["total"] if page else acts.count() if offset else 0
        access.detail["keys"] = total
        return Timeline(_told(every, page), total, offset, _days(every))


def _narrowed(found: QuerySet[Revision], sought: EntrySearch) -> QuerySet[Revision]:
    wanted: dict[str, Any] = {  # a condition each, of its own type
        "entry__text__icontains": sought.text,
        "entry__key__icontains": sought.key,
        "category": sought.category,
        "tier": sought.tier,
        "actor": sought.actor,
        "at__gte": sought.since,
        "at__lt": sought.until,
    }
    found = found.filter(**{name: value for name, value in wanted.items() if value})
    return narrowed(found, parse_filter(sought.filter)).order_by()


def _told(every: QuerySet[Revision], page: Sequence[Mapping[str, Any]]) -> tuple[Happened, ...]:
    ids = [one["change_id"] for one in page]
    of_page = every.filter(change_id__in=ids)
    keys = {
        (one["change_id"], one["operation"]): one["keys"]
        for one in of_page.values("change_id", "operation").annotate(
            keys=ArrayAgg("entry__key", order_by="entry__key")
        )
    }
    shown = of_page.order_by("change_id", "operation", "entry_id")
    first = {
        (one.change_id, one.operation): one for one in shown.distinct("change_id", "operation")
    }
    open_ones = set(
        Change.objects.unscoped().filter(pk__in=ids, undone_at=None).values_list("pk", flat=True)
    )
    told = []
    for one in page:
        which = (one["change_id"], one["operation"])
        revision = first[which]
        told.append(
            Happened(
                one["change_id"],
                one["operation"],
                one["count"],
                one["at_last"],
                revision.actor,
                revision.reason,
                revision.run_id,
                revision.node_id,
                tuple(keys[which][:KEYS]),
                revision.entry_id,
                revision.value if one["count"] == 1 else None,
                one["change_id"] in open_ones,
            )
        )
    return tuple(told)


def _days(every: QuerySet[Revision]) -> tuple[Day, ...]:
    by_day = every.annotate(on=TruncDate("at")).values_list("on", "operation")
    counts: dict[date, dict[str, int]] = {}
    for on, operation, count in by_day.annotate(Count("id")).order_by("-on")[: DAYS * _MOST_KINDS]:
        counts.setdefault(on, {})[operation] = count
    return tuple(Day(on, counts[on]) for on in reversed(list(counts)[:DAYS]))


_MOST_KINDS = len(Operation)  # of acts a day
