"""Puts away what is over. Nothing depends on it being punctual: an expired entry is invisible anyway."""

from datetime import datetime
from uuid import UUID

from django.utils import timezone

from accounts import audit
from accounts.models import Team
from accounts.tenancy import tenant
from memory.models import Entry, Namespace
from memory.providers.postgres import rows
from memory.upkeep.isolation import each


def sweep(now: datetime | None = None) -> int:
    """Every team's, a namespace a transaction; safe to run twice, or at the same time."""
    moment = now or timezone.now()
    teams = Team.objects.values_list("id", flat=True)
    return each(teams, lambda team_id: sweep_team(team_id, moment), "expiry_failed")


def sweep_team(team_id: UUID, now: datetime) -> int:
    with tenant([team_id]):
        over = Entry.objects.unscoped().filter(
            team_id=team_id, deleted_at=None, expires_at__lte=now
        )
        texts = list(
            over.order_by("namespace_id").values_list("namespace__text", flat=True).distinct()
        )
    return each(texts, lambda text: _sweep_namespace(team_id, text, now), "expiry_failed")


def _sweep_namespace(team_id: UUID, text: str, now: datetime) -> int:
    with tenant([team_id]):
        namespace: Namespace | None = rows.lock_namespace(team_id, text)
        gone = rows.expire(namespace, now) if namespace else []
        if gone:
            audit.record(
                team_id=team_id,
                actor="expiry",
                actor_kind="system",
                action="memory.expired",
                subject=text,
                detail={"keys": len(gone)},
            )
    return len(gone)
