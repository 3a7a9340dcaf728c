"""Celery tasks: a message names the run to look at, and its row says what to do."""

import gc
import logging
from typing import Any
from uuid import UUID

from celery import shared_task
from celery.signals import worker_init, worker_ready, worker_shutdown, worker_shutting_down
from kombu.exceptions import KombuError

from workflows.execution.debugging.test_cases import run_saved_case
from workflows.execution.worker import get_worker
from workflows.llm.registry import warm_up


log = logging.getLogger(__name__)


@shared_task(name="workflows.advance_run", ignore_result=True)
def advance_run(run_id: str) -> None:
    """Drive a run until it ends, pauses or is lost. A second delivery finds it claimed."""
    get_worker().advance(UUID(run_id))


def wake_worker(run_id: UUID) -> None:
    """Announce a run. A failure is no error: workers find the row without the message."""
    try:
        advance_run.apply_async((str(run_id),), retry=False)
    except (KombuError, OSError) as error:
        log.warning("wake_up_unheard", extra={"run": str(run_id), "why": str(error)})


@shared_task(name="workflows.run_case", ignore_result=True)
def run_case(team_id: str, result_id: str) -> None:
    """Run a test case; its row gets the result."""
    run_saved_case(UUID(team_id), UUID(result_id))


def wake_case(team_id: UUID, result_id: UUID) -> None:
    """Announce a test case. If no worker hears of it, it is reported as lost after a while."""
    try:
        run_case.apply_async((str(team_id), str(result_id)), retry=False)
    except (KombuError, OSError) as error:
        log.warning("wake_up_unheard", extra={"case": str(result_id), "why": str(error)})


# The loop runs from the worker's first moment on, so that it works while the broker is away.


@worker_init.connect
def start_worker(**_: Any) -> None:  # Any: what Celery's signals carry differs by signal
    get_worker().start()


@worker_ready.connect
def load_models(**_: Any) -> None:
    warm_up()


@worker_shutting_down.connect
def wind_down(**_: Any) -> None:
    get_worker().schedule_wind_down()


@worker_shutdown.connect
def stop_worker(**_: Any) -> None:
    get_worker().stop()
    # The interpreter would look through all that was loaded, several times, before it lets the process go:
    # more than a second of computing, for nothing.
    gc.freeze()
