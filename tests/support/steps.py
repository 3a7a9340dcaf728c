"""How much work a block makes, counted in lines of Python: the same on every machine, however busy it is.

What a single call of C does isn't seen, such as a regular expression or a sort. Tests of that are ``timed``.
"""

import gc
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any


class TooManySteps(AssertionError):
    """The block has made more steps than it may."""


@dataclass
class Steps:
    """The steps that a block has made so far, of this thread and of those that were started meanwhile."""

    count: int = 0


@contextmanager
def count_steps(most: int | None = None) -> Iterator[Steps]:
    """Count the lines that functions called in this block run, and fail as soon as there are more than ``most``."""
    steps = Steps()

    def watch(_frame: FrameType, event: str, _argument: Any) -> Any:
        if event == "line":
            steps.count += 1
            if most is not None and steps.count > most:
                raise TooManySteps(f"more than {most} steps")
        return watch

    # The collector would also count what objects of earlier tests do when they end.
    was_enabled, before = gc.isenabled(), sys.gettrace()
    gc.disable()
    threading.settrace(watch)
    sys.settrace(watch)
    try:
        yield steps
    finally:
        sys.settrace(before)
        threading.settrace(before)
        if was_enabled:
            gc.enable()
    # The code may have handled the failure as one of its own.
    assert most is None or steps.count <= most, f"more than {most} steps"


def check_growth(act: Callable[[int], Any], size: int, *, most: float = 2.5) -> None:
    """Fail if ``act`` makes more than ``most`` times as many steps for twice the size: linear work makes twice as many."""
    few, many = (_count(act, each) for each in (size, 2 * size))
    assert many <= few * most, f"{few} steps for {size}, {many} for {2 * size}"


def _count(act: Callable[[int], Any], size: int) -> int:
    with count_steps() as steps:
        act(size)
    return steps.count


async def check_growth_async(
    act: Callable[[int], Awaitable[Any]], size: int, *, most: float = 2.5
) -> None:
    """Do the same for a coroutine function."""
    counts = []
    for each in (size, 2 * size):
        with count_steps() as steps:
            await act(each)
        counts.append(steps.count)
    assert counts[1] <= counts[0] * most, f"{counts[0]} steps for {size}, {counts[1]} for twice"
