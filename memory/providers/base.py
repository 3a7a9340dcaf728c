"""The base class of memory providers."""

import asyncio
from abc import ABC
from collections.abc import Callable
from typing import TypeVar

from memory.core.provider import NamespaceStore
from memory.logic.engine_port import ProviderPort


T = TypeVar("T")


class MemoryProvider(NamespaceStore, ABC):
    """A ``NamespaceStore`` that can be chosen by name. The docstring of ``NamespaceStore`` is its contract."""

    async def run(self, work: Callable[[], T]) -> T:
        """Run ``work``, which calls this provider and may wait, without blocking the event loop."""
        return await asyncio.to_thread(work)

    def port(self) -> ProviderPort:
        """Return the same memory as a workflow's nodes see it: scope words instead of namespaces."""
        return ProviderPort(self)
