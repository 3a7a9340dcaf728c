"""Threads for the requests of a web process, of which only a few work at the same time.

All threads of a process share one interpreter: each waits until the others let it go on, and so does the event loop, which
accepts connections and answers health checks. With six busy threads it waits for a fifth of a second, and no page is
answered sooner. So a request gets a thread when its turn comes, in the order of arrival, and gives its turn back while
it waits for something outside. Who works for long, most likely waits for the database: for a lock, or for a large query.
Then another one may work beside it.
"""

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, TypeVar

from asgiref.sync import sync_to_async

from config.interpreter.data_stack import call_with_room


T = TypeVar("T")

TURNS: Final = 2  # requests that work: one computes, while the other waits for the database
LONG_TURNS: Final = 4  # further ones, beside as many that have worked for long
LONG_SECONDS: Final = 0.25
MAX_THREADS: Final = 1_000  # nearly all of requests that wait for something outside


class PageThreads:
    """The threads of one event loop, and the turns of the requests that work in them."""

    def __init__(self, *, long_seconds: float = LONG_SECONDS) -> None:
        self.turns = _Turns(long_seconds)
        self._threads = ThreadPoolExecutor(MAX_THREADS, thread_name_prefix="pages")

    async def run(self, function: Callable[..., T], *arguments: Any) -> T:
        """Call the function in a thread when its turn has come, and return its result."""
        turn = _Turn(self.turns, asyncio.get_running_loop())
        await turn.begin()
        token = _own_turn.set(turn)
        try:
            call = sync_to_async(call_with_room, thread_sensitive=False, executor=self._threads)
            return await call(function, *arguments)
        finally:
            _own_turn.reset(token)
            if turn.is_held:
                turn.end()


class _Turns(asyncio.Semaphore):
    """The turns that are free. One more is for each request that has had one for long, up to ``LONG_TURNS``."""

    def __init__(self, long_seconds: float) -> None:
        super().__init__(TURNS)
        self.long_seconds = long_seconds
        self.long_count = 0


class _Turn:
    """The turn of one request. ``begin`` and ``end`` are called in the event loop, the others in the request's thread."""

    def __init__(self, turns: _Turns, loop: asyncio.AbstractEventLoop) -> None:
        self._turns, self._loop = turns, loop
        self._is_long = False
        self._timer: asyncio.TimerHandle | None = None
        self.is_held = False

    async def begin(self) -> None:
        await self._turns.acquire()
        self.is_held = True
        self._watch()

    def end(self) -> None:
        if self._timer:
            self._timer.cancel()
        if self._is_long:  # another request has had this turn since
            self._turns.long_count -= 1
            self._is_long = False
        else:
            self._turns.release()

    def give_back(self) -> None:
        self.is_held = False
        self._loop.call_soon_threadsafe(self.end)

    def take_again(self) -> None:
        asyncio.run_coroutine_threadsafe(self.begin(), self._loop).result()

    def _watch(self) -> None:
        self._timer = self._loop.call_later(self._turns.long_seconds, self._let_another_work)

    def _let_another_work(self) -> None:
        if self._turns.long_count >= LONG_TURNS:
            self._watch()
            return
        self._is_long = True
        self._turns.long_count += 1
        self._turns.release()


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
