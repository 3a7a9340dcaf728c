"""What the logic asks of the world: a provider (or the service's door, which has its shape), ids, models."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from memory.core.records import MemoryEntry
from memory.core.scoped import ProviderLike


class Entries(ProviderLike, Protocol):
    """A provider that also knows the past of an entry."""

    async def history(self, namespace: str, key: str) -> Sequence[MemoryEntry]: ...


# A fresh name nobody else has; the caller decides whether ids sort by time.
NewId = Callable[[], str]

# One prompt in, one text out; raises whatever it likes, which its caller reports and survives.
AskModel = Callable[[str], Awaitable[str]]
