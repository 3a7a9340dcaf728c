"""Wakes workers for queued runs, from inside a worker. Services use ``workflows.tasks.wake_worker``."""

import logging
from collections.abc import Iterable
from typing import Final
from uuid import UUID

from celery import current_app
from kombu.exceptions import KombuError


log = logging.getLogger(__name__)

ADVANCE_TASK: Final = "workflows.advance_run"  # the task of ``workflows.tasks``


def wake_workers(run_ids: Iterable[UUID]) -> None:
    """Tell the workers about queued runs. A failure is only logged, because they also find the rows by polling."""
    for run_id in run_ids:
        try:
            current_app.send_task(ADVANCE_TASK, (str(run_id),), retry=False, ignore_result=True)
        except (KombuError, OSError) as error:
            log.warning("wake_up_failed", extra={"run": str(run_id), "why": str(error)})
            return
