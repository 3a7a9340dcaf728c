"""Threads for the requests of a web process, of which only a few work at the same time.

All threads of a process share one interpreter: each waits until the others let it go on, and so does the event loop, which
accepts connections and answers health checks. With dozens of busy threads it waits for seconds, and no page is answered
sooner. So a request gets a thread when its turn comes, in the order of arrival, and gives its turn back while it waits
for something outside.
"""

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, TypeVar

from asgiref.sync import sync_to_async


T = TypeVar("T")

TURNS: Final = 6  # requests that work: one computes, while others wait for the database
MAX_THREADS: Final = 1_000  # nearly all of requests that wait for something outside


class PageThreads:
    """The threads of one event loop, and the turns of the requests that work in them."""

    def __init__(self) -> None:
        self.turns = asyncio.Semaphore(TURNS)
        self._threads = ThreadPoolExecutor(MAX_THREADS, thread_name_prefix="pages")

    async def run(self, function: Callable[..., T], *arguments: Any) -> T:
        """Call the function in a thread when its turn has come, and return its result."""
        await self.turns.acquire()
        turn = _Turn(self.turns, asyncio.get_running_loop())
        token = _own_turn.set(turn)
        try:
            call = sync_to_async(function, thread_sensitive=False, executor=self._threads)
            return await call(*arguments)
        finally:
            _own_turn.reset(token)
            if turn.is_held:
                self.turns.release()


class _Turn:
    """The turn of one request. Its methods are called in the thread of the request."""

    def __init__(self, turns: asyncio.Semaphore, loop: asyncio.AbstractEventLoop) -> None:
        self._turns, self._loop = turns, loop
        self.is_held = True

    def give_back(self) -> None:
        self.is_held = False
        self._loop.call_soon_threadsafe(self._turns.release)

    def take_again(self) -> None:
        asyncio.run_coroutine_threadsafe(self._turns.acquire(), self._loop).result()
        self.is_held = True


_own_turn: ContextVar[_Turn | None] = ContextVar("turn", default=None)


@contextmanager
def lend_turn(*, takes_again: bool = True) -> Iterator[None]:
    """Let another request work until the block ends, in which this one waits for something outside.

    Who keeps a transaction meanwhile doesn't take the turn again: all others may wait for its locks. Nothing happens
    where nobody has a turn, such as in a worker and in a block within such a block.
    """
    turn = _own_turn.get()
    if turn is None or not turn.is_held or _is_in_event_loop():
        yield
        return
    turn.give_back()
    try:
        yield
    finally:
        if takes_again:
            turn.take_again()


def _is_in_event_loop() -> bool:
    """Return whether this thread is the one of the event loop, which must never wait for a turn."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
