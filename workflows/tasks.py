"""Celery tasks of runs and test cases. A message contains only an id, because the row has the state."""

import gc
import logging
from typing import Any
from uuid import UUID

from celery import shared_task
from celery.signals import worker_init, worker_ready, worker_shutdown, worker_shutting_down
from django.conf import settings
from kombu.exceptions import KombuError

from config.checks import refuse_bad_start
from config.monitoring.server import serve_metrics
from workflows.execution.evaluation.running import (
    CONCURRENCY,
    list_waiting_evaluations,
    run_next_case,
)
from workflows.execution.history.upkeep import tidy_history
from workflows.execution.idempotency_keys import delete_expired_keys
from workflows.execution.usage.counting import count_all_teams
from workflows.execution.wake_up import ADVANCE_TASK
from workflows.execution.worker import get_worker
from workflows.files.removal import tidy_files
from workflows.llm.registry import preload_calls
from workflows.tools.signed_in.attempts import delete_expired_attempts


log = logging.getLogger(__name__)

COUNT_EVERY_SECONDS = 60.0
RESUME_EVERY_SECONDS = 30.0
DELETE_KEYS_EVERY_SECONDS = 3600.0
TIDY_EVERY_SECONDS = 3600.0
SCHEDULES_EVERY_SECONDS = 5.0
NOTICES_EVERY_SECONDS = 30.0
# The tasks of services.triggers.periodic.
START_SCHEDULED_RUNS_TASK = "workflows.start_scheduled_runs"
SEND_DELIVERIES_TASK = "workflows.send_deliveries"
TIDY_DELIVERIES_TASK = "workflows.tidy_deliveries"
# The task of services.questions.periodic.
GIVE_NOTICES_TASK = "workflows.give_notices"

# Rows for beat; ``config.celery`` merges what the apps offer.
BEAT_SCHEDULE: dict[str, dict[str, Any]] = {  # Celery's own open form
    "workflows-count-usage": {"task": "workflows.count_usage", "schedule": COUNT_EVERY_SECONDS},
    "workflows-resume-evaluations": {
        "task": "workflows.resume_evaluations",
        "schedule": RESUME_EVERY_SECONDS,
    },
    "workflows-delete-expired-keys": {
        "task": "workflows.delete_expired_keys",
        "schedule": DELETE_KEYS_EVERY_SECONDS,
    },
    "workflows-tidy-files": {"task": "workflows.tidy_files", "schedule": TIDY_EVERY_SECONDS},
    "workflows-start-scheduled-runs": {
        "task": START_SCHEDULED_RUNS_TASK,
        "schedule": SCHEDULES_EVERY_SECONDS,
    },
    "workflows-send-deliveries": {
        "task": SEND_DELIVERIES_TASK,
        "schedule": SCHEDULES_EVERY_SECONDS,
    },
    "workflows-give-notices": {"task": GIVE_NOTICES_TASK, "schedule": NOTICES_EVERY_SECONDS},
    "workflows-tidy-deliveries": {"task": TIDY_DELIVERIES_TASK, "schedule": TIDY_EVERY_SECONDS},
    "workflows-tidy-history": {"task": "workflows.tidy_history", "schedule": TIDY_EVERY_SECONDS},
}


@shared_task(name=ADVANCE_TASK, ignore_result=True)
def advance_run(run_id: str) -> None:
    """Let this process's worker look at the queue, from which it claims the run whose turn it is.

    The id is that of the run which was added. The message may be lost, doubled or late, because workers look regularly.
    """
    get_worker().wake()


def wake_worker(run_id: UUID) -> None:
    """Tell the workers about a queued run. A failure is only logged, because they also find the row by polling."""
    try:
        advance_run.apply_async((str(run_id),), retry=False)
    except (KombuError, OSError) as error:
        log.warning("wake_up_failed", extra={"run": str(run_id), "why": str(error)})


@shared_task(name="workflows.evaluate", ignore_result=True)
def evaluate(team_id: str, evaluation_id: str) -> None:
    """Run one case of an evaluation, and send the message for the next one."""
    if run_next_case(UUID(team_id), UUID(evaluation_id)):
        _send_evaluation(UUID(team_id), UUID(evaluation_id))


def wake_workers_for_evaluation(team_id: UUID, evaluation_id: UUID) -> None:
    """Tell the workers about an evaluation: each message becomes a chain of its cases."""
    for _number in range(CONCURRENCY):
        _send_evaluation(team_id, evaluation_id)


def _send_evaluation(team_id: UUID, evaluation_id: UUID) -> None:
    try:
        evaluate.apply_async((str(team_id), str(evaluation_id)), retry=False)
    except (KombuError, OSError) as error:
        log.warning("wake_up_failed", extra={"evaluation": str(evaluation_id), "why": str(error)})


@shared_task(name="workflows.resume_evaluations", ignore_result=True)
def resume_evaluations() -> int:
    """Send a message for each evaluation with a case that no worker runs, as after a worker's death."""
    evaluations = list_waiting_evaluations()
    for team_id, evaluation_id in evaluations:
        _send_evaluation(team_id, evaluation_id)
    return len(evaluations)


@shared_task(name="workflows.count_usage", ignore_result=True)
def count_usage() -> int:
    """Count the runs that have ended into the usage of their day. A run is never counted twice."""
    return count_all_teams()


@shared_task(name="workflows.delete_expired_keys", ignore_result=True)
def delete_keys() -> int:
    """Delete the idempotency keys that have expired, with the answers that were kept for them, and sign-ins nobody finished."""
    return delete_expired_keys() + delete_expired_attempts()


@shared_task(name="workflows.tidy_history", ignore_result=True)
def tidy_runs() -> None:
    """Create the partitions of coming weeks, and delete the runs whose days are over."""
    tidy_history()


@shared_task(name="workflows.tidy_files", ignore_result=True)
def tidy_stored_files() -> int:
    """Remove the files that no run has used or has any more, and delete what is left of removed ones."""
    return tidy_files()


# The loop starts with the worker process, so that runs are found even while the broker is away.


@worker_init.connect
def start_worker(**_: Any) -> None:  # Any: what Celery's signals carry differs by signal
    refuse_bad_start()
    get_worker().start()
    if settings.WORKER_METRICS_ADDRESS:
        serve_metrics(settings.WORKER_METRICS_ADDRESS, settings.METRICS_TOKEN)


@worker_ready.connect
def load_models(**_: Any) -> None:
    preload_calls()


@worker_shutting_down.connect
def begin_stop(**_: Any) -> None:
    get_worker().schedule_stop()


@worker_shutdown.connect
def stop_worker(**_: Any) -> None:
    get_worker().stop()
    # Without this, the interpreter's last garbage collections take more than a second before the process ends.
    gc.freeze()
