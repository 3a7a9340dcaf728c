"""A worker in the test's own process that is told of queued runs, and readers that soon see what it wrote.

Without a broker and a bus, each would look for itself, and every test would wait for that for a second or two.
"""

from types import SimpleNamespace
from typing import Final

import pytest

from workflows.execution.events.run_feed import RunFeed
from workflows.execution.worker import Worker


LOOK: Final = 0.05  # seconds between two looks of the readers at the rows


def hurry(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wake the started worker for each run that is queued in this process, and let readers look often."""
    messages = SimpleNamespace(apply_async=lambda *_arguments, **_options: worker.wake())
    monkeypatch.setattr("workflows.tasks.advance_run", messages)
    monkeypatch.setattr(RunFeed, "poll_seconds_without_bus", LOOK)
