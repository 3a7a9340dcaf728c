"""Deletes what is left of sign-ins that nobody has finished."""

from django.utils import timezone

from accounts.models import Team
from accounts.tenancy import tenant
from workflows.models import SignInAttempt


def delete_expired_attempts() -> int:
    """Delete the attempts of every team that have expired, and return how many there were."""
    count = 0
    for team_id in Team.objects.values_list("id", flat=True):
        with tenant([team_id]):
            rows = SignInAttempt.objects.unscoped().filter(expires_at__lte=timezone.now())
            count += rows.delete()[0]
    return count
