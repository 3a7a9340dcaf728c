"""What runs load in threads: once for all who need it, and again after a failure."""

import asyncio
from threading import Event
from typing import Any

import pytest

from tests.support.waiting import LIMIT
from workflows.execution.threads import LoadedOnce


async def test_expected_value_is_loaded_once_for_all_who_need_it() -> None:
    goes_on = Event()
    calls: list[None] = []

    def load() -> int:
        calls.append(None)
        goes_on.wait(LIMIT)
        return len(calls)

    value = LoadedOnce(load)
    value.expect()
    readers = [asyncio.create_task(value.get()) for _ in range(3)]
    await asyncio.sleep(0)
    readers[0].cancel()  # the others get it nevertheless
    goes_on.set()

    assert await asyncio.gather(*readers[1:]) == [1, 1]
    assert await value.get() == 1


async def test_failure_is_told_to_who_needs_the_value_and_the_next_one_loads_again() -> None:
    results: list[Any] = [ValueError("away"), 7]

    def load() -> int:
        result = results.pop(0)
        if isinstance(result, Exception):
            raise result
        return int(result)

    value = LoadedOnce(load)
    value.expect()

    with pytest.raises(ValueError, match="away"):
        await value.get()
    assert await value.get() == 7
