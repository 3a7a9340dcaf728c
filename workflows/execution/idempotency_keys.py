"""How long the answers to requests with an ``Idempotency-Key`` are kept, and their deletion afterwards."""

from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.utils import timezone

from accounts.models import Team
from accounts.tenancy import tenant
from workflows.models import IdempotencyKey


KEPT_FOR: Final = timedelta(days=1)


def get_expiry() -> datetime:
    """Return the time before which a key has expired."""
    return timezone.now() - KEPT_FOR


def delete_expired_keys() -> int:
    """Delete the expired keys of every team, and return how many there were."""
    return sum(map(_delete_expired, Team.objects.values_list("id", flat=True)))


def _delete_expired(team_id: UUID) -> int:
    with tenant([team_id]):
        rows = IdempotencyKey.objects.unscoped().filter(created_at__lt=get_expiry())
        return rows.delete()[0]
