"""A provider, a clock that ticks, and ids that count: all a test of the logic needs."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from uuid import uuid4

from hypothesis import settings

from memory.core.item_store.store import InMemoryStore
from memory.providers.base import MemoryProvider
from memory.providers.in_memory import InMemoryProvider
from memory.providers.items import ItemProvider
from tests.support.documented_store import load_store


# A busy machine must not fail a property for being slow; fifty examples are soon enough.
quick = settings(deadline=None, max_examples=50)

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


class Stores:
    """Where the suites of conversations and pages keep their entries; a fixture chooses."""

    kind = "provider"
    folder = Path()

    def make(self, clock: Callable[[], datetime] | None = None) -> MemoryProvider:
        clock = clock or Ticking()
        match self.kind:
            case "items":
                return ItemProvider(InMemoryStore(), clock=clock)
            case "four functions":
                path = self.folder / f"{uuid4().hex}.db"
                return ItemProvider(load_store()(path), clock=clock)  # type: ignore[call-arg]
            case _:
                return provider(clock)


STORES = Stores()
