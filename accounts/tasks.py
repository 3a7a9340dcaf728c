"""Celery tasks of accounts, and their schedule."""

from typing import Any

from celery import shared_task

from accounts.services.checkpoints import write_checkpoint


DAY = 24 * 60 * 60.0


@shared_task(name="accounts.audit_checkpoint")
def audit_checkpoint() -> int:
    return write_checkpoint()


# The schedule for beat; ``config.celery`` merges the schedules of all apps.
BEAT_SCHEDULE: dict[str, dict[str, Any]] = {  # Celery's own open form
    "accounts-audit-checkpoint": {"task": "accounts.audit_checkpoint", "schedule": DAY},
}
