"""Wait until a run has ended, or waits for a person."""

import asyncio

from workflows.engine.runtime.events import RunPaused
from workflows.execution.events.reader import RUN_FINISHED, follow
from workflows.execution.events.run_feed import get_run_feed
from workflows.execution.events.stream_events import StreamEvent
from workflows.models import Run


async def wait_until_ended(run: Run, seconds: float) -> bool:
    """Return whether the run ended within the time; a longer run isn't stopped, and one that waits for a person is not awaited.

    An answered run had paused before, so only its later events count. ``last_seq`` is that of the last pause: it isn't
    written while a worker executes the run, whose present attempt hasn't paused.
    """
    try:
        async with asyncio.timeout(seconds):
            events = follow(get_run_feed(), run.team_id, run.pk, run.last_seq, idle_seconds=seconds)
            async for event in events:
                if event is not None and event.name == RUN_FINISHED:
                    return True
                if event is not None and waits_for_a_person(event):
                    return False
    except TimeoutError:
        return False
    return True


def waits_for_a_person(event: StreamEvent) -> bool:
    """Return whether the run has paused, and goes on only when a person answers or resumes it."""
    return event.name == RunPaused.name and event.data["reason"] != "time"
