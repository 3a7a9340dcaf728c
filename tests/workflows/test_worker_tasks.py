"""What a worker process does when it is asked to end."""

import gc
from collections.abc import Iterator

import pytest

from workflows import tasks


class Ending:
    stopped = False

    def stop(self) -> None:
        self.stopped = True


@pytest.fixture
def collector() -> Iterator[None]:
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("collector")
def test_worker_that_ends_stops_its_runs_and_leaves_nothing_to_be_looked_through(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The interpreter collects several times on its way out; of what is frozen it takes no notice."""
    ending = Ending()
    monkeypatch.setattr(tasks, "worker", lambda: ending)

    tasks.end()

    assert ending.stopped
    assert len(gc.get_objects()) < gc.get_freeze_count() / 100
