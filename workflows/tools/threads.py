"""Runs functions that use the database for code that waits for something outside, and so has no connection."""

from collections.abc import Callable
from typing import ParamSpec, Protocol, TypeVar

from asgiref.sync import sync_to_async

from accounts.request_transaction import give_back_connection


P = ParamSpec("P")
T = TypeVar("T")


class RunInThread(Protocol):
    """Runs a function that uses the database outside the event loop."""

    async def __call__(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T: ...


async def run_in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a function that needs the database for a moment, in a web process. Workers have a pool of threads for that."""

    def run() -> T:
        try:
            return function(*args, **kwargs)
        finally:
            give_back_connection()

    return await sync_to_async(run)()
