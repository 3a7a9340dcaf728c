"""Run short functions that use the ORM in a few threads, which close their database connections afterwards.

A run waits while the database is away: its functions are called again then, so they must recognize an earlier effect.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import Generic, ParamSpec, TypeVar

from django.db import connections

from config.interpreter.data_stack import call_with_room
from config.postgres.outages import retry_during_outage


THREADS = 4

P = ParamSpec("P")
T = TypeVar("T")


async def run_in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run the function, and again while the database is away, see ``config.postgres.outages``."""
    return await retry_during_outage(partial(run_once_in_thread, function, *args, **kwargs))


async def run_once_in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run the function in a separate pool: in asgiref's single thread, a worker's runs would wait for each other."""

    def run_and_close() -> T:
        try:
            return call_with_room(function, *args, **kwargs)
        finally:
            connections.close_all()

    return await asyncio.get_running_loop().run_in_executor(_get_pool(), run_and_close)


class LoadedOnce(Generic[T]):
    """A value that a function loads in a thread when it is first needed, or that is expected to be needed soon.

    All who need it wait for the same call. After a failure, who needs it next calls again.
    """

    def __init__(self, load: Callable[[], T]) -> None:
        self._load = load
        self._loading: asyncio.Task[T] | None = None

    def expect(self) -> None:
        """Begin to load it. A failure is told to those who need the value."""
        self._begin().add_done_callback(_note_failure)

    async def get(self) -> T:
        return await asyncio.shield(self._begin())  # who is cancelled leaves it to the others

    def _begin(self) -> "asyncio.Task[T]":
        task = self._loading
        if task is None or (task.done() and (task.cancelled() or task.exception())):
            task = self._loading = asyncio.create_task(run_in_thread(self._load))
        return task


def _note_failure(task: "asyncio.Task[T]") -> None:
    """Look at the failure of a task that nobody may wait for, which asyncio would report as lost."""
    if not task.cancelled():
        task.exception()


@cache
def _get_pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(THREADS, thread_name_prefix="runs-orm")
