"""How often people agree with what is proposed, and what they said never to propose again."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db.models import Q
from django.utils import timezone

from accounts.tenancy import tenant
from memory import permissions
from memory.core.records import Json, Tier
from memory.core.scopes import parse_namespace
from memory.logic import reviewing
from memory.logic.proposals import State
from memory.logic.reviewing import Precision
from memory.logic.tiers import Move
from memory.models import Entry, Namespace, Proposal
from memory.permissions import Place
from memory.services.caller import MemoryCaller
from memory.services.waiting import CONTRADICTION, kind_of, value_of


LOOKED_BACK: Final = timedelta(days=30)
MOST_RULES: Final = 200


@dataclass(frozen=True, slots=True)
class KeptOut:
    """A rule somebody made by rejecting: nothing that means the same is proposed or let in there."""

    row: Proposal | Entry
    at: datetime | None
    by: str
    reason: str
    may: bool = False

    @property
    def id(self) -> UUID:
        return self.row.pk

    @property
    def namespace(self) -> Namespace:
        return self.row.namespace

    @property
    def kind(self) -> str:
        return kind_of(self.row)

    @property
    def value(self) -> Json:
        """What it says; of what brings nothing new, what it is about."""
        if isinstance(self.row, Proposal) and self.row.new is None:
            return [one["value"] for one in self.row.targets]
        return value_of(self.row)


def agreement(caller: MemoryCaller, *, now: datetime | None = None) -> dict[str, Precision]:
    """By kind, over the last thirty days. What was applied without a person says nothing of people."""
    since = (now or timezone.now()) - LOOKED_BACK
    with tenant([caller.team_id]):
        seen = Proposal.objects.visible_to(caller.principal).filter(team_id=caller.team_id)
        unasked = Q(by_itself=True, state=State.APPLIED.value)
        decided = seen.filter(decided_at__gte=since).exclude(unasked)
        supersedes = Q(kind="merge", new__metadata__has_key="supersedes")
        found: dict[str, list[tuple[State, bool]]] = {}
        for settled in (True, False):
            rows = decided.filter(supersedes) if settled else decided.exclude(supersedes)
            for kind, state, edited in rows.values_list("kind", "state", "edited"):
                name = CONTRADICTION if settled else kind
                found.setdefault(name, []).append((State(state), edited))
    return {kind: reviewing.precision(rows) for kind, rows in sorted(found.items())}


def kept_out(caller: MemoryCaller) -> list[KeptOut]:
    """The newest first, of namespaces the asker may look into."""
    with tenant([caller.team_id]):
        rows = [*_rejected_always(caller), *_rejected_held(caller)]
        may: dict[UUID, bool] = {}
        for one in rows:
            if one.namespace.pk not in may:
                named = parse_namespace(one.namespace.text)
                place = Place(caller.team_id, named, one.namespace)
                may[one.namespace.pk] = permissions.may(caller.principal, "write", place)
    ordered = sorted(rows, key=lambda one: (one.at is not None, one.at, str(one.id)), reverse=True)
    return [
        KeptOut(one.row, one.at, one.by, one.reason, may[one.namespace.pk])
        for one in ordered[:MOST_RULES]
    ]


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
