"""Removes expired entries. A delay has no effect on users, because expired entries are invisible anyway."""

from datetime import datetime
from uuid import UUID

from django.utils import timezone

from accounts import audit
from accounts.models import Team
from accounts.tenancy import tenant
from memory.models import Entry, Namespace
from memory.providers.postgres import rows
from memory.upkeep.isolation import run_each


def expire_all_teams(now: datetime | None = None) -> int:
    """Remove the expired entries of every team, one namespace per transaction. Safe to run twice, or at the same time."""
    moment = now or timezone.now()
    teams = Team.objects.values_list("id", flat=True)
    return run_each(teams, lambda team_id: expire_team(team_id, moment), "expiry_failed")


def expire_team(team_id: UUID, now: datetime) -> int:
    with tenant([team_id]):
        entries = Entry.objects.unscoped().filter(team_id=team_id)
        expired = entries.filter(deleted_at=None, expires_at__lte=now)
        sorted_rows = expired.order_by("namespace_id")
        names = list(sorted_rows.values_list("namespace__text", flat=True).distinct())
    return run_each(names, lambda name: _expire_in_namespace(team_id, name, now), "expiry_failed")


def _expire_in_namespace(team_id: UUID, text: str, now: datetime) -> int:
    with tenant([team_id]):
        namespace: Namespace | None = rows.lock_namespace(team_id, text)
        expired = rows.expire(namespace, now) if namespace else []
        if expired:
            audit.record(
                team_id=team_id,
                actor="expiry",
                actor_kind="system",
                action="memory.expired",
                subject=text,
                detail={"keys": len(expired)},
            )
    return len(expired)
