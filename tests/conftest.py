"""What every test may use. The fixtures live in `tests/support`, one noun a module."""

import gc
import os

import hypothesis
import pytest
from django.utils import translation

from config import ids
from tests.order import pytest_collection_modifyitems
from tests.second_try import (
    pytest_runtest_makereport,
    pytest_runtest_protocol,
    pytest_terminal_summary,
)


__all__ = [
    "pytest_collection_modifyitems",
    "pytest_runtest_makereport",
    "pytest_runtest_protocol",
    "pytest_terminal_summary",
]


pytest_plugins = [
    "tests.support.database",
    "tests.support.cast",
    "tests.support.stack",
    "tests.support.embedding",
]


# Both limits are of wall-clock time, which on a busy machine says nothing about a test. The rest, which differs in CI,
# stays as it is.
hypothesis.settings.register_profile(
    "busy machine",
    hypothesis.settings(),
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("busy machine")

# Ten thousand tests and what they import are gone through again and again while they are collected, and again by
# tests that want no more than their own rubbish taken out.
gc.disable()


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(autouse=True)
def _own_clock() -> None:
    """A test that moves the clock leaves its time to the next UUIDs, which would sort behind those of the workers."""
    ids._newest_stamp = 0


@pytest.fixture(autouse=True)
def _own_language() -> None:
    """A request leaves its language to the thread; the next test speaks that of the settings."""
    translation.deactivate()


def pytest_sessionfinish(session: pytest.Session) -> None:
    if "PYTEST_XDIST_WORKER" in os.environ:
        return
    # Inline import: it reads the session's home folder, which the settings choose.
    from tests.support.servers import stop_servers

    stop_servers()
