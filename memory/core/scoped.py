"""A provider seen through scope words: what the in-process runner hands to its nodes.

Its methods have the shape of the engine's memory port, which this package must not import.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Protocol

from memory.core.errors import InvalidInput, MemoryFault
from memory.core.records import Json, MemoryEntry, MemoryQuery, Source, StoreParams, Tier
from memory.core.scopes import Scope, life_in, notes_namespace, resolve_namespace


class OriginLike(Protocol):
    """Which step of which run asks."""

    @property
    def run_id(self) -> str: ...
    @property
    def node_id(self) -> str: ...


class ProviderLike(Protocol):
    async def store(self, params: StoreParams) -> MemoryEntry: ...
    async def recall(self, query: MemoryQuery) -> list[MemoryEntry]: ...
    async def delete(self, namespace: str, key: str) -> bool: ...


class Clearing(ProviderLike, Protocol):
    async def clear_namespace(self, namespace: str) -> int: ...
    async def history(self, namespace: str, key: str) -> Sequence[MemoryEntry]: ...


class ScopedMemory:
    def __init__(self, provider: Clearing) -> None:
        self._provider = provider
        self._noting: set[str] = set()  # runs that have notes

    async def recall(
        self,
        *,
        scope: str,
        identity: Mapping[str, Json],
        origin: OriginLike,
        key: str | None = None,
        query_text: str | None = None,
        filter: Mapping[str, Json] | None = None,  # noqa: A002 - the contract's word
        top_k: int | None = None,
        injected: bool = False,
        group_id: str | None = None,
        recency_days: float | None = None,
    ) -> list[MemoryEntry]:
        namespace = resolve_namespace(scope, of_group(identity, group_id))
        query = MemoryQuery(namespace, key, query_text, filter, top_k, recency_days=recency_days)
        return await self._provider.recall(query)

    async def store(
        self,
        *,
        scope: str,
        identity: Mapping[str, Json],
        origin: OriginLike,
        key: str,
        value: Json,
        metadata: Mapping[str, Json] | None = None,
        tier: str = "long_term",
        ttl_seconds: float | None = None,
    ) -> MemoryEntry:
        params = StoreParams(
            namespace=resolve_namespace(scope, identity),
            key=key,
            value=value,
            metadata=metadata or {},
            tier=tier_named(tier),
            ttl_seconds=life_in(scope, ttl_seconds, tier),
            source=Source(run_id=origin.run_id, node_id=origin.node_id),
        )
        if scope == Scope.RUN:
            self._noting.add(params.namespace)
        return await self._provider.store(params)

    async def delete(
        self,
        *,
        scope: str,
        identity: Mapping[str, Json],
        origin: OriginLike,
        key: str | None = None,
        filter: Mapping[str, Json] | None = None,  # noqa: A002 - the contract's word
    ) -> int:
        namespace = resolve_namespace(scope, identity)
        check_target(key, filter)
        if key is not None and filter is None:
            return int(await self._provider.delete(namespace, key))
        found = await self._provider.recall(MemoryQuery(namespace, key=key, filter=filter))
        return sum([await self._provider.delete(namespace, entry.key) for entry in found])

    async def run_ended(self, run_id: str) -> None:
        """Its notes go with it; where that fails now they end by themselves."""
        notes = notes_namespace(run_id)
        if notes not in self._noting:
            return
        self._noting.discard(notes)
        with suppress(MemoryFault):
            await self._provider.clear_namespace(notes)


def port_over(provider: Clearing) -> ScopedMemory:
    """What a provider is to a workflow's nodes; see ``offer_port``."""
    return _MAKERS[-1](provider)


def offer_port(maker: Callable[[Clearing], ScopedMemory]) -> None:
    """What is built on entries lies above this package, and comes in with the package of the providers."""
    if maker not in _MAKERS:
        _MAKERS.append(maker)


def of_group(identity: Mapping[str, Json], group_id: str | None) -> Mapping[str, Json]:
    """The same run, asking for another group; whether it may is the door's question."""
    return identity if group_id is None else {**identity, "group_id": group_id}


def check_target(key: str | None, filter_: Mapping[str, Json] | None) -> None:
    if key is None and not filter_:
        raise InvalidInput("key: say which memory to forget, by key or by filter.")


_MAKERS: list[Callable[[Clearing], ScopedMemory]] = [ScopedMemory]


def tier_named(tier: str) -> Tier:
    try:
        return Tier(tier)
    except ValueError:
        raise InvalidInput(f"tier: use one of {', '.join(Tier)}.") from None
