"""Celery tasks of accounts, and their schedule."""

from typing import Any

from celery import shared_task

from accounts.services.checkpoints import write_checkpoint
from accounts.services.key_expiry import mail_expiring_keys
from accounts.services.sign_in import delete_old_failures


HOUR = 60 * 60.0
DAY = 24 * HOUR


@shared_task(name="accounts.audit_checkpoint")
def audit_checkpoint() -> int:
    return write_checkpoint()


@shared_task(name="accounts.delete_old_failures")
def delete_old_sign_in_failures() -> int:
    return delete_old_failures()


@shared_task(name="accounts.mail_expiring_keys")
def mail_about_expiring_keys() -> int:
    return mail_expiring_keys()


# The schedule for beat; ``config.celery`` merges the schedules of all apps.
BEAT_SCHEDULE: dict[str, dict[str, Any]] = {  # Celery's own open form
    "accounts-audit-checkpoint": {"task": "accounts.audit_checkpoint", "schedule": DAY},
    "accounts-expiring-keys": {"task": "accounts.mail_expiring_keys", "schedule": HOUR},
    "accounts-old-failures": {"task": "accounts.delete_old_failures", "schedule": DAY},
}
