"""What holds for every test."""

import sys
import threading
from pathlib import Path
from types import ModuleType

import pytest
from django.db import connections
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from config.postgres.base import DatabaseWrapper
from tests.support.database import renew_pool
from tests.support.waiting import until


def test_examples_have_no_limit_of_wall_clock_time_and_are_the_same_each_day() -> None:
    assert settings().deadline is None
    assert HealthCheck.too_slow in settings().suppress_health_check
    assert settings().derandomize
    assert settings().print_blob


def test_examples_do_not_depend_on_the_modules_that_are_loaded(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    before = draw_examples()
    file = tmp_path / "loaded_later.py"
    file.write_text(f"WORDS = {[f'word {number}' for number in range(300)]}")
    module = ModuleType("loaded_later")
    module.__file__ = str(file)
    monkeypatch.setitem(sys.modules, module.__name__, module)

    assert draw_examples() == before


def draw_examples() -> list[str]:
    drawn = []

    @settings(max_examples=200, database=None)
    @given(st.text())
    def draw(text: str) -> None:
        drawn.append(text)

    draw()
    return drawn


@pytest.mark.django_db(transaction=True)
def test_connection_that_a_thread_took_along_is_missing_in_no_later_test():
    renew_pool()
    thread = threading.Thread(target=lambda: connections["default"].ensure_connection())
    thread.start()
    thread.join()
    until(lambda: count_used_connections() == 1)

    renew_pool()

    connections["default"].ensure_connection()
    until(lambda: count_used_connections() == 1)  # that of the test


def count_used_connections() -> int:
    """Those that a new pool is about to open count, too."""
    statistics = DatabaseWrapper._connection_pools["default"].get_stats()
    return int(statistics["pool_size"] - statistics["pool_available"])
