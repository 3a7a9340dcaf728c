"""Ends what waits for an answer when its workflow is archived: nobody is asked any more."""

from django.utils import timezone

from accounts.access import Principal
from workflows.execution.driver import ARCHIVED
from workflows.models import Run, Workflow
from workflows.models.run import RunStatus
from workflows.services import audit_lines
from workflows.services.runs.child_runs import lock_parent, settle_relatives
from workflows.services.runs.runs import stop_unclaimed


def close_questions(principal: Principal, workflow: Workflow) -> int:
    """Stop the runs of an archived workflow that wait for a person, in the caller's transaction, and return how many.

    Those that a worker executes now stop when they come to wait for a person, see ``execution_pause``.
    """
    rows = Run.objects.unscoped().filter(
        workflow=workflow,
        status=RunStatus.PAUSED,
        waits__form__isnull=False,
        waits__answered_at__isnull=True,
    )
    stopped = [run for run in rows.order_by("pk").distinct("pk") if _stop(run)]
    for run in stopped:
        audit_lines.record(principal, run, "run.cancelled", reason="archived")
    return len(stopped)


def _stop(run: Run) -> bool:
    lock_parent(run)
    locked = Run.objects.unscoped().select_for_update(of=("self",)).get(pk=run.pk)
    if locked.status != RunStatus.PAUSED:
        return False  # somebody has just answered
    locked.cancel_requested_at = locked.cancel_requested_at or timezone.now()
    stop_unclaimed(locked, ARCHIVED)
    settle_relatives(locked)
    return True
