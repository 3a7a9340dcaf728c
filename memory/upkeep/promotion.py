"""Keeps for good what working memory holds and somebody will miss, before its day is over.

Asked every quarter of an hour, about everything that ends within six: so that nothing slips through
between two askings, nor while nobody asks for an afternoon. What isn't kept ends as it would have.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db.models import Count, Q
from django.utils import timezone

from accounts import audit
from accounts.models import Team
from accounts.tenancy import tenant
from memory.core.policy import NO_LIMITS
from memory.core.records import MemoryEntry, Tier
from memory.logic.entries.tiers import (
    PromotionReason,
    TierAction,
    Usage,
    build_transition,
    plan_promotions,
)
from memory.models import Entry, Namespace, Read
from memory.models.entries import Operation
from memory.providers.postgres import rows
from memory.upkeep.isolation import each


MARGIN: Final = timedelta(hours=6)
ACTOR: Final = "promotion"
REASONS: Final = {
    PromotionReason.BY_HAND: "marked as verified",
    PromotionReason.BY_EVIDENCE: "said more than once",
    PromotionReason.BY_USE: "of use in more than one run",
    PromotionReason.BY_RULE: "important",
}


def settle_all(now: datetime | None = None) -> int:
    """How many were kept, of every team's; safe to run twice, or at the same time."""
    moment = now or timezone.now()
    teams = Team.objects.values_list("id", flat=True)
    return each(teams, lambda team_id: settle_team(team_id, moment), "settling_failed")


def settle_team(team_id: UUID, now: datetime) -> int:
    with tenant([team_id]):
        ending = Entry.objects.unscoped().filter(_ending(now), team_id=team_id)
        texts = list(
            ending.order_by("namespace_id").values_list("namespace__text", flat=True).distinct()
        )
    return each(texts, lambda text: _settle_namespace(team_id, text, now), "settling_failed")


def _settle_namespace(team_id: UUID, text: str, now: datetime) -> int:
    """A namespace a transaction, under its lock, so that no write comes between."""
    with tenant([team_id]):
        namespace = rows.lock_namespace(team_id, text)
        if namespace is None:
            return 0
        found = rows.living(namespace).filter(_ending(now)).order_by("id")
        ending = [rows.entry_of(one, text) for one in found]
        used = _uses(team_id, ending)
        settled = plan_promotions(
            ending, now, get_usage=lambda one: used.get(one.id, Usage()), margin=MARGIN
        )
        for entry, why in settled.promoted:
            _promote(namespace, entry, why, now)
        if settled.promoted:
            audit.record(
                team_id=team_id,
                actor=ACTOR,
                actor_kind="system",
                action="memory.promoted",
                subject=text,
                detail={
                    "keys": len(settled.promoted),
                    "entries": [entry.id for entry, _why in settled.promoted[:50]],
                    "why": sorted({str(why) for _entry, why in settled.promoted}),
                },
            )
    return len(settled.promoted)


def _promote(namespace: Namespace, entry: MemoryEntry, why: PromotionReason, now: datetime) -> None:
    params = build_transition(entry, TierAction.PROMOTE, Tier.LONG_TERM, reason=str(why))
    act = rows.Act(Operation.EDIT, now, actor=ACTOR, reason=REASONS[why])
    rows.write(namespace, params, act, NO_LIMITS)  # it takes no more room than it had


def _ending(now: datetime) -> Q:
    ends = Q(expires_at__gt=now, expires_at__lte=now + MARGIN)
    return ends & Q(deleted_at=None, tier=Tier.WORKING.value)


def _uses(team_id: UUID, entries: Sequence[MemoryEntry]) -> dict[str, Usage]:
    reads = (
        Read.objects.unscoped()
        .filter(team_id=team_id, entry_id__in=[UUID(entry.id) for entry in entries])
        .values("entry_id")
        .annotate(
            recalls=Count("id"),
            runs=Count("run_id", distinct=True),
            injections=Count("id", filter=Q(injected=True)),
        )
        .order_by("entry_id")
    )
    return {
        str(row["entry_id"]): Usage(row["recalls"], row["runs"], row["injections"]) for row in reads
    }
