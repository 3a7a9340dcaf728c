"""What every test may use. The fixtures live in `tests/support`, one noun a module."""

import gc
import os
from collections.abc import Iterator

import hypothesis
import pytest
from _pytest import runner
from django.utils import translation
from hypothesis.internal.conjecture import providers

from config import ids
from config.interpreter.data_stack import call_with_room
from tests.order import pytest_collection_modifyitems


__all__ = ["pytest_collection_modifyitems"]


pytest_plugins = [
    "tests.support.database",
    "tests.support.cast",
    "tests.support.stack",
    "tests.support.embedding",
]


# Limits of wall-clock time say nothing about a test on a busy machine. By day the same examples are drawn each time, so
# that a run says something about the change and not about the draw; by night new ones are drawn.
hypothesis.settings.register_profile(
    "night",
    deadline=None,
    print_blob=True,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.register_profile(
    "day", hypothesis.settings.get_profile("night"), derandomize=True
)
hypothesis.settings.load_profile("day")

# Ten thousand tests and what they import are gone through again and again while they are collected, and again by
# tests that want no more than their own rubbish taken out.
gc.disable()
gc.set_threshold(20_000, 10, 20)  # as manage.py does


def pytest_configure(config: pytest.Config) -> None:
    if str(config.option.markexpr) == "nightly":
        hypothesis.settings.load_profile("night")
    else:
        _draw_no_constants_of_the_code()


def _draw_no_constants_of_the_code() -> None:
    """Let drawn examples depend on the test alone.

    Hypothesis mixes in the constants of all of our modules that happen to be loaded, so that any change of the code, and
    even the order of the tests, would draw other examples. It has no setting for that.
    """
    nothing = providers.Constants()
    vars(providers)["_get_local_constants"] = lambda: nothing


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool:
    """Run each test as pytest does, but with room for its frames: requests are made sixty calls deep in a test."""
    return call_with_room(runner.pytest_runtest_protocol, item, nextitem)


@pytest.fixture(autouse=True, scope="module")
def _own_rubbish() -> Iterator[None]:
    """A socket or file that a test left open is reported by a test of its own module, not by whichever comes later.

    What survives is not gone through again: looking at all of it after each module took a tenth of the time.
    """
    yield
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _own_clock() -> None:
    """A test that moves the clock leaves its time to the next UUIDs, which would sort behind those of the workers."""
    ids._newest_stamp = 0


@pytest.fixture(autouse=True)
def _own_language() -> None:
    """A request leaves its language to the thread; the next test speaks that of the settings."""
    translation.deactivate()


def pytest_sessionfinish(session: pytest.Session) -> None:
    is_shared = not os.environ["MNEMOFLOW_TEST_HOME"].endswith(f"-{os.getpid()}")
    if "PYTEST_XDIST_WORKER" in os.environ or is_shared:
        return
    # Inline import: it reads the session's home folder, which the settings choose.
    from tests.support.servers import stop_servers

    stop_servers()
