"""Calls that nobody may repeat without asking: they are counted, and held while a worker stops."""

import asyncio

import pytest

from workflows.engine.runtime.run_request import RunControl


async def test_call_is_under_way_until_it_ends_or_fails() -> None:
    control = RunControl()
    seen: list[bool] = []

    async def fail() -> None:
        async with control.make_call():
            seen.append(control.is_calling)
            raise ValueError("failed")

    with pytest.raises(ValueError, match="failed"):
        await fail()

    assert (seen, control.is_calling) == ([True], False)


async def test_held_call_does_not_begin_and_one_under_way_goes_on() -> None:
    control, end_first = RunControl(), asyncio.Event()
    begun: list[str] = []

    async def call(name: str) -> None:
        async with control.make_call():
            begun.append(name)
            await end_first.wait()

    first = asyncio.create_task(call("first"))
    await asyncio.sleep(0)
    control.hold_calls()
    second = asyncio.create_task(call("second"))
    await asyncio.sleep(0)
    was_calling = control.is_calling
    end_first.set()
    await first

    assert (begun, was_calling, control.is_calling) == (["first"], True, False)
    second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second
    assert not control.is_calling
