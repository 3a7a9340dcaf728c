"""How often people agree with what is proposed, and what they said never to propose again."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db.models import Case, F, Q, Value, When
from django.utils import timezone

from accounts.tenancy import tenant
from memory import permissions
from memory.core.records import Json, Tier
from memory.core.scopes import parse_namespace
from memory.logic.entries.tiers import Move
from memory.logic.review import review_rules
from memory.logic.review.proposals import State
from memory.logic.review.review_rules import Precision
from memory.models import Entry, Proposal
from memory.permissions import NamespaceTarget
from memory.services.gateway.caller import MemoryCaller
from memory.services.review.review_outcomes import judged
from memory.services.review.review_queue import CONTRADICTION, HELD, InReview, value_of


LOOKED_BACK: Final = timedelta(days=30)
MOST_RULES: Final = 200


@dataclass(frozen=True, slots=True)
class KeptOut(InReview):
    """A rule somebody made by rejecting: nothing that means the same is proposed or let in there."""

    at: datetime | None
    by: str
    reason: str
    may: bool = False

    @property
    def value(self) -> Json:
        """What it says; of what brings nothing new, what it is about."""
        if isinstance(self.row, Proposal) and self.row.new is None:
            return [one["value"] for one in self.row.targets]
        return value_of(self.row)


def agreement(caller: MemoryCaller, *, now: datetime | None = None) -> dict[str, Precision]:
    """By kind, over the last thirty days: of what was proposed, and of what the gate held."""
    since = (now or timezone.now()) - LOOKED_BACK
    found: dict[str, list[tuple[State, bool]]] = {}
    with tenant([caller.team_id]):
        for kind, verdict, edited in _judged_since(caller, since):
            found.setdefault(kind, []).append((State(verdict), edited))
        for move in _moved_since(caller, since):
            found.setdefault(HELD, []).append((_OF_MOVE[move], False))
    return {kind: review_rules.precision(rows) for kind, rows in sorted(found.items())}


def kept_out(caller: MemoryCaller) -> list[KeptOut]:
    """The newest first, of namespaces the asker may look into."""
    with tenant([caller.team_id]):
        rows = [*_rejected_always(caller), *_rejected_held(caller)]
        may: dict[UUID, bool] = {}
        for one in rows:
            if one.namespace.pk not in may:
                named = parse_namespace(one.namespace.text)
                place = NamespaceTarget(caller.team_id, named, one.namespace)
                may[one.namespace.pk] = permissions.is_allowed(caller.principal, "write", place)
    ordered = sorted(rows, key=lambda one: (one.at is not None, one.at, str(one.id)), reverse=True)
    return [
        KeptOut(one.row, one.at, one.by, one.reason, may[one.namespace.pk])
        for one in ordered[:MOST_RULES]
    ]


_OF_MOVE: Final = {str(Move.APPROVE): State.APPLIED, str(Move.REJECT): State.REJECTED}


def _judged_since(caller: MemoryCaller, since: datetime) -> Iterable[tuple[str, str, bool]]:
    seen = Proposal.objects.visible_to(caller.principal).filter(team_id=caller.team_id)
    supersedes = Q(kind="merge", new__metadata__has_key="supersedes")
    named = Case(When(supersedes, then=Value(CONTRADICTION)), default=F("kind"))
    rows = judged(seen.filter(decided_at__gte=since)).annotate(called=named)
    found: Iterable[tuple[str, str, bool]] = rows.values_list("called", "verdict", "edited")
    return found


def _moved_since(caller: MemoryCaller, since: datetime) -> Iterable[str]:
    """What people said of memories in quarantine."""
    seen = Entry.objects.visible_to(caller.principal).filter(team_id=caller.team_id)
    said = seen.filter(deleted_at=None, updated_at__gte=since, metadata__review__in=list(_OF_MOVE))
    return said.values_list("metadata__review", flat=True)


def _rejected_always(caller: MemoryCaller) -> Sequence[KeptOut]:
    seen = Proposal.objects.visible_to(caller.principal).filter(team_id=caller.team_id)
    rows = seen.filter(state=State.REJECTED_ALWAYS.value).select_related("namespace")
    return [
        KeptOut(row, row.decided_at, row.decided_by, row.decision)
        for row in rows.order_by("-decided_at", "-id")[:MOST_RULES]
    ]


def _rejected_held(caller: MemoryCaller) -> Sequence[KeptOut]:
    seen = Entry.objects.visible_to(caller.principal).filter(team_id=caller.team_id)
    rows = seen.filter(
        tier=Tier.QUARANTINE.value, deleted_at=None, metadata__contains={"review": str(Move.REJECT)}
    )
    return [
        KeptOut(row, row.updated_at, "", str(row.metadata.get("review_reason") or ""))
        for row in rows.select_related("namespace").order_by("-updated_at", "-id")[:MOST_RULES]
    ]
