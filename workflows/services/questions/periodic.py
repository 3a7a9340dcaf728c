"""The periodic task of questions, and its place in the workers."""

from celery import shared_task
from django.db import connections

from workflows.execution.timers import PluggedWork, plug_in
from workflows.services.questions.reminders import give_due_notices
from workflows.tasks import GIVE_NOTICES_TASK


@shared_task(name=GIVE_NOTICES_TASK, ignore_result=True)
def give_notices() -> int:
    """Remind of the questions that are due, and escalate them."""
    return give_due_notices()


def give_notices_and_close() -> int:
    """Give what is due, in a thread of a worker that has no connection of its own."""
    try:
        return give_due_notices()
    finally:
        connections.close_all()


NOTICES = PluggedWork(
    "notices",
    "select waits is not null, next_in from execution_due_questions(null, 1)",
    give_notices_and_close,
)


def register() -> None:
    plug_in(NOTICES)
