"""The order of the tests: journeys together, slow ones first, as many for each worker, and none lost."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest

from tests.order import JOURNEYS, pytest_collection_modifyitems


@dataclass(frozen=True)
class FakeItem:
    path: Path
    number: int
    is_slow: bool = False

    def get_closest_marker(self, name: str) -> str | None:
        return name if self.is_slow and name == "slow" else None


JOURNEY_MODULES = [
    FakeItem(JOURNEYS / f"test_{module}.py", number, is_slow=module == 3)
    for module in range(6)
    for number in range(4)
]
OTHER_MODULES = [
    FakeItem(JOURNEYS.parent / f"test_{module}.py", number, is_slow=number == 9)
    for module in range(12)
    for number in range(10)
]
MIXED = [*OTHER_MODULES[:50], *JOURNEY_MODULES, *OTHER_MODULES[50:]]


@pytest.mark.parametrize("workers", [1, 3])
def test_parts_of_workers_have_their_journeys_together_and_slow_tests_first(
    workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_XDIST_WORKER_COUNT", str(workers))
    items: list[Any] = [*MIXED]

    pytest_collection_modifyitems(cast("list[pytest.Item]", items))

    assert sorted(map(repr, items)) == sorted(map(repr, MIXED))
    size = len(items) // workers
    for begin in range(0, len(items), size):
        part = items[begin : begin + size]
        journeys = [index for index, item in enumerate(part) if JOURNEYS in item.path.parents]
        others = [item for item in part if JOURNEYS not in item.path.parents]
        assert journeys == [*range(journeys[0], journeys[-1] + 1)]
        slow = [item.is_slow for item in others]
        assert slow == sorted(slow, reverse=True)
        assert others[0].is_slow
