"""What every test may use. The fixtures live in `tests/support`, one noun a module."""

import gc
import os

import pytest
from django.utils import translation


pytest_plugins = [
    "tests.support.database",
    "tests.support.cast",
    "tests.support.stack",
    "tests.support.embedding",
]


# Ten thousand tests and what they import are gone through again and again while they are collected, and again by
# tests that want no more than their own rubbish taken out.
gc.disable()


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()
    gc.enable()


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
