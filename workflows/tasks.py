"""Celery wrappers: a message says which run to look at, the row says what is to be done."""

import gc
import logging
from typing import Any
from uuid import UUID

from celery import shared_task
from celery.signals import worker_init, worker_ready, worker_shutdown, worker_shutting_down
from kombu.exceptions import KombuError

from workflows.execution.debugging.test_cases import run_saved_case
from workflows.execution.process import get_worker
from workflows.llm.registry import warm_up


log = logging.getLogger(__name__)


@shared_task(name="workflows.advance_run", ignore_result=True)
def advance_run(run_id: str) -> None:
    """Drive a run until it ends, pauses or is lost. Delivered twice, the second finds it taken."""
    get_worker().advance(UUID(run_id))


def wake_worker(run_id: UUID) -> None:
    """Say that there is a run. Nobody listening is no error: the row is found without it."""
    try:
        advance_run.apply_async((str(run_id),), retry=False)
    except (KombuError, OSError) as unheard:
        log.warning("wake_up_unheard", extra={"run": str(run_id), "why": str(unheard)})


@shared_task(name="workflows.run_case", ignore_result=True)
def run_case(team_id: str, result_id: str) -> None:
    """A test case; what came of it is in its row."""
    run_saved_case(UUID(team_id), UUID(result_id))


def wake_case(team_id: UUID, result_id: UUID) -> None:
    """Unheard, the case says after a while that nobody ran it."""
    try:
        run_case.apply_async((str(team_id), str(result_id)), retry=False)
    except (KombuError, OSError) as unheard:
        log.warning("wake_up_unheard", extra={"case": str(result_id), "why": str(unheard)})


# The loop runs from the worker's first moment on, so that it works while the broker is away.


@worker_init.connect
def begin(**_: Any) -> None:  # Any: what Celery's signals carry differs by signal
    get_worker().start()


@worker_ready.connect
def go_on_loading(**_: Any) -> None:
    warm_up()


@worker_shutting_down.connect
def begin_to_end(**_: Any) -> None:
    get_worker().schedule_wind_down()


@worker_shutdown.connect
def end(**_: Any) -> None:
    get_worker().stop()
    # The interpreter would look through all that was loaded, several times, before it lets the process go:
    # more than a second of computing, for nothing.
    gc.freeze()
