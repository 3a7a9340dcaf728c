"""Run short functions that use the ORM in a few threads, which close their database connections afterwards."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import ParamSpec, TypeVar

from django.db import connections


THREADS = 4

P = ParamSpec("P")
T = TypeVar("T")


async def run_in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
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
