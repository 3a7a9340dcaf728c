"""The order of the tests: modules together, slow ones first, as many for each worker, and none lost."""

from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, cast

import pytest

from tests.order import pytest_collection_modifyitems


@dataclass(frozen=True)
class FakeItem:
    path: Path
    number: int
    is_slow: bool = False

    def get_closest_marker(self, name: str) -> str | None:
        return name if self.is_slow and name == "slow" else None


ALL = [
    FakeItem(Path(f"test_{module}.py"), number, is_slow=number == 9)
    for module in range(12)
    for number in range(10)
]


@pytest.mark.parametrize("workers", [1, 3])
def test_parts_of_workers_have_modules_together_and_slow_tests_first(
    workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_XDIST_WORKER_COUNT", str(workers))
    items: list[Any] = [*ALL]

    pytest_collection_modifyitems(cast("list[pytest.Item]", items))

    assert sorted(map(repr, items)) == sorted(map(repr, ALL))
    size = len(items) // workers
    for begin in range(0, len(items), size):
        part = items[begin : begin + size]
        slow = [item.is_slow for item in part]
        assert slow == sorted(slow, reverse=True)
        assert slow[0]
        calm = [path for path, _tests in groupby(item.path for item in part if not item.is_slow)]
        assert len(calm) == len(set(calm))
