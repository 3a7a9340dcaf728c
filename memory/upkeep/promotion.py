"""Promotes entries of working memory that are still needed to long-term memory before they expire.

It runs every quarter of an hour for the entries that expire within six hours, so that none is lost between two runs or
while no worker runs for an afternoon. An entry that isn't promoted expires as planned.
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
from memory.logic.entries import tiers
from memory.logic.entries.tiers import PromotionReason
from memory.models import Entry, Namespace, Read
from memory.models.entries import Operation
from memory.providers.postgres import rows
from memory.upkeep.isolation import run_each


MARGIN: Final = timedelta(hours=6)
ACTOR: Final = "promotion"
REASONS: Final = {
    PromotionReason.BY_HAND: "marked as verified",
    PromotionReason.BY_EVIDENCE: "said more than once",
    PromotionReason.BY_USE: "of use in more than one run",
    PromotionReason.BY_RULE: "important",
}


def promote_all_teams(now: datetime | None = None) -> int:
    """Promote the entries of every team and return their number. Safe to run twice, or at the same time."""
    moment = now or timezone.now()
    teams = Team.objects.values_list("id", flat=True)
    return run_each(teams, lambda team_id: promote_team(team_id, moment), "settling_failed")


def promote_team(team_id: UUID, now: datetime) -> int:
    with tenant([team_id]):
        expiring = Entry.objects.unscoped().filter(_build_expiring_condition(now), team_id=team_id)
        sorted_rows = expiring.order_by("namespace_id")
        namespaces = list(sorted_rows.values_list("namespace__text", flat=True).distinct())
    return run_each(
        namespaces, lambda text: _promote_in_namespace(team_id, text, now), "settling_failed"
    )


def _promote_in_namespace(team_id: UUID, text: str, now: datetime) -> int:
    """Promote in one transaction under the namespace's lock, so that no entry changes after it was selected."""
    with tenant([team_id]):
        namespace = rows.lock_namespace(team_id, text)
        if namespace is None:
            return 0
        expiring_rows = rows.find_living(namespace).filter(_build_expiring_condition(now))
        expiring = [rows.build_entry(row, text) for row in expiring_rows.order_by("id")]
        run_counts = _count_runs(team_id, expiring)
        promoted = tiers.plan_promotions(
            expiring, now, count_runs=lambda entry: run_counts.get(entry.id, 0), margin=MARGIN
        )
        for entry, reason in promoted:
            _promote(namespace, entry, reason, now)
        if promoted:
            audit.record(
                team_id=team_id,
                actor=ACTOR,
                actor_kind="system",
                action="memory.promoted",
                subject=text,
                detail={
                    "keys": len(promoted),
                    "entries": [entry.id for entry, _reason in promoted[:50]],
                    "why": sorted({str(reason) for _entry, reason in promoted}),
                },
            )
    return len(promoted)


def _promote(
    namespace: Namespace, entry: MemoryEntry, reason: PromotionReason, now: datetime
) -> None:
    action, tier = tiers.TierAction.PROMOTE, Tier.LONG_TERM
    params = tiers.build_transition(entry, action, tier, reason=str(reason))
    context = rows.WriteContext(Operation.EDIT, now, actor=ACTOR, reason=REASONS[reason])
    rows.write(namespace, params, context, NO_LIMITS)  # promotion doesn't change its size


def _build_expiring_condition(now: datetime) -> Q:
    is_expiring = Q(expires_at__gt=now, expires_at__lte=now + MARGIN)
    return is_expiring & Q(deleted_at=None, tier=Tier.WORKING.value)


def _count_runs(team_id: UUID, entries: Sequence[MemoryEntry]) -> dict[str, int]:
    """Return how many runs recalled each of the entries, by entry id."""
    reads = (
        Read.objects.unscoped()
        .filter(team_id=team_id, entry_id__in=[UUID(entry.id) for entry in entries])
        .values("entry_id")
        .annotate(runs=Count("run_id", distinct=True))
        .order_by("entry_id")
    )
    return {str(row["entry_id"]): row["runs"] for row in reads}
