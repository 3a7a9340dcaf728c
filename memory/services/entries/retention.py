"""The retention of a namespace: when its entries expire, how much of its quota is used, and its entries by tier."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Count, Min, Q
from django.utils import timezone

from memory.core.policy import NO_LIMITS, MemorySecurityPolicy
from memory.core.records import MemoryQuery
from memory.core.scopes import WORKING_LIFETIME, get_scope, parse_namespace
from memory.models import Namespace
from memory.models.entries import TierChoice
from memory.policies import load_policies
from memory.providers.base import MemoryProvider
from memory.providers.postgres import rows
from memory.routing import find_external_provider
from memory.services.access.quotas import Meter
from memory.services.entries.external_usage import add_external_usage


@dataclass(frozen=True, slots=True)
class Capacity:
    """The usage of a namespace's limits, and its limit for the bytes of one value."""

    entries: Meter
    size: Meter
    widest: int | None

    @property
    def tightest(self) -> Meter:
        return max(self.entries, self.size, key=lambda meter: meter.share)


@dataclass(frozen=True, slots=True)
class Retention:
    """A namespace's capacity, its entries by tier, and how many of them expire when."""

    capacity: Capacity
    tiers: Mapping[str, int]
    soon: int  # within a day
    week: int  # within seven days, but not within a day
    later: int
    endless: int  # never
    next_end: datetime | None
    lives_seconds: float | None  # the maximum lifetime of an entry in this scope

    @property
    def by_tier(self) -> list[tuple[str, int]]:
        return [(str(tier.label), self.tiers[tier]) for tier in TierChoice]

    @property
    def lives_minutes(self) -> int | None:
        return round(self.lives_seconds / 60) if self.lives_seconds else None

    @property
    def working_hours(self) -> int:
        return round(WORKING_LIFETIME / 3600)


def load_retention(row: Namespace) -> Retention:
    """Load the retention of a namespace that the caller may view."""
    now = timezone.now()
    day, week = now + timedelta(days=1), now + timedelta(days=7)
    external = find_external_provider(row.team_id, parse_namespace(row.text), NO_LIMITS)
    if external is not None:
        return _measure_external(row, external.provider, day, week)
    query = rows.find_living(row).exclude(expires_at__lte=now)
    conditions: dict[str, Any] = {  # aggregates, each of its own type
        "soon": Count("id", filter=Q(expires_at__lte=day)),
        "week": Count("id", filter=Q(expires_at__gt=day, expires_at__lte=week)),
        "later": Count("id", filter=Q(expires_at__gt=week)),
        "endless": Count("id", filter=Q(expires_at=None)),
        "next_end": Min("expires_at"),
        **{tier: Count("id", filter=Q(tier=tier)) for tier in TierChoice.values},
    }
    counts = query.order_by().aggregate(**conditions)
    tiers = {tier: counts.pop(tier) for tier in TierChoice.values}
    capacity = load_capacities(row.team_id, [row])[row.pk]
    return Retention(capacity, tiers, **counts, lives_seconds=get_scope(row.scope).lives_seconds)


def _measure_external(
    row: Namespace, provider: MemoryProvider, day: datetime, week: datetime
) -> Retention:
    """Count the entries of another provider, as ``load_retention`` counts those of PostgreSQL."""
    add_external_usage([row])
    entries = provider.recall(MemoryQuery(row.text, include_former=True))
    ends = sorted(entry.expires_at for entry in entries if entry.expires_at)
    soon, within_week = (sum(end <= limit for end in ends) for limit in (day, week))
    tiers = Counter(str(entry.tier) for entry in entries)
    return Retention(
        load_capacities(row.team_id, [row])[row.pk],
        {tier: tiers[tier] for tier in TierChoice.values},
        soon=soon,
        week=within_week - soon,
        later=len(ends) - within_week,
        endless=len(entries) - len(ends),
        next_end=ends[0] if ends else None,
        lives_seconds=get_scope(row.scope).lives_seconds,
    )


def load_capacities(team_id: UUID, namespaces: Sequence[Namespace]) -> dict[UUID, Capacity]:
    """Load the capacities of many namespaces by one query."""
    policies = load_policies(team_id, namespaces)
    return {row.pk: _build_capacity(row, policies[row.pk]) for row in namespaces}


def _build_capacity(row: Namespace, policy: MemorySecurityPolicy) -> Capacity:
    return Capacity(
        Meter(row.entry_count, policy.max_entries_per_namespace),
        Meter(row.byte_count, policy.max_namespace_bytes),
        policy.max_value_bytes,
    )
