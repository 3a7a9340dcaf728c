"""Reminds of questions that nobody has answered for a while, and escalates them to more people: each once.

Workers and beat ask for what is due, and the row says who does it: a notice that is being given moves its time into the near
future. A worker that dies meanwhile leaves that time, so that the notice is given again rather than never.
"""

from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import structlog
from django.db import connection
from django.utils import timezone

from accounts import audit
from accounts.tenancy import tenant
from workflows.engine.answerers import DEFAULT
from workflows.execution.questions.mail import Notice, mail_notice
from workflows.models import RunWait
from workflows.models.run import ENDED
from workflows.services.runs.waits import is_open


log = structlog.get_logger(__name__)

_DUE: Final = "SELECT waits, teams FROM execution_due_questions(%s, %s)"
BATCH_SIZE: Final = 100
# The time for the mails of one notice, after which another worker gives it again.
_GIVING: Final = timedelta(minutes=10)


def give_due_notices(now: datetime | None = None) -> int:
    """Give the notices that are due, and return how many there were. ``now`` is a moved clock of tests."""
    with connection.cursor() as cursor:
        cursor.execute(_DUE, [now, BATCH_SIZE])
        waits, teams = cursor.fetchone()
    moment = now or timezone.now()
    return sum(
        _give_logged(team_id, wait_id, moment)
        for wait_id, team_id in zip(waits or (), teams or (), strict=True)
    )


def _give_logged(team_id: UUID, wait_id: UUID, moment: datetime) -> int:
    """Give the notices of one question. Another one's must not wait for an error that nobody expected."""
    try:
        escalated = _escalate(team_id, wait_id, moment)
        return escalated + _remind(team_id, wait_id, moment)
    except Exception:
        log.exception("question.notice_failed", wait=str(wait_id))
        return 0


def _remind(team_id: UUID, wait_id: UUID, moment: datetime) -> int:
    wait = _take(team_id, wait_id, "remind_at", moment)
    if wait is None:
        return 0
    sent = mail_notice(wait, Notice.REMINDER)
    _finish(wait, "remind_at", "run.question_reminded", sent)
    return 1


def _escalate(team_id: UUID, wait_id: UUID, moment: datetime) -> int:
    wait = _take(team_id, wait_id, "escalate_at", moment)
    if wait is None:
        return 0
    sent = mail_notice(wait, Notice.ESCALATION, (wait.form or {}).get("escalate_to") or ())
    _finish(wait, "escalate_at", "run.question_escalated", sent)
    return 1


def _take(team_id: UUID, wait_id: UUID, field: str, moment: datetime) -> RunWait | None:
    """Return the question if its notice is due and nobody gives it already. Who is escalated to may answer from now on."""
    with tenant([team_id]):
        rows = RunWait.objects.unscoped().filter(
            pk=wait_id, answered_at=None, **{f"{field}__lte": moment}
        )
        wait = rows.select_for_update(skip_locked=True, of=("self",)).select_related("run").first()
        if wait is None:
            return None
        if wait.run.status in ENDED or not is_open(wait, wait.run, moment):
            rows.update(remind_at=None, escalate_at=None)
            return None
        setattr(wait, field, moment + _GIVING)
        if field == "escalate_at":
            # A question without rows asks the run's own people, who may go on answering it.
            earlier = wait.answerers or [*DEFAULT]
            added = (wait.form or {}).get("escalate_to") or ()
            wait.answerers = list(dict.fromkeys([*earlier, *added]))
        wait.save(update_fields=[field, "answerers"])
    return wait


def _finish(wait: RunWait, field: str, action: str, sent: int) -> None:
    """Note that the notice was given, and record it without the addresses."""
    with tenant([wait.team_id]):
        RunWait.objects.unscoped().filter(pk=wait.pk).update(**{field: None})
        audit.record(
            team_id=wait.team_id,
            actor=f"run:{wait.run_id}",
            actor_kind="system",
            action=action,
            subject=f"run:{wait.run_id}",
            detail={"node": wait.node_key, "sent": sent},
        )
