"""Order the tests: those in a browser one after the other, so that they share it, and slow ones first.

Otherwise the random order stays. Each worker begins with its part of the tests, and takes from others once it has done
it. Its browser opens in another third of its part, if there are three workers: a browser keeps the processors busy,
which other tests mostly wait for.
"""

import os
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path

import pytest


JOURNEYS = Path(__file__).parent / "journeys"

Items = list[pytest.Item]


@pytest.hookimpl(trylast=True)  # after the tests that were not chosen are gone
def pytest_collection_modifyitems(items: Items) -> None:
    count = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    in_browser = [item for item in items if JOURNEYS in item.path.parents]
    others = [item for item in items if JOURNEYS not in item.path.parents]
    journeys = _share_modules(in_browser, [[] for _ in range(count)])
    parts = _share_modules(others, [list(share) for share in journeys])
    items[:] = [
        item
        for number, (share, part) in enumerate(zip(journeys, parts, strict=True))
        for item in _put_between(share, part[len(share) :], number / count)
    ]


def _share_modules(items: Iterable[pytest.Item], parts: list[Items]) -> list[Items]:
    """Add the tests of each module to the part that has the fewest tests."""
    for _path, module in groupby(items, lambda item: item.path):
        min(parts, key=len).extend(module)
    return parts


def _put_between(
    journeys: Sequence[pytest.Item], others: Sequence[pytest.Item], at: float
) -> Items:
    others = _put_slow_first(others)
    begin = round(len(others) * at)
    return [*others[:begin], *_put_slow_first(journeys), *others[begin:]]


def _put_slow_first(items: Sequence[pytest.Item]) -> Items:
    """A worker that begins a long one as the last leaves the others without work."""
    return sorted(items, key=lambda item: item.get_closest_marker("slow") is None)
