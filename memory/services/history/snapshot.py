"""Search a namespace as it was at a moment in the past, using the revisions of that time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db.models import Count, F, Max, Min, OuterRef, Q, QuerySet, Subquery, Window

from config.retry import retry_on_conflict
from memory.core.recall.selection import answer
from memory.core.records import MemoryEntry, MemoryQuery, Tier
from memory.models import Entry, Namespace, Revision
from memory.models.conditions import build_any_of_condition
from memory.providers.postgres import rows
from memory.providers.postgres.snapshots import REMOVING_OPERATIONS, build_entry_as_of
from memory.providers.postgres.value_sources import add_value_sources
from memory.services.entries.listing import MAX_PAGE_SIZE, EntryPage
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.gateway import open_namespace
from memory.services.recall.search import (
    EntrySearch,
    Sort,
    filter_revisions,
    matches_search,
    sort_entries,
)


# A text search reads only the newest revisions of that moment, since past texts have no index.
MAX_SCANNED: Final = 5_000
FEW_ENTRIES: Final = 5_000

_ORDERS: Final[Mapping[Sort, tuple[Any, ...]]] = {  # what order_by takes
    Sort.BEST: ("-at", "-entry_id"),
    Sort.NEWEST: ("-at", "-entry_id"),
    Sort.OLDEST: ("at", "entry_id"),
    Sort.KEY: ("entry__key", "entry_id"),
    Sort.IMPORTANCE: ("-importance", "-at", "-entry_id"),
    Sort.ENDING: (F("expires_at").asc(nulls_last=True), "-at", "-entry_id"),
}


@dataclass(frozen=True, slots=True)
class SnapshotPage:
    """A page of the entries of a snapshot.

    ``changed`` has the ids of the entries that have changed since or are gone. A snapshot at ``before`` lacks the last
    change of this one, and one at ``after`` has the next change, too. ``scan_limit`` is the number of entries that were
    searched for the text, if there were more.
    """

    page: EntryPage
    changed: frozenset[str]
    before: datetime | None = None
    after: datetime | None = None
    scan_limit: int | None = None


@retry_on_conflict
def search_snapshot(
    caller: MemoryCaller,
    *,
    namespace: str,
    moment: datetime,
    search: EntrySearch,
    limit: int = 50,
    offset: int = 0,
) -> SnapshotPage:
    """Search the entries, quarantined ones too, as they were at ``moment``. External providers have no snapshots."""
    with open_namespace(caller, "view", "memory.listed", namespace=namespace) as access:
        row = access.target.row
        access.detail["as_of"] = moment.isoformat()
        if row is None or access.external is not None:
            return SnapshotPage(EntryPage([], 0, offset), frozenset())
        matches = filter_revisions(_select_revisions(row, moment), search)
        page = slice(offset, offset + min(limit, MAX_PAGE_SIZE))
        scan_limit = None
        if search.text:
            newest = list(matches.order_by(*_ORDERS[Sort.NEWEST])[: MAX_SCANNED + 1])
            revisions = newest[:MAX_SCANNED]
            scan_limit = MAX_SCANNED if newest[MAX_SCANNED:] else None
            hits = _search_text(
                [_build_entry(revision, row) for revision in revisions], search, moment
            )
            entries, total = hits[page], len(hits)
        else:
            # Rows and total come from one query: finding the newest revision of each is the slow part.
            ordered = matches.annotate(total=Window(Count("*"))).order_by(*_ORDERS[search.sort])
            revisions = list(ordered[page])
            entries = [_build_entry(revision, row) for revision in revisions]
            first: Any = revisions[0] if revisions else None  # Any: annotated with the total
            total = first.total if first else (matches.count() if offset else 0)
        access.detail["keys"] = total
        entries = add_value_sources(entries)
        changed = frozenset(
            str(revision.entry_id)
            for revision in revisions
            if revision.entry.revision != revision.number
        )
        before, after = _find_neighbors(row, moment)
        return SnapshotPage(EntryPage(entries, total, offset), changed, before, after, scan_limit)


def _select_revisions(namespace: Namespace, moment: datetime) -> QuerySet[Revision]:
    """Return the revision of each entry at that moment, without entries that were forgotten or expired by then."""
    newest = Revision.objects.unscoped().filter(_build_newest_condition(namespace, moment))
    living = newest.exclude(operation__in=REMOVING_OPERATIONS).exclude(expires_at__lte=moment)
    return living.select_related("entry").order_by("entry_id")


def _build_newest_condition(namespace: Namespace, moment: datetime) -> Q:
    """Return the condition that selects the newest revision of each entry at that moment.

    For few entries, a subquery looks up the last revision of each, and nothing is sorted; for many, sorting all their
    revisions is faster.
    """
    until_then = Revision.objects.unscoped().filter(team_id=namespace.team_id, at__lte=moment)
    if namespace.entry_count > FEW_ENTRIES:
        revisions = until_then.filter(entry__namespace=namespace).order_by("entry_id", "-number")
        return Q(pk__in=revisions.distinct("entry_id").values("pk"))
    latest = until_then.filter(entry=OuterRef("pk")).order_by("-number").values("pk")[:1]
    entries = Entry.objects.unscoped().filter(namespace=namespace)
    return build_any_of_condition(
        "id", entries.annotate(last_by_then=Subquery(latest)), "last_by_then"
    )


def _search_text(
    entries: Sequence[MemoryEntry], search: EntrySearch, moment: datetime
) -> list[MemoryEntry]:
    """Return the entries as a search at that moment would have ranked them, then others that contain the text."""
    recallable = [entry for entry in entries if entry.tier is not Tier.QUARANTINE]
    query = MemoryQuery("", query_text=search.text, min_score=search.min_score, include_former=True)
    hits = answer(query, recallable, moment)
    hit_ids = {entry.id for entry in hits}
    rest = [entry for entry in entries if entry.id not in hit_ids]
    matching = [entry for entry in rest if matches_search(EntrySearch(search.text), entry)]
    results = [*hits, *sort_entries(EntrySearch(), matching)]
    return results if search.sort is Sort.BEST else sort_entries(search, results)


def _build_entry(revision: Revision, namespace: Namespace) -> MemoryEntry:
    return build_entry_as_of(rows.build_entry(revision.entry, namespace.text), revision)


def _find_neighbors(row: Namespace, moment: datetime) -> tuple[datetime | None, datetime | None]:
    revisions = Revision.objects.unscoped().filter(entry__namespace=row)
    moments = revisions.aggregate(
        last=Max("at", filter=Q(at__lte=moment)), first=Min("at", filter=Q(at__gt=moment))
    )
    last: datetime | None = moments["last"]
    before = revisions.filter(at__lt=last).aggregate(last=Max("at"))["last"] if last else None
    return before, moments["first"]
