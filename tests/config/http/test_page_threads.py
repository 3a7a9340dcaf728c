"""Only a few requests work at the same time. The others wait, and health checks don't."""

import asyncio
import threading
from contextlib import suppress
from contextvars import ContextVar
from typing import Any

import pytest
from asgiref.testing import ApplicationCommunicator
from django.db import connections

from accounts.request_transaction import without_connection
from config.http.health import HealthChecks, Readiness
from config.http.page_threads import (
    LONG_TURNS,
    TURNS,
    PageThreads,
    await_in_loop,
    lend_turn,
    run_in_turn,
)
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


async def test_request_that_waits_for_a_coroutine_lets_another_one_work():
    threads, outside, work = PageThreads(long_seconds=NEVER), asyncio.Event(), Work()

    waiting = await start(threads, lambda: await_in_loop(outside.wait), TURNS)
    others = await start(threads, work, TURNS)
    await work.has_begun(TURNS)  # although nobody has answered outside

    work.end()
    outside.set()
    answers = await asyncio.gather(*waiting, *others)
    assert answers == [True] * TURNS + [None] * TURNS
    await check_turns(threads)


async def test_coroutine_of_a_request_works_in_its_thread_when_it_has_a_turn():
    threads, work = PageThreads(long_seconds=NEVER), Work()

    async def work_in_turn() -> list[str]:
        return [await run_in_turn(lambda: threading.current_thread().name) for _time in range(2)]

    def name_threads() -> list[str]:
        return [threading.current_thread().name, *await_in_loop(work_in_turn)]

    others = await start(threads, work, TURNS)
    await work.has_begun(TURNS)
    tasks = await start(threads, name_threads, 3 * TURNS)
    has_begun_too_soon = any(task.done() for task in tasks)
    work.end()
    names = await asyncio.gather(*tasks)
    await asyncio.gather(*others)

    assert not has_begun_too_soon
    assert [len(set(each)) for each in names] == [1] * 3 * TURNS
    await check_turns(threads)


async def test_what_goes_on_after_the_answer_works_in_another_thread():
    threads, has_answered = PageThreads(long_seconds=NEVER), asyncio.Event()
    later: list[asyncio.Task[str]] = []

    async def work_later() -> str:
        await has_answered.wait()
        return await run_in_turn(lambda: threading.current_thread().name)

    async def answer() -> str:
        later.append(asyncio.create_task(work_later()))
        return "answer"

    answered = await threads.run(lambda: await_in_loop(answer))
    has_answered.set()

    assert (answered, (await later[0]).startswith("pages")) == ("answer", True)
    await check_turns(threads)


_language: ContextVar[str] = ContextVar("language", default="none")


async def test_coroutine_of_a_request_has_its_state_and_hands_it_back():
    threads = PageThreads()

    async def change() -> str:
        seen = _language.get()
        await run_in_turn(_language.set, "changed in turn")
        return seen

    def answer(language: str) -> tuple[str, str]:
        _language.set(language)
        return await_in_loop(change), _language.get()

    answers = await asyncio.gather(*(threads.run(answer, each) for each in ("en", "zh")))

    assert answers == [("en", "changed in turn"), ("zh", "changed in turn")]


@pytest.mark.django_db(transaction=True)
async def test_request_that_waits_for_a_coroutine_has_no_connection():
    held: list[bool] = []

    def answer() -> None:
        own = connections["default"]
        own.ensure_connection()
        held.append(own.connection is not None)

        async def look() -> None:
            held.append(own.connection is not None)

        await_in_loop(look)

    await PageThreads().run(answer)

    assert held == [True, False]


@pytest.mark.parametrize("has_left_before", [False, True])
async def test_coroutine_for_which_nobody_waits_any_more_is_cancelled(has_left_before: bool):
    threads, leave = PageThreads(long_seconds=NEVER), asyncio.Event()
    disconnected: asyncio.Task[Any] = asyncio.create_task(leave.wait())

    async def wait() -> None:
        leave.set()
        await asyncio.Event().wait()

    def answer() -> str:
        try:
            await_in_loop(wait)
        except asyncio.CancelledError:
            return "cancelled"
        return "answered"

    if has_left_before:
        leave.set()
        await disconnected

    assert await threads.run(answer, disconnected=disconnected) == "cancelled"
    await check_turns(threads)
