"""What waits for a person in the namespaces somebody may look into: proposals, and memories in quarantine.

Each comes with what accepting it would change now, worked out for a whole page at once.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Count, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.tenancy import tenant
from memory import permissions
from memory.core.errors import NotFound
from memory.core.records import Json, Source, Tier
from memory.core.scopes import parse_namespace
from memory.logic.entries.tiers import Move
from memory.logic.review.proposal_plans import Diff
from memory.logic.review.proposals import State
from memory.models import Entry, Namespace, Proposal
from memory.models.readable import any_of
from memory.permissions import NamespaceTarget
from memory.services.gateway.caller import MemoryCaller
from memory.services.review.proposal_preview import would_change


HELD = "held"  # the kind of what is in quarantine
CONTRADICTION = "contradiction"  # a merge in which one takes the other's place
MOST_A_PAGE = 100
MOST_PLACES = 100  # to choose from

# Of what is in quarantine; containment, which is never unknown, whatever isn't in the metadata.
_UNDECIDED = ~Q(metadata__contains={"review": str(Move.REJECT)})
_SUPERSEDES = Q(kind="merge", new__metadata__has_key="supersedes")


@dataclass(frozen=True, slots=True)
class Filters:
    """Nothing chosen is no filter."""

    kind: str = ""
    namespace_id: UUID | None = None
    run_id: str = ""

    def __bool__(self) -> bool:
        return bool(self.kind or self.namespace_id or self.run_id)


@dataclass(frozen=True, slots=True)
class InReview:
    """A proposal, or a memory in quarantine: what the review is about, decided or not."""

    row: Proposal | Entry

    @property
    def id(self) -> UUID:
        return self.row.pk

    @property
    def namespace(self) -> Namespace:
        return self.row.namespace

    @property
    def kind(self) -> str:
        return kind_of(self.row)


@dataclass(frozen=True, slots=True)
class Waiting(InReview):
    """One of them. ``new`` is what a person may change before they accept it; ``may``: they may decide."""

    diff: Diff
    may: bool = True

    @property
    def created_at(self) -> datetime:
        return self.row.created_at

    @property
    def has_new(self) -> bool:
        return isinstance(self.row, Entry) or self.row.new is not None

    @property
    def new(self) -> Json:
        return value_of(self.row)

    @property
    def source(self) -> Source:
        """Which run and node it came from."""
        if isinstance(self.row, Entry):
            return Source(
                self.row.source_actor,
                self.row.source_run,
                self.row.source_node,
                self.row.source_message,
                self.row.source_rule,
            )
        given = Source(**self.row.new["source"]) if self.row.new else Source()
        return Source(given.actor, self.row.run_id or given.run_id, given.node_id, given.message)


@dataclass(frozen=True, slots=True)
class WaitingPage:
    """``places``: the namespaces in which most waits, and how much, whatever is filtered."""

    items: Sequence[Waiting]
    total: int
    offset: int
    places: Sequence[tuple[Namespace, int]]
    in_all: int


def count_waiting(caller: MemoryCaller) -> int:
    with tenant([caller.team_id]):
        seen = _seen(caller)
        held = _held(seen, timezone.now()).order_by().values("pk")
        return _proposals(seen).order_by().values("pk").union(held, all=True).count()


def waiting(
    caller: MemoryCaller, *, filters: Filters = Filters(), limit: int = 20, offset: int = 0
) -> WaitingPage:
    """Proposals, the surest first; then what is in quarantine, the newest first."""
    with tenant([caller.team_id]):
        seen, now = _seen(caller), timezone.now()
        places, in_all = _places(seen, now)
        chosen = seen.filter(pk=filters.namespace_id) if filters.namespace_id else seen
        proposed, held = _narrowed(_proposals(chosen), _held(chosen, now), filters)
        first, second = proposed.count(), held.count()
        most = min(limit, MOST_A_PAGE)
        rows: list[Proposal | Entry] = list(
            proposed.order_by("-score", "-id")[offset : offset + most]
        )
        rest = max(0, offset - first)
        rows += held.order_by("-updated_at", "-id")[rest : rest + most - len(rows)]
        items = _with_diffs(caller, _with_places(rows), now)
        return WaitingPage(items, first + second, offset, places, in_all)


def waiting_one(caller: MemoryCaller, *, item_id: UUID) -> Waiting:
    with tenant([caller.team_id]):
        row = find(caller, item_id)
        if not _is_waiting(row):
            raise NotFound(_("Someone else has already decided this."))
        [found] = _with_diffs(caller, [row], timezone.now())
        return found


def waiting_among(caller: MemoryCaller, *, item_ids: Iterable[UUID]) -> list[Waiting]:
    """Those of the named that still wait, in the order of the queue."""
    with tenant([caller.team_id]):
        seen, now, ids = _seen(caller), timezone.now(), list(item_ids)
        rows: list[Proposal | Entry] = [
            *_proposals(seen).filter(pk__in=ids).order_by("-score", "-id"),
            *_held(seen, now).filter(pk__in=ids).order_by("-updated_at", "-id"),
        ]
        return _with_diffs(caller, _with_places(rows), now)


def find(caller: MemoryCaller, item_id: UUID) -> Proposal | Entry:
    """Decided or not. What isn't the asker's to see isn't there."""
    proposals = Proposal.objects.visible_to(caller.principal).filter(team_id=caller.team_id)
    row: Proposal | Entry | None
    row = proposals.select_related("namespace").filter(pk=item_id).first()
    if row is None:
        entries = Entry.objects.visible_to(caller.principal).filter(team_id=caller.team_id)
        row = entries.select_related("namespace").filter(pk=item_id).first()
    if row is None:
        raise NotFound(_("Review item not found."))
    return row


def kind_of(row: Proposal | Entry) -> str:
    if isinstance(row, Entry):
        return HELD
    supersedes = row.new and row.new["metadata"].get("supersedes")
    return CONTRADICTION if row.kind == "merge" and supersedes else row.kind


def value_of(row: Proposal | Entry) -> Json:
    if isinstance(row, Entry):
        return row.value
    return row.new["value"] if row.new else None


def _is_waiting(row: Proposal | Entry) -> bool:
    if isinstance(row, Proposal):
        return row.state == State.OPEN
    is_rejected = row.metadata.get("review") == Move.REJECT
    return row.tier == Tier.QUARANTINE and not row.is_forgotten and not is_rejected


def _seen(caller: MemoryCaller) -> QuerySet[Namespace]:
    found = Namespace.objects.visible_to(caller.principal)
    return found.filter(team_id=caller.team_id)


def _proposals(seen: QuerySet[Namespace]) -> QuerySet[Proposal]:
    rows = Proposal.objects.unscoped().filter(state=State.OPEN.value)
    return rows.filter(any_of("namespace_id", seen))


def _held(seen: QuerySet[Namespace], now: datetime) -> QuerySet[Entry]:
    fresh = Q(expires_at=None) | Q(expires_at__gt=now)
    rows = Entry.objects.unscoped().filter(
        fresh, _UNDECIDED, tier=Tier.QUARANTINE.value, deleted_at=None
    )
    return rows.filter(any_of("namespace_id", seen))


def _narrowed(
    proposed: QuerySet[Proposal], held: QuerySet[Entry], filters: Filters
) -> tuple[QuerySet[Proposal], QuerySet[Entry]]:
    if filters.kind == HELD:
        proposed = proposed.none()
    elif filters.kind:
        held = held.none()
        is_one = filters.kind == CONTRADICTION
        proposed = proposed.filter(_SUPERSEDES) if is_one else proposed.filter(kind=filters.kind)
        proposed = proposed.exclude(_SUPERSEDES) if filters.kind == "merge" else proposed
    if filters.run_id:
        proposed = proposed.filter(run_id=filters.run_id)
        held = held.filter(source_run=filters.run_id)
    return proposed, held


def _places(seen: QuerySet[Namespace], now: datetime) -> tuple[list[tuple[Namespace, int]], int]:
    """Those in which most waits, in the order of namespaces; and how much waits in all of them."""
    counts: Counter[UUID] = Counter()
    for rows in (_proposals(seen), _held(seen, now)):
        counts.update(dict(rows.order_by().values_list("namespace_id").annotate(Count("id"))))
    most = dict(counts.most_common(MOST_PLACES))
    found = Namespace.objects.unscoped().filter(pk__in=most).order_by("scope", "text", "id")
    places = [(place, most[place.pk]) for place in found] if most else []
    return places, counts.total()


def _with_places(rows: list[Proposal | Entry]) -> list[Proposal | Entry]:
    ids = {row.namespace_id for row in rows}
    places = Namespace.objects.unscoped().in_bulk(ids) if ids else {}
    for row in rows:
        row.namespace = places[row.namespace_id]
    return rows


def _with_diffs(
    caller: MemoryCaller, rows: Sequence[Proposal | Entry], now: datetime
) -> list[Waiting]:
    diffs = would_change(rows, now)
    may = {row.namespace_id: False for row in rows}
    for row in {row.namespace_id: row for row in rows}.values():
        place = NamespaceTarget(caller.team_id, parse_namespace(row.namespace.text), row.namespace)
        may[row.namespace_id] = permissions.is_allowed(caller.principal, "write", place)
    return [
        Waiting(row, diff, may[row.namespace_id]) for row, diff in zip(rows, diffs, strict=True)
    ]
