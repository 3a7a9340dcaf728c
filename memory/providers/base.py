"""The base class of memory providers."""

import asyncio
from abc import ABC
from collections.abc import Callable
from typing import TypeVar

from memory.core.provider import NamespaceStore
from memory.logic.judgement.judge import Judge
from memory.logic.provider_port import ProviderPort


T = TypeVar("T")


class MemoryProvider(NamespaceStore, ABC):
    """A store that is chosen by its name. The docstring of ``NamespaceStore`` is the contract of its methods.

    ``judge`` decides what a message changes; without one, the smallest rules do.
    """

    judge: Judge | None = None

    async def run(self, work: Callable[[], T]) -> T:
        """Call ``work``, which uses this provider and may wait, without blocking the event loop; return its result."""
        return await asyncio.to_thread(work)

    def port(self) -> ProviderPort:
        """Return the port by which a workflow's nodes use this memory, with scopes instead of namespaces."""
        return ProviderPort(self, self.judge)
