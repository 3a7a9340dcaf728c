"""Delete a run before its days are over."""

from uuid import UUID

from accounts.access import Principal
from accounts.tenancy import tenant
from workflows import permissions
from workflows.errors import RunNotEnded
from workflows.execution.history.test_calls import forget_test_calls_of_runs
from workflows.execution.usage.counting import count_team
from workflows.files.removal import remove_of_runs
from workflows.models import Run
from workflows.models.run import ENDED
from workflows.services import audit_lines


def delete_run(principal: Principal, run: Run) -> None:
    """Delete the run, the runs that it started, their journals, and the files that no other run has.

    Its messages stay in their conversation, and its memories stay as those of a deleted run. Raises RunNotEnded.
    """
    permissions.check_delete_run(principal, run)
    with tenant([run.team_id]):
        family = _lock_family(run)
        if any(member.status not in ENDED for member in family):
            raise RunNotEnded
        count_team(run.team_id)  # the numbers of usage outlive the run
        ids = [member.pk for member in family]
        Run.objects.unscoped().filter(pk__in=ids).delete()
        forget_test_calls_of_runs(ids)
        remove_of_runs(run.team_id, ids)
        audit_lines.record(
            principal, run, "run.deleted", workflow=str(run.workflow_id), runs=len(family)
        )


def _lock_family(run: Run) -> list[Run]:
    """Lock the run, then the runs that it started and those that these started; see execution/sql/children.sql."""
    family: list[Run] = []
    ids: list[UUID] = [run.pk]
    condition = {"pk__in": ids}
    while ids:
        rows = Run.objects.unscoped().select_for_update(of=("self",)).filter(**condition)
        members = list(rows.only("id", "team_id", "status").order_by("id"))
        family += members
        ids = [member.pk for member in members]
        condition = {"parent_id__in": ids}
    return family
