"""Order the tests: those of a module one after the other, and slow ones first. Otherwise the random order stays.

Each worker begins with its part of the tests, and takes from others once it has done it.
"""

import os
from collections.abc import Iterable, Sequence
from itertools import groupby

import pytest


Items = list[pytest.Item]


@pytest.hookimpl(trylast=True)  # after the tests that were not chosen are gone
def pytest_collection_modifyitems(items: Items) -> None:
    count = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    parts = _share_modules(items, [[] for _ in range(count)])
    items[:] = [item for part in parts for item in _put_slow_first(part)]


def _share_modules(items: Iterable[pytest.Item], parts: list[Items]) -> list[Items]:
    """Add the tests of each module to the part that has the fewest tests."""
    for _path, module in groupby(items, lambda item: item.path):
        min(parts, key=len).extend(module)
    return parts


def _put_slow_first(items: Sequence[pytest.Item]) -> Items:
    """A worker that begins a long one as the last leaves the others without work."""
    return sorted(items, key=lambda item: item.get_closest_marker("slow") is None)
