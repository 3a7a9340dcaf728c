"""Wait until something holds. The limit says only when a test has hung, so it is far above what a busy machine needs.

The one place where tests sleep: whatever they wait for, they ask for it here until it is there.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar, overload


T = TypeVar("T")

LIMIT: Final = (
    90.0  # seconds; below the limit of a whole test, so that the message says what was awaited
)
PAUSE: Final = 0.02  # seconds between two questions


def until(ask: Callable[[], T], *, why: str = "", seconds: float = LIMIT) -> T:
    """Ask again and again, and return the first answer that counts as true.

    Raises ``AssertionError`` with ``why`` after ``seconds``.
    """
    end = time.monotonic() + seconds
    while not (answer := ask()):
        if time.monotonic() > end:
            raise AssertionError(why or f"waited {seconds:g} s in vain")
        time.sleep(PAUSE)
    return answer


@overload
async def until_async(
    ask: Callable[[], Awaitable[T]], *, why: str = "", seconds: float = LIMIT
) -> T: ...


@overload
async def until_async(ask: Callable[[], T], *, why: str = "", seconds: float = LIMIT) -> T: ...


async def until_async(
    ask: Callable[[], T | Awaitable[T]], *, why: str = "", seconds: float = LIMIT
) -> T:
    """Do the same on an event loop, which goes on working meanwhile."""
    end = time.monotonic() + seconds
    while True:
        answer = ask()
        result: T = await answer if isinstance(answer, Awaitable) else answer
        if result:
            return result
        if time.monotonic() > end:
            raise AssertionError(why or f"waited {seconds:g} s in vain")
        await asyncio.sleep(PAUSE)
