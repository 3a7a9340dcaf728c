"""Parked runs: given up after several workers died during the same steps; a person may continue one."""

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.access import Principal
from accounts.tenancy import tenant
from workflows import permissions
from workflows.engine.runtime.events import NodeStateChange, RunFinished, RunResumed
from workflows.errors import RunNotParked, WorkflowArchived
from workflows.models import Run, RunEvent, Step, StepIntent
from workflows.models.run import STEP_ENDED, RunStatus
from workflows.services import audit_lines
from workflows.services.runs.queue_room import check_queue_room
from workflows.services.runs.runs import add_event
from workflows.tasks import wake_worker


OPEN_STATUSES = ("running", "retrying")


def may_continue(principal: Principal, run: Run) -> bool:
    """Return whether the principal could continue the run, if it is parked."""
    can_go_on = run.is_parked and run.parent_id is None and not run.workflow.is_archived
    return can_go_on and permissions.may_answer(principal, run)


def continue_run(principal: Principal, run: Run) -> Run:
    """Queue a parked run again, with its finished steps and without the deaths that were counted.

    Raises RunNotParked for any other run, and for a child, whose parent has gone on without it.
    """
    permissions.check_answer(principal, run)
    with tenant([run.team_id]):
        locked = Run.objects.unscoped().select_for_update(of=("self",)).get(pk=run.pk)
        if locked.workflow.is_archived:
            raise WorkflowArchived
        if not locked.is_parked:
            raise RunNotParked
        if locked.parent_id is not None:
            raise RunNotParked(_("This run was started by another run. Run that one again."))
        check_queue_room(locked.team_id)
        _reopen(locked)
        audit_lines.record(principal, locked, "run.continued", deaths=run.kill_count)
        transaction.on_commit(lambda: wake_worker(locked.pk))
    return locked


def list_open_steps(run: Run) -> list[str]:
    """Return the ids of the nodes that had begun and not ended when the run was parked."""
    changes = RunEvent.objects.unscoped().filter(run=run, name=NodeStateChange.name)
    statuses: dict[str, str] = {}
    for data in changes.order_by("seq").values_list("data", flat=True):
        statuses[data["node"]] = data["status"]
    intents = StepIntent.objects.unscoped().filter(run=run).values_list("node_key", flat=True)
    ended = Step.objects.unscoped().filter(run=run, status__in=STEP_ENDED)
    open_nodes = {node for node, status in statuses.items() if status in OPEN_STATUSES} | set(
        intents
    )
    return sorted(open_nodes - set(ended.values_list("node_key", flat=True)))


def _reopen(run: Run) -> None:
    now = timezone.now()
    # The parked run's time limit counts only the time in which workers executed it.
    pause = dict(run.pause or {})
    if run.finished_at is not None:
        paused_for = (now - run.finished_at).total_seconds()
        pause["slept"] = float(pause.get("slept") or 0) + paused_for
    run.status, run.queued_at, run.pause = RunStatus.QUEUED, now, pause
    run.kill_count, run.error, run.error_node = 0, "", ""
    run.finished_at = run.elapsed = run.cancel_requested_at = None
    # A stream ends with the run's end, so the end that wasn't one is replaced under its number.
    ends = RunEvent.objects.unscoped().filter(run=run, name=RunFinished.name, seq=run.last_seq)
    if ends.delete()[0]:
        run.last_seq -= 1
    add_event(run, RunResumed("continue", now.timestamp()))
    run.save()
