"""Run short functions that use the ORM in a few threads, which close their database connections afterwards.

A run waits while the database is away: its functions are called again then, so they must recognize an earlier effect.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import ParamSpec, TypeVar

from django.db import connections

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
            return function(*args, **kwargs)
        finally:
            connections.close_all()

    return await asyncio.get_running_loop().run_in_executor(_get_pool(), run_and_close)


@cache
def _get_pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(THREADS, thread_name_prefix="runs-orm")
