"""The periodic tasks of schedules and of webhooks out, and their place in the workers."""

from celery import shared_task
from django.db import connections

from workflows.execution.timers import PluggedWork, plug_in
from workflows.services.triggers.deliveries import (
    delete_old_deliveries,
    send_and_close,
    send_due_deliveries,
)
from workflows.services.triggers.schedules import start_due_runs
from workflows.tasks import (
    SEND_DELIVERIES_TASK,
    START_SCHEDULED_RUNS_TASK,
    TIDY_DELIVERIES_TASK,
)


@shared_task(name=START_SCHEDULED_RUNS_TASK, ignore_result=True)
def start_scheduled_runs() -> int:
    """Start the runs of schedules that are due."""
    return start_due_runs()


@shared_task(name=SEND_DELIVERIES_TASK, ignore_result=True)
def send_deliveries() -> int:
    """Send the messages about ended runs that are due."""
    return send_due_deliveries()


@shared_task(name=TIDY_DELIVERIES_TASK, ignore_result=True)
def tidy_deliveries() -> int:
    """Delete the log of old messages."""
    return delete_old_deliveries()


def start_runs_and_close() -> int:
    """Start what is due, in a thread of a worker that has no connection of its own."""
    try:
        return start_due_runs()
    finally:
        connections.close_all()


SCHEDULES = PluggedWork(
    "schedules",
    "select triggers is not null, next_in from execution_due_schedules(null, 1)",
    start_runs_and_close,
)
DELIVERIES = PluggedWork(
    "deliveries",
    "select deliveries is not null, next_in from execution_due_deliveries(null, 1)",
    send_and_close,
)


def register() -> None:
    for work in (SCHEDULES, DELIVERIES):
        plug_in(work)
