"""What every test may use. The fixtures live in `tests/support`, one noun a module."""

import os

import pytest


pytest_plugins = [
    "tests.support.database",
    "tests.support.cast",
    "tests.support.stack",
    "tests.support.embedding",
]


def pytest_sessionfinish(session: pytest.Session) -> None:
    if "PYTEST_XDIST_WORKER" in os.environ:
        return
    # Inline import: it reads the session's home folder, which the settings choose.
    from tests.support.servers import stop_servers

    stop_servers()
