"""A provider, a clock that ticks, and ids that count: all a test of the logic needs."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import count

from memory.providers.in_memory import InMemoryProvider


NAMESPACE = "user:alice"
START = datetime(2026, 1, 1, tzinfo=UTC)


class Ticking:
    """Never twice at the same time, and tests move it."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        self.now += timedelta(microseconds=1)
        return self.now


def counting(prefix: str = "id") -> Callable[[], str]:
    numbers = count(1)
    return lambda: f"{prefix}{next(numbers):06d}"


def provider(clock: Callable[[], datetime] | None = None) -> InMemoryProvider:
    return InMemoryProvider(clock=clock or Ticking())
