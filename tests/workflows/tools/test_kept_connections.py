"""The connections of a run: shared by its calls, parked while it pauses, and closed in the end."""

from dataclasses import dataclass

import pytest

from tests.support.movable_time import movable_time
from tests.support.waiting import until_async
from workflows.tools.kept_connections import (
    MAX_PARKED,
    PARK_SECONDS,
    ParkedConnections,
    find_connection,
    keep_connections,
)


@dataclass
class Connection:
    is_open: bool = True

    async def close(self) -> None:
        self.is_open = False


async def use_in_run(parked: ParkedConnections, run: str, *, is_pausing: bool = True) -> Connection:
    """Make a call in a part of a run, and return its connection."""

    async def connect() -> Connection:
        return Connection()

    async with keep_connections(parked, run) as pool:
        async with find_connection("server", connect) as connection:
            pass
        pool.is_pausing = is_pausing
    return connection


async def test_run_goes_on_with_the_connections_that_it_had_before_it_paused() -> None:
    parked = ParkedConnections()

    first = await use_in_run(parked, "a")
    other = await use_in_run(parked, "b")
    second = await use_in_run(parked, "a")
    assert (first.is_open, other.is_open) == (True, True)
    last = await use_in_run(parked, "a", is_pausing=False)

    assert first is second is last is not other
    assert (last.is_open, other.is_open) == (False, True)
    await parked.close()
    assert not other.is_open


async def test_connection_that_broke_off_meanwhile_is_opened_again() -> None:
    parked = ParkedConnections()

    first = await use_in_run(parked, "a")
    await first.close()
    second = await use_in_run(parked, "a", is_pausing=False)

    assert second is not first


async def test_parked_connections_are_closed_after_a_while() -> None:
    parked = ParkedConnections()
    with movable_time() as time:
        first = await use_in_run(parked, "a")
        time.let_pass(PARK_SECONDS + 1)
        await until_async(lambda: not first.is_open)
        second = await use_in_run(parked, "a", is_pausing=False)

    assert second is not first


async def test_only_a_few_runs_have_parked_connections() -> None:
    parked = ParkedConnections()

    connections = [await use_in_run(parked, f"run {n}") for n in range(MAX_PARKED + 2)]
    await until_async(lambda: not connections[1].is_open)

    assert [each.is_open for each in connections] == [False] * 2 + [True] * MAX_PARKED
    await parked.close()
    assert not any(each.is_open for each in connections)


async def test_failed_part_of_a_run_parks_nothing() -> None:
    parked, connection = ParkedConnections(), Connection()

    async def connect() -> Connection:
        return connection

    with pytest.raises(RuntimeError):
        async with keep_connections(parked, "a"), find_connection("server", connect):
            raise RuntimeError

    assert not connection.is_open
