"""Processor time, with limits that hold on a slow machine, on a shared one, and after thousands of other tests."""

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass


# What `_compute` takes on the machine that the limits were chosen on. A processor that runs two threads at once gives
# each less in the same time, which counts as slow, too.
REFERENCE_SECONDS = 0.02
COMPUTATIONS = 5

Clock = Callable[[], float]


@dataclass
class CpuTime:
    """The processor time that a block has taken."""

    seconds: float = 0.0


@contextmanager
def measure_cpu(clock: Clock = time.thread_time) -> Iterator[CpuTime]:
    """Measure the processor time of this thread, or with another clock, without the garbage collector's.

    The collector would go through all that earlier tests have left behind.
    """
    taken = CpuTime()
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        began = clock()
        yield taken
        taken.seconds = clock() - began
    finally:
        if was_enabled:
            gc.enable()


@contextmanager
def limit_cpu(seconds: float, clock: Clock = time.thread_time) -> Iterator[None]:
    """Fail if the block needs more processor time. A slower machine may need longer in proportion."""
    with measure_cpu(clock) as taken:
        yield
    if taken.seconds >= seconds:
        allowed = seconds * measure_slowness()
        assert taken.seconds < allowed, f"took {taken.seconds:.3f} s of the {allowed:.3f} allowed"


def measure_slowness(clock: Clock = time.thread_time) -> float:
    """Return how many times as long as the reference machine this one needs now, at least 1.

    By the clock on the wall that includes how long other processes keep this one waiting.
    """
    ratios = [1.0]
    for _ in range(COMPUTATIONS):
        with measure_cpu(clock) as taken:
            _compute()
        ratios.append(taken.seconds / REFERENCE_SECONDS)
    return max(ratios)


def _compute() -> int:
    return sum(len(str(number)) for number in range(200_000))
