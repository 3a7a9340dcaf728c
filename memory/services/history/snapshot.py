"""A namespace as it stood at a moment, from the revisions that were there by then; nothing of it can be changed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from django.db.models import Count, F, Max, Min, OuterRef, Q, QuerySet, Subquery, Window

from config.retry import retry_on_conflict
from memory.core.filters import parse_filter
from memory.core.recall.selection import answer
from memory.core.records import MemoryEntry, MemoryQuery, Tier
from memory.models import Entry, Namespace, Revision
from memory.models.readable import any_of
from memory.providers.postgres import rows
from memory.providers.postgres.filters import narrowed
from memory.providers.postgres.snapshots import GONE, as_it_was
from memory.services.entries.listing import MOST_A_PAGE, EntryPage
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.gateway import MemoryGateway
from memory.services.recall.search import EntrySearch, Sort, fits, in_order


# By words: the newest of that moment. What it said then, nothing indexes.
MOST_LOOKED_THROUGH: Final = 5_000
FEW_ENTRIES: Final = 5_000


@dataclass(frozen=True, slots=True)
class Stood:
    """``changed``: ids of those that are something else by now, or gone. ``before`` and ``after`` are the moments
    of the changes around it; ``before`` is where one lands by taking the last one back. ``most``: how many of the
    newest the words were looked for in, where there were more."""

    page: EntryPage
    changed: frozenset[str]
    before: datetime | None = None
    after: datetime | None = None
    most: int | None = None


@retry_on_conflict
def stood(
    caller: MemoryCaller,
    *,
    namespace: str,
    at: datetime,
    sought: EntrySearch,
    limit: int = 50,
    offset: int = 0,
) -> Stood:
    with MemoryGateway(caller).open_namespace(
        "view", "memory.listed", namespace=namespace
    ) as access:
        row = access.place.row
        access.detail["as_of"] = at.isoformat()
        if row is None or access.external is not None:
            return Stood(EntryPage([], 0, offset), frozenset())
        found = _narrowed(_standing(row, at), sought)
        until = offset + min(limit, MOST_A_PAGE)
        is_all = True
        if sought.text:
            newest = list(found.order_by(*_ORDERS[Sort.NEWEST])[: MOST_LOOKED_THROUGH + 1])
            revisions, is_all = newest[:MOST_LOOKED_THROUGH], len(newest) <= MOST_LOOKED_THROUGH
            every = _looked_through([_entry(one, row) for one in revisions], sought, at)
            entries, total = every[offset:until], len(every)
        else:
            # Counted as they are sorted: which one is the newest of each is what takes time.
            counted = found.annotate(total=Window(Count("*"))).order_by(*_ORDERS[sought.sort])
            revisions = list(counted[offset:until])
            entries = [_entry(one, row) for one in revisions]
            first: Any = revisions[0] if revisions else None  # Any: it brings the count along
            total = first.total if first else found.count() if offset else 0
        access.detail["keys"] = total
        changed = frozenset(str(one.entry_id) for one in revisions if _is_else_now(one))
        page = EntryPage(entries, total, offset)
        most = None if is_all else MOST_LOOKED_THROUGH
        return Stood(page, changed, *_around(row, at), most=most)


_Revisions = QuerySet[Revision]


def _standing(namespace: Namespace, at: datetime) -> _Revisions:
    """Of each entry the newest revision by then, without what was gone or over."""
    found = Revision.objects.unscoped().filter(_newest_by(namespace, at))
    there = found.exclude(operation__in=GONE).exclude(expires_at__lte=at)
    return there.select_related("entry").order_by("entry_id")


def _newest_by(namespace: Namespace, at: datetime) -> Q:
    """Of few entries each is asked for its last one by then, from the newest on, and no revision is sorted; of many,
    asking each takes longer than to sort all that they have."""
    by_then = Revision.objects.unscoped().filter(team_id=namespace.team_id, at__lte=at)
    if namespace.entry_count > FEW_ENTRIES:
        every = by_then.filter(entry__namespace=namespace).order_by("entry_id", "-number")
        return Q(pk__in=every.distinct("entry_id").values("pk"))
    of_one = by_then.filter(entry=OuterRef("pk")).order_by("-number").values("pk")[:1]
    entries = Entry.objects.unscoped().filter(namespace=namespace)
    return any_of("id", entries.annotate(last_by_then=Subquery(of_one)), "last_by_then")


def _narrowed(found: _Revisions, sought: EntrySearch) -> _Revisions:
    wanted: dict[str, Any] = {  # a condition each, of its own type
        "entry__key__icontains": sought.key,
        "category": sought.category,
        "tier": sought.tier,
        "actor": sought.actor,
        "at__gte": sought.since,
        "at__lt": sought.until,
    }
    found = found.filter(**{name: value for name, value in wanted.items() if value})
    return narrowed(found, parse_filter(sought.filter))


def _looked_through(
    entries: Sequence[MemoryEntry], sought: EntrySearch, at: datetime
) -> list[MemoryEntry]:
    """By words as they would have been ranked; what only contains them follows."""
    recalled = [one for one in entries if one.tier is not Tier.QUARANTINE]
    hits = answer(MemoryQuery("", query_text=sought.text), recalled, at)
    known = {one.id for one in hits}
    words = replace(EntrySearch(), text=sought.text)
    rest = [one for one in entries if one.id not in known and fits(words, one)]
    found = [*hits, *in_order(EntrySearch(), rest)]
    return found if sought.sort is Sort.BEST else in_order(sought, found)


_ORDERS: Final[Mapping[Sort, tuple[Any, ...]]] = {  # what order_by takes
    Sort.BEST: ("-at", "-entry_id"),
    Sort.NEWEST: ("-at", "-entry_id"),
    Sort.OLDEST: ("at", "entry_id"),
    Sort.KEY: ("entry__key", "entry_id"),
    Sort.IMPORTANCE: ("-importance", "-at", "-entry_id"),
    Sort.ENDING: (F("expires_at").asc(nulls_last=True), "-at", "-entry_id"),
}


def _entry(revision: Revision, namespace: Namespace) -> MemoryEntry:
    was = as_it_was(rows.entry_of(revision.entry, namespace.text), revision)
    return replace(was, source=replace(was.source, actor=revision.actor))


def _is_else_now(revision: Revision) -> bool:
    return revision.entry.revision != revision.number


def _around(namespace: Namespace, at: datetime) -> tuple[datetime | None, datetime | None]:
    every = Revision.objects.unscoped().filter(entry__namespace=namespace)
    both = every.aggregate(
        last=Max("at", filter=Q(at__lte=at)), first=Min("at", filter=Q(at__gt=at))
    )
    last: datetime | None = both["last"]
    before = every.filter(at__lt=last).aggregate(last=Max("at"))["last"] if last else None
    return before, both["first"]
