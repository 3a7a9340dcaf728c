"""What every test may use. The fixtures live in `tests/support`, one noun a module."""

import os

import pytest
from django.utils import translation


pytest_plugins = [
    "tests.support.database",
    "tests.support.cast",
    "tests.support.stack",
    "tests.support.embedding",
]


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
