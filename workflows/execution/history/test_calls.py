"""The end of what came with test calls of webhooks: it is a copy of what a run was started with, and goes with that run."""

from collections.abc import Iterable
from uuid import UUID

from django.db.models import Exists, OuterRef, QuerySet

from accounts.models import Team
from accounts.tenancy import tenant
from workflows.models import Run, Trigger


def forget_test_calls(triggers: QuerySet[Trigger]) -> int:
    """Delete what came with the last test calls of these triggers, and return how many there were."""
    return triggers.update(test_call=None, test_run_id=None)


def forget_test_calls_of_runs(run_ids: Iterable[UUID]) -> None:
    """Delete the test calls that started these runs. The caller has entered their team and deletes them."""
    forget_test_calls(Trigger.objects.unscoped().filter(test_run_id__in=list(run_ids)))


def forget_old_test_calls() -> int:
    """Delete the test calls of all teams whose runs are deleted, and return how many there were."""
    return sum(map(_forget_old_of_team, Team.objects.order_by("id").values_list("id", flat=True)))


def _forget_old_of_team(team_id: UUID) -> int:
    with tenant([team_id]):
        runs = Run.objects.unscoped().filter(pk=OuterRef("test_run_id"))
        triggers = Trigger.objects.unscoped().filter(team_id=team_id, test_run_id__isnull=False)
        return forget_test_calls(triggers.filter(~Exists(runs)))
