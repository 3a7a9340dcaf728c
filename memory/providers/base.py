"""The base class of memory providers."""

import asyncio
from abc import ABC
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from memory.core.provider import NamespaceStore
from memory.core.records import MemoryQuery
from memory.core.values import count_entry_bytes
from memory.logic.judgement.judge import Judge
from memory.logic.provider_port import ProviderPort


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Usage:
    """The number of entries of a namespace, and of their bytes together, which is None if nobody has counted them."""

    entries: int
    size: int | None


class MemoryProvider(NamespaceStore, ABC):
    """A store that is chosen by its name. The docstring of ``NamespaceStore`` is the contract of its methods.

    ``judge`` decides what a message changes; without one, the smallest rules do.
    """

    judge: Judge | None = None
    # Its calls wait for a server that isn't part of the installation, so nobody holds a database connection meanwhile.
    is_outside: ClassVar[bool] = True

    def measure(self, namespace: str) -> Usage:
        """Count the entries of a namespace. A provider that can count them without reading them overrides this."""
        entries = self.recall(MemoryQuery(namespace, include_former=True))
        sizes = (count_entry_bytes(entry.key, entry.value, entry.metadata) for entry in entries)
        return Usage(len(entries), sum(sizes))

    async def run(self, work: Callable[[], T]) -> T:
        """Call ``work``, which uses this provider and may wait, without blocking the event loop; return its result."""
        return await asyncio.to_thread(work)

    def port(self) -> ProviderPort:
        """Return the port by which a workflow's nodes use this memory, with scopes instead of namespaces."""
        return ProviderPort(self, self.judge)
