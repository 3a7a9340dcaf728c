"""Starts the runs of schedules whose time has come: each due time once, however many workers ask at the same moment."""

from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import structlog
from django.db import connection, transaction
from django.utils import timezone

from accounts.tenancy import tenant
from workflows.engine.triggers.calls import TriggerCall
from workflows.engine.triggers.recurrence import build_recurrence
from workflows.models import Run, Trigger
from workflows.models.run import Channel
from workflows.services.runs.runs import start_run
from workflows.services.triggers.activation import find_next_time
from workflows.services.triggers.calls import FAULTS, describe_error
from workflows.services.triggers.keys import load_trigger_principal


log = structlog.get_logger(__name__)

_DUE: Final = "SELECT triggers, teams FROM execution_due_schedules(%s, %s)"
BATCH_SIZE: Final = 100
# A time that passed longer ago than this was missed: no worker was there.
MISSED_AFTER: Final = timedelta(minutes=5)


def start_due_runs(now: datetime | None = None) -> int:
    """Start a run for each schedule that is due, and return how many there are. ``now`` is a moved clock of tests."""
    with connection.cursor() as cursor:
        cursor.execute(_DUE, [now, BATCH_SIZE])
        triggers, teams = cursor.fetchone()
    runs = [
        _start_logged(team_id, trigger_id, now)
        for trigger_id, team_id in zip(triggers or (), teams or (), strict=True)
    ]
    return sum(run is not None for run in runs)


def start_due_run(team_id: UUID, trigger_id: UUID, now: datetime | None = None) -> Run | None:
    """Start the run of a schedule that is due, and set its next time in the same transaction.

    The row is locked meanwhile, and who finds it locked leaves it. A worker that dies has started nothing, and the
    schedule is still due. Return None if nothing was started.
    """
    moment = now or timezone.now()
    with tenant([team_id]):
        rows = Trigger.objects.unscoped().filter(pk=trigger_id, next_at__lte=moment)
        trigger = rows.select_for_update(skip_locked=True, no_key=True).first()
        if trigger is None or trigger.next_at is None:
            return None
        due_at = trigger.next_at
        trigger.next_at = None if trigger.workflow.is_archived else find_next_time(trigger, moment)
        is_due = trigger.next_at is not None and not _is_skipped(trigger, due_at, moment)
        run = _start(trigger, due_at) if is_due else None
        trigger.save(
            update_fields=["next_at", "last_at", "last_run_id", "error", "error_at"],
        )
    return run


def _start_logged(team_id: UUID, trigger_id: UUID, now: datetime | None) -> Run | None:
    """Start the run of one schedule. Another one's must not wait for an error that nobody expected."""
    try:
        return start_due_run(team_id, trigger_id, now)
    except Exception:
        log.exception("schedule.failed", trigger=str(trigger_id))
        return None


def _is_skipped(trigger: Trigger, due_at: datetime, now: datetime) -> bool:
    return trigger.settings.get("missed_runs") == "skip" and now - due_at > MISSED_AFTER


def _start(trigger: Trigger, due_at: datetime) -> Run | None:
    """Start the run for a due time. What keeps it from starting is noted, and the schedule goes on with its next time."""
    zone = build_recurrence(trigger.settings).zone
    call = TriggerCall(trigger.node_id, scheduled_at=due_at.astimezone(zone).isoformat())
    try:
        with transaction.atomic():
            run = start_run(
                load_trigger_principal(trigger),
                workflow=trigger.workflow,
                version="published",
                channel=Channel.SCHEDULE,
                trigger=call,
            )
    except FAULTS as fault:
        trigger.error, trigger.error_at = describe_error(fault), timezone.now()
        return None
    trigger.last_at, trigger.last_run_id = timezone.now(), run.pk
    return run
