"""What a worker process does when it is asked to end."""

import pytest

from workflows import tasks


def test_worker_that_ends_stops_its_runs_and_then_leaves_nothing_to_be_looked_through(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The interpreter collects several times on its way out; of what is frozen it takes no notice.

    Not frozen in earnest: these tests' own process goes on.
    """
    done: list[str] = []

    class Ending:
        def stop(self) -> None:
            done.append("stopped")

    monkeypatch.setattr(tasks, "get_worker", Ending)
    monkeypatch.setattr(tasks.gc, "freeze", lambda: done.append("frozen"))

    tasks.stop_worker()

    assert done == ["stopped", "frozen"]
