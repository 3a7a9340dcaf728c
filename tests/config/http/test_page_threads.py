"""Only a few requests work at the same time. The others wait, and health checks don't."""

import asyncio
import threading
from contextlib import suppress
from typing import Any

import pytest
from asgiref.testing import ApplicationCommunicator

from accounts.request_transaction import without_connection
from config.http.health import HealthChecks, Readiness
from config.http.page_threads import LONG_TURNS, TURNS, PageThreads, lend_turn
from tests.support.waiting import until_async


NEVER = 86_400.0  # seconds until a request counts as one that works for long


class Work:
    """Requests that work until they are told to end, and how many have begun."""

    def __init__(self) -> None:
        self.begun = 0
        self._may_end = threading.Event()
        self._lock = threading.Lock()

    def __call__(self) -> None:
        with self._lock:
            self.begun += 1
        self._may_end.wait(90)

    def end(self) -> None:
        self._may_end.set()

    async def has_begun(self, count: int) -> None:
        await until_async(lambda: self.begun >= count, why=f"{self.begun} of {count} have begun")


async def start(threads: PageThreads, function: Any, count: int = 1) -> "list[asyncio.Task[Any]]":
    tasks = [asyncio.create_task(threads.run(function)) for _number in range(count)]
    await asyncio.sleep(0)  # each has taken a turn, or waits for one
    return tasks


async def check_turns(threads: PageThreads) -> None:
    """Check that exactly as many requests can work at the same time as at first."""
    work = Work()
    tasks = await start(threads, work, TURNS)
    await work.has_begun(TURNS)
    assert threads.turns.locked()
    work.end()
    await asyncio.gather(*tasks)


async def test_no_more_requests_work_than_have_a_turn():
    threads, work = PageThreads(long_seconds=NEVER), Work()

    tasks = await start(threads, work, TURNS + 3)
    await work.has_begun(TURNS)
    begun = work.begun
    work.end()
    await asyncio.gather(*tasks)

    assert (begun, work.begun) == (TURNS, TURNS + 3)


async def test_another_request_works_beside_each_that_works_for_long():
    threads, work, waiting = PageThreads(long_seconds=0), Work(), 3

    tasks = await start(threads, work, TURNS + LONG_TURNS + waiting)
    await work.has_begun(TURNS + LONG_TURNS)
    for _turn in range(10):  # the times of all are over
        await asyncio.sleep(0)
    begun = work.begun
    work.end()
    await asyncio.gather(*tasks)

    assert (begun, work.begun) == (TURNS + LONG_TURNS, TURNS + LONG_TURNS + waiting)
    threads.turns.long_seconds = NEVER
    await check_turns(threads)


async def test_request_that_worked_for_long_and_then_waits_outside_lends_no_second_turn():
    threads, working, outside = PageThreads(long_seconds=0), Work(), Work()

    def wait_outside() -> None:
        working()
        with lend_turn():
            outside()

    tasks = await start(threads, wait_outside)
    await until_async(lambda: threads.turns.long_count == 1)
    threads.turns.long_seconds = NEVER
    working.end()
    await outside.has_begun(1)
    await until_async(lambda: threads.turns.long_count == 0)
    outside.end()
    await asyncio.gather(*tasks)

    await check_turns(threads)


async def test_health_check_does_not_wait_for_the_queue_of_pages():
    threads, work = PageThreads(long_seconds=NEVER), Work()

    async def answer_with_page(_scope: object, _receive: object, _send: object) -> None:
        await threads.run(work)

    application = HealthChecks(answer_with_page, Readiness({}))
    pages = [
        asyncio.create_task(application({"type": "http", "path": "/"}, None, None))  # type: ignore[arg-type]  # it sends nothing
        for _number in range(TURNS + 3)
    ]
    await work.has_begun(TURNS)

    check = ApplicationCommunicator(
        application, {"type": "http", "path": "/livez", "method": "GET"}
    )
    response = await check.receive_output(timeout=90)
    has_waited = any(page.done() for page in pages)
    work.end()
    await asyncio.gather(*pages)

    assert (response["status"], has_waited) == (200, False)


async def test_request_that_waits_for_something_outside_lets_another_one_work():
    threads, outside, work = PageThreads(long_seconds=NEVER), Work(), Work()

    def wait_outside() -> None:
        with without_connection():
            outside()

    waiting = await start(threads, wait_outside, TURNS)
    await outside.has_begun(TURNS)
    others = await start(threads, work, TURNS)
    await work.has_begun(TURNS)  # although nobody has answered outside

    work.end()
    outside.end()
    await asyncio.gather(*waiting, *others)
    await check_turns(threads)


async def test_request_that_has_waited_outside_works_again_when_its_turn_comes():
    threads, outside, work, end = PageThreads(long_seconds=NEVER), Work(), Work(), Work()

    def wait_outside() -> None:
        with lend_turn():
            outside()
        end()

    waiting = await start(threads, wait_outside)
    await outside.has_begun(1)
    others = await start(threads, work, TURNS)
    await work.has_begun(TURNS)
    outside.end()
    await until_async(lambda: len(threads.turns._waiters or ()) == 1)  # it asks for a turn
    begun_too_soon = end.begun
    work.end()
    await end.has_begun(1)
    end.end()
    await asyncio.gather(*waiting, *others)

    assert begun_too_soon == 0
    await check_turns(threads)


async def test_request_that_keeps_its_transaction_waits_for_no_turn():
    """Those who have the turns may wait for its locks."""
    threads, outside, work = PageThreads(long_seconds=NEVER), Work(), Work()

    def wait_outside() -> None:
        with lend_turn(takes_again=False):
            outside()
        work.end()  # what all others wait for

    waiting = await start(threads, wait_outside)
    await outside.has_begun(1)
    others = await start(threads, work, TURNS)
    await work.has_begun(TURNS)
    outside.end()
    await asyncio.gather(*waiting, *others)

    await check_turns(threads)


async def test_block_within_a_block_lends_no_second_turn():
    threads, outside = PageThreads(long_seconds=NEVER), Work()

    def wait_twice() -> None:
        with lend_turn(), lend_turn():
            outside()

    tasks = await start(threads, wait_twice)
    await outside.has_begun(1)
    outside.end()
    await asyncio.gather(*tasks)

    await check_turns(threads)


@pytest.mark.parametrize("is_lent", [False, True])
async def test_turn_of_a_request_that_fails_is_free_again(is_lent: bool):
    threads = PageThreads(long_seconds=NEVER)

    def fail() -> None:
        if not is_lent:
            raise LookupError
        with lend_turn():
            raise LookupError

    for task in await start(threads, fail, TURNS + 1):
        with suppress(LookupError):
            await task

    await check_turns(threads)


def test_lending_does_nothing_where_nobody_has_a_turn():
    with lend_turn(), lend_turn(takes_again=False):
        pass
