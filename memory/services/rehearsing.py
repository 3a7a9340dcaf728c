"""Talks and pages as a test run sees them: the logic over a copy, its writes in the run's ledger."""

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from config.ids import uuid7
from memory.core.records import Json, MemoryEntry, MemoryQuery, StoreParams
from memory.core.scopes import Scope
from memory.logic.paging import MERGE, Hit, Kept, Sought, find, write
from memory.logic.talking import Talk, asked
from memory.logic.talking import converse as talk_with
from memory.permissions import Verb
from memory.providers.in_memory import InMemoryProvider
from memory.providers.postgres.provider import in_thread
from memory.services.caller import CallOrigin, MemoryCaller
from memory.services.door import Door, opened
from memory.services.port import StepOrigin
from memory.services.recall import remember_reads
from memory.services.within import at_once


@dataclass
class Rehearsed:
    """A namespace's copy in the shape of a provider; ``real`` are its entries that are really there."""

    door: Door
    provider: InMemoryProvider
    real: frozenset[tuple[str, int]]  # (id, revision)
    keep: Callable[[Door, StoreParams], MemoryEntry]
    drop: Callable[[Door, str], int]
    _written: set[str] = field(default_factory=set)

    async def store(self, params: StoreParams) -> MemoryEntry:
        again = params.key in self._written
        self._written.add(params.key)
        return self.keep(_unnamed(self.door) if again else self.door, params)

    async def recall(self, query: MemoryQuery) -> list[MemoryEntry]:
        return await self.provider.recall(query)

    async def delete(self, namespace: str, key: str) -> bool:
        self._written.discard(key)
        return self.drop(self.door, key) > 0

    async def history(self, namespace: str, key: str) -> Sequence[MemoryEntry]:
        return await self.provider.history(namespace, key)

    def note_reads(self, entries: Iterable[MemoryEntry]) -> None:
        read = [one for one in entries if (one.id, one.revision) in self.real]
        remember_reads(self.door, read, injected=False)


class RehearsedLogic:
    """The part of a sandbox's port that is logic; the sandbox brings its copies and its ledger."""

    _lock: threading.Lock

    def _at(self, origin: StepOrigin) -> MemoryCaller:
        raise NotImplementedError

    def _rehearsed(self, door: Door, scope: str) -> Rehearsed:
        raise NotImplementedError

    async def converse(
        self,
        *,
        identity: Mapping[str, Json],
        origin: StepOrigin,
        action: str,
        messages: Sequence[Json] = (),
        rules: Mapping[str, Json] | None = None,
    ) -> Talk:
        caller, scope = self._at(origin), str(Scope.CONVERSATION)
        wanted = asked(action, messages, rules or {}, step=origin.idempotency_key)
        verb, audited = _DOORS[wanted.action]

        def work() -> Talk:
            with self._lock, opened(caller, verb, audited, scope=scope) as door:
                entries = self._rehearsed(door, scope)
                talk = at_once(
                    talk_with(
                        wanted, door.place.named.ids[0], entries, new_id=lambda: str(uuid7()),
                        clock=lambda: door.now, source=caller.source,
                    )
                )  # fmt: skip
                door.detail.update(keys=len(talk.entries) or talk.count, sandbox=True)
                if verb == "view":
                    entries.note_reads(talk.entries)
                return talk

        return await in_thread(work)

    async def find_pages(
        self,
        *,
        scope: str,
        identity: Mapping[str, Json],
        origin: StepOrigin,
        query: str,
        top_k: int = 20,
        min_score: float = 0.1,
        tags: Sequence[str] = (),
    ) -> Sequence[Hit]:
        caller, sought = self._at(origin), Sought(query, top_k, min_score, tuple(tags))

        def work() -> Sequence[Hit]:
            with self._lock, opened(caller, "view", "memory.recalled", scope=scope) as door:
                if door.withheld:
                    return ()
                entries = self._rehearsed(door, scope)
                hits = at_once(find(sought, entries, door.text))
                door.detail.update(keys=len(hits), pages=True, sandbox=True)
                entries.note_reads(hit.entry for hit in hits)
                return hits

        return await in_thread(work)

    async def write_pages(
        self,
        *,
        scope: str,
        identity: Mapping[str, Json],
        origin: StepOrigin,
        pages: Sequence[Mapping[str, Json]],
        mode: str = MERGE,
    ) -> Sequence[Kept]:
        caller = self._at(origin)

        def work() -> Sequence[Kept]:
            with self._lock, opened(caller, "write", "memory.rehearsed", scope=scope) as door:
                entries = self._rehearsed(door, scope)
                kept = at_once(
                    write(
                        pages, entries, door.text, mode=mode,
                        clock=lambda: door.now, source=caller.source,
                    )
                )  # fmt: skip
                door.detail.update(keys=len(kept), pages=True)
                return kept

        return await in_thread(work)


_DOORS: dict[str, tuple[Verb, str]] = {
    "append": ("write", "memory.rehearsed"),
    "read": ("view", "memory.recalled"),
    "clear": ("forget", "memory.rehearsed"),
    "summarise": ("write", "memory.rehearsed"),
}


def _unnamed(door: Door) -> Door:
    """A second time in one step is no repetition of it."""
    origin = door.caller.origin
    return replace(
        door, caller=replace(door.caller, origin=CallOrigin(origin.run_id, origin.node_id))
    )
