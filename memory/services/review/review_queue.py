"""The review queue: open proposals and quarantined entries of the namespaces that the caller may read.

Each item comes with what accepting it would change now, computed for a whole page at once.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final
from uuid import UUID

from django.core.exceptions import EmptyResultSet
from django.db.models import Count, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.tenancy import reading, tenant
from config.sql import read_queries
from memory import permissions
from memory.core.errors import NotFound
from memory.core.records import Json, Source, Tier
from memory.logic.entries.tiers import TierAction
from memory.logic.review.proposal_plans import ProposalDiff
from memory.logic.review.proposals import ReviewState
from memory.models import Entry, Namespace, Proposal
from memory.models.conditions import build_any_of_condition
from memory.providers.postgres.fixed_queries import fetch_rows
from memory.providers.postgres.rows import build_source
from memory.services.gateway.caller import MemoryCaller, select_visible
from memory.services.review.proposal_preview import preview_changes


QUERIES: Final = read_queries("memory/sql/queries/review_queue.sql")
HELD = "held"  # the kind of quarantined entries
CONTRADICTION = "contradiction"  # a merge in which one entry replaces the other
MAX_PAGE_SIZE = 100
MAX_NAMESPACES = 100  # offered as a filter

SUPERSEDES = Q(kind="merge", new__metadata__has_key="supersedes")  # the contradictions

# Quarantined entries that have not been rejected. Containment is never NULL, even if the key is missing.
_UNDECIDED = ~Q(metadata__contains={"review": str(TierAction.REJECT)})


@dataclass(frozen=True, slots=True)
class QueueFilters:
    """The filters of the queue; an empty field doesn't filter."""

    kind: str = ""
    namespace_id: UUID | None = None
    run_id: str = ""

    def __bool__(self) -> bool:
        return bool(self.kind or self.namespace_id or self.run_id)


@dataclass(frozen=True, slots=True)
class ReviewItem:
    """A proposal or a quarantined entry, decided or not."""

    row: Proposal | Entry

    @property
    def id(self) -> UUID:
        return self.row.pk

    @property
    def namespace(self) -> Namespace:
        return self.row.namespace

    @property
    def kind(self) -> str:
        return get_kind(self.row)


@dataclass(frozen=True, slots=True)
class QueueItem(ReviewItem):
    """An undecided item with what accepting it would change. ``new`` is the value that may be edited before."""

    diff: ProposalDiff
    can_decide: bool = True

    @property
    def created_at(self) -> datetime:
        return self.row.created_at

    @property
    def has_new(self) -> bool:
        return isinstance(self.row, Entry) or self.row.new is not None

    @property
    def new(self) -> Json:
        return get_value(self.row)

    @property
    def source(self) -> Source:
        """Return the run and node that the item comes from."""
        if isinstance(self.row, Entry):
            return build_source(self.row)
        source = Source(**self.row.new["source"]) if self.row.new else Source()
        return replace(source, run_id=self.row.run_id or source.run_id, rule="")


@dataclass(frozen=True, slots=True)
class QueuePage:
    """A page of the queue, with the numbers of items by namespace and in all, regardless of the filters."""

    items: Sequence[QueueItem]
    total: int
    offset: int
    namespaces: Sequence[tuple[Namespace, int]]
    queue_total: int


def count_queue(caller: MemoryCaller) -> int:
    """Return how many items wait. Pages of all kinds show it, and composing it with query sets takes longer than running it."""
    with reading([caller.team_id]):
        readable = select_visible(caller, Namespace).order_by().values("id")
        try:
            namespaces, params = readable.query.sql_with_params()
        except EmptyResultSet:  # the caller sees no namespace
            return 0
        sql = QUERIES["count"].format(namespaces=namespaces)
        ((count,),) = fetch_rows(sql, (*params, timezone.now()))
        return int(count)


def list_queue(
    caller: MemoryCaller,
    *,
    filters: QueueFilters = QueueFilters(),
    limit: int = 20,
    offset: int = 0,
) -> QueuePage:
    """Return a page of the proposals, highest score first, followed by the quarantined entries, newest first."""
    with reading([caller.team_id]):
        readable, now = select_visible(caller, Namespace), timezone.now()
        namespaces, queue_total = _count_by_namespace(readable, now)
        selected = readable.filter(pk=filters.namespace_id) if filters.namespace_id else readable
        proposals, held_entries = _apply_filters(
            _select_proposals(selected), _select_held_entries(selected, now), filters
        )
        proposal_count, held_count = proposals.count(), held_entries.count()
        page_size = min(limit, MAX_PAGE_SIZE)
        rows: list[Proposal | Entry] = []
        rows += proposals.order_by("-score", "-id")[offset : offset + page_size]
        start = max(0, offset - proposal_count)
        rows += held_entries.order_by("-updated_at", "-id")[start : start + page_size - len(rows)]
        items = _build_items(caller, _attach_namespaces(rows), now)
        return QueuePage(items, proposal_count + held_count, offset, namespaces, queue_total)


def get_queue_item(caller: MemoryCaller, *, item_id: UUID) -> QueueItem:
    """Return the item. Raise NotFound if it has been decided, or the caller may not read it."""
    with tenant([caller.team_id]):
        row = find_item(caller, item_id)
        if not _is_undecided(row):
            raise NotFound(_("Someone else has already decided this."))
        [item] = _build_items(caller, [row], timezone.now())
        return item


def list_queue_items(caller: MemoryCaller, *, item_ids: Iterable[UUID]) -> list[QueueItem]:
    """Return those of the items that are undecided and that the caller may read, in the order of the queue."""
    with tenant([caller.team_id]):
        readable, now, ids = select_visible(caller, Namespace), timezone.now(), list(item_ids)
        rows: list[Proposal | Entry] = [
            *_select_proposals(readable).filter(pk__in=ids).order_by("-score", "-id"),
            *_select_held_entries(readable, now).filter(pk__in=ids).order_by("-updated_at", "-id"),
        ]
        return _build_items(caller, _attach_namespaces(rows), now)


def find_item(caller: MemoryCaller, item_id: UUID) -> Proposal | Entry:
    """Return the item, decided or not. Raise NotFound if the caller may not read it."""
    row: Proposal | Entry | None
    row = select_visible(caller, Proposal).select_related("namespace").filter(pk=item_id).first()
    if row is None:
        row = select_visible(caller, Entry).select_related("namespace").filter(pk=item_id).first()
    if row is None:
        raise NotFound(_("Review item not found."))
    return row


def get_kind(row: Proposal | Entry) -> str:
    if isinstance(row, Entry):
        return HELD
    supersedes = row.new and row.new["metadata"].get("supersedes")
    return CONTRADICTION if row.kind == "merge" and supersedes else row.kind


def get_value(row: Proposal | Entry) -> Json:
    if isinstance(row, Entry):
        return row.value
    return row.new["value"] if row.new else None


def map_writable(caller: MemoryCaller, namespaces: Iterable[Namespace]) -> dict[UUID, bool]:
    """Return whether the caller may write to each namespace, and so decide about its items, by namespace id."""
    return {
        pk: permissions.is_allowed(caller.principal, "write", permissions.build_target(row))
        for pk, row in {row.pk: row for row in namespaces}.items()
    }


def _is_undecided(row: Proposal | Entry) -> bool:
    if isinstance(row, Proposal):
        return row.state == ReviewState.OPEN
    is_rejected = row.metadata.get("review") == TierAction.REJECT
    return row.tier == Tier.QUARANTINE and not row.is_forgotten and not is_rejected


def _select_proposals(namespaces: QuerySet[Namespace]) -> QuerySet[Proposal]:
    rows = Proposal.objects.unscoped().filter(state=ReviewState.OPEN.value)
    return rows.filter(build_any_of_condition("namespace_id", namespaces))


def _select_held_entries(namespaces: QuerySet[Namespace], now: datetime) -> QuerySet[Entry]:
    not_expired = Q(expires_at=None) | Q(expires_at__gt=now)
    rows = Entry.objects.unscoped().filter(
        not_expired, _UNDECIDED, tier=Tier.QUARANTINE.value, deleted_at=None
    )
    return rows.filter(build_any_of_condition("namespace_id", namespaces))


def _apply_filters(
    proposals: QuerySet[Proposal], held_entries: QuerySet[Entry], filters: QueueFilters
) -> tuple[QuerySet[Proposal], QuerySet[Entry]]:
    if filters.kind == HELD:
        proposals = proposals.none()
    elif filters.kind == CONTRADICTION:
        proposals, held_entries = proposals.filter(SUPERSEDES), held_entries.none()
    elif filters.kind:
        proposals, held_entries = proposals.filter(kind=filters.kind), held_entries.none()
        if filters.kind == "merge":
            proposals = proposals.exclude(SUPERSEDES)
    if filters.run_id:
        proposals = proposals.filter(run_id=filters.run_id)
        held_entries = held_entries.filter(source_run=filters.run_id)
    return proposals, held_entries


def _count_by_namespace(
    readable: QuerySet[Namespace], now: datetime
) -> tuple[list[tuple[Namespace, int]], int]:
    """Return the namespaces with the most items and their counts, ordered by scope, and the total of all namespaces."""
    counts: Counter[UUID] = Counter()
    for rows in (_select_proposals(readable), _select_held_entries(readable, now)):
        counts.update(dict(rows.order_by().values_list("namespace_id").annotate(Count("id"))))
    largest = dict(counts.most_common(MAX_NAMESPACES))
    namespaces = Namespace.objects.unscoped().filter(pk__in=largest).order_by("scope", "text", "id")
    pairs = [(namespace, largest[namespace.pk]) for namespace in namespaces] if largest else []
    return pairs, counts.total()


def _attach_namespaces(rows: list[Proposal | Entry]) -> list[Proposal | Entry]:
    ids = {row.namespace_id for row in rows}
    namespaces = Namespace.objects.unscoped().in_bulk(ids) if ids else {}
    for row in rows:
        row.namespace = namespaces[row.namespace_id]
    return rows


def _build_items(
    caller: MemoryCaller, rows: Sequence[Proposal | Entry], now: datetime
) -> list[QueueItem]:
    diffs = preview_changes(rows, now)
    can_decide = map_writable(caller, [row.namespace for row in rows])
    return [
        QueueItem(row, diff, can_decide[row.namespace_id])
        for row, diff in zip(rows, diffs, strict=True)
    ]
