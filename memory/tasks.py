"""Celery wrappers over upkeep, and when beat asks for them."""

from typing import Any

from celery import shared_task

from memory.upkeep.expiry import sweep
from memory.upkeep.notes import sweep_notes
from memory.upkeep.settling import settle_all


SWEEP_EVERY_SECONDS = 60.0
SETTLE_EVERY_SECONDS = 15 * 60.0


@shared_task(name="memory.sweep_expired")
def sweep_expired() -> int:
    return sweep()


@shared_task(name="memory.clear_notes")
def clear_notes() -> int:
    return sweep_notes()


@shared_task(name="memory.settle_working")
def settle_working() -> int:
    return settle_all()


# Rows for beat; ``config.celery`` merges what the apps offer.
BEAT_SCHEDULE: dict[str, dict[str, Any]] = {  # Celery's own open form
    "memory-sweep-expired": {"task": "memory.sweep_expired", "schedule": SWEEP_EVERY_SECONDS},
    "memory-clear-notes": {"task": "memory.clear_notes", "schedule": SWEEP_EVERY_SECONDS},
    "memory-settle-working": {"task": "memory.settle_working", "schedule": SETTLE_EVERY_SECONDS},
}
