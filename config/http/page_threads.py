"""Threads for the requests of a web process, of which only a few work at the same time.

All threads of a process share one interpreter: each waits until the others let it go on, and so does the event loop, which
accepts connections and answers health checks. With six busy threads it waits for a fifth of a second, and no page is
answered sooner. So a request gets a thread when its turn comes, in the order of arrival, and gives its turn back while
it waits for something outside. Who works for long, most likely waits for the database: for a lock, or for a large query.
Then another one may work beside it.

A request that has to wait for a coroutine, such as for the end of a run, waits in its thread with ``await_in_loop``. What
the coroutine has to do with the database meanwhile is done by that same thread, see ``run_in_turn``.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, ParamSpec, TypeVar

from asgiref.sync import async_to_sync, sync_to_async
from django.db import connections

from config.interpreter.data_stack import call_with_room


T = TypeVar("T")
P = ParamSpec("P")

TURNS: Final = 2  # requests that work: one computes, while the other waits for the database
LONG_TURNS: Final = 4  # further ones, beside as many that have worked for long
LONG_SECONDS: Final = 0.25
MAX_THREADS: Final = 1_000  # nearly all of requests that wait for something outside


class PageThreads:
    """The threads of one event loop, and the turns of the requests that work in them."""

    def __init__(self, *, long_seconds: float = LONG_SECONDS) -> None:
        self.turns = _Turns(long_seconds)
        self._threads = ThreadPoolExecutor(MAX_THREADS, thread_name_prefix="pages")

    async def run(
        self,
        function: Callable[..., T],
        *arguments: Any,
        disconnected: "asyncio.Task[None] | None" = None,
    ) -> T:
        """Call the function in a thread when its turn has come, and return its result.

        ``disconnected`` ends when nobody waits for the result any more.
        """
        call = sync_to_async(call_with_room, thread_sensitive=False, executor=self._threads)
        token = _page.set(_Page(self, disconnected))
        try:
            async with self.take_turn():
                return await call(function, *arguments)
        finally:
            _page.reset(token)

    @asynccontextmanager
    async def take_turn(self) -> AsyncIterator[None]:
        """Wait for a turn, and keep it until the block ends, unless it is given back in between."""
        turn = _Turn(self.turns, asyncio.get_running_loop())
        await turn.begin()
        token = _own_turn.set(turn)
        try:
            yield
        finally:
            _own_turn.reset(token)
            if turn.is_held:
                turn.end()


@dataclass(slots=True, eq=False)
class _Page:
    """A request in a thread. ``is_waiting``: its thread waits for a coroutine, and is free for what that has to do."""

    threads: PageThreads
    disconnected: "asyncio.Task[None] | None"
    is_waiting: bool = False


_page: ContextVar[_Page | None] = ContextVar("page", default=None)


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


def await_in_loop(
    function: Callable[P, Coroutine[Any, Any, T]], *args: P.args, **kwargs: P.kwargs
) -> T:
    """Return the result of an asynchronous function. Meanwhile this thread has no turn and no database connection.

    If the client leaves, the function is cancelled, and this raises CancelledError, which ends the request.
    """
    for connection in connections.all(initialized_only=True):
        if not connection.in_atomic_block:  # a test's transaction keeps its connection
            connection.close()
    with lend_turn():
        return async_to_sync(_await_for_client)(partial(function, *args, **kwargs))


async def run_in_turn(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function from a coroutine of a request: in the request's thread when it has a turn.

    Once the request has been answered, for example with a stream that goes on, it is called in another thread for pages.
    """
    page = _page.get()
    if page is None:  # in a test
        return await sync_to_async(function)(*args, **kwargs)
    if not page.is_waiting:
        return await page.threads.run(partial(function, *args, **kwargs))
    async with page.threads.take_turn():
        return await sync_to_async(function)(*args, **kwargs)


async def _await_for_client(function: Callable[[], Coroutine[Any, Any, T]]) -> T:
    page, task = _page.get(), asyncio.current_task()
    if page is None or task is None:
        return await function()

    def cancel(_disconnected: "asyncio.Task[None]") -> None:
        task.cancel()

    if page.disconnected is not None:
        page.disconnected.add_done_callback(cancel)
    page.is_waiting = True
    try:
        return await function()
    finally:
        page.is_waiting = False
        if page.disconnected is not None:
            page.disconnected.remove_done_callback(cancel)
