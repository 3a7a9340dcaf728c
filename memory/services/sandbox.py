"""Memory as a test run sees it: real entries and what the run itself would write; nothing real changes.

A namespace is copied when the run first looks into it, into the very provider the others are compared
with, so a test run and a real one agree. Every change goes to a ledger before the step hears of it: after
a crash the copy is made again and the ledger played over it. Permission, policy and quota are asked as
always, and looking is written down as always: what was read was read.
"""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal, Protocol

from memory.core.filters import document_of, matches, parse_filter
from memory.core.policy import check_value
from memory.core.provider import check_query
from memory.core.recalling import category_of
from memory.core.records import Json, MemoryEntry, MemoryQuery, Source, StoreParams, Tier
from memory.core.scoped import check_target, of_group, tier_named
from memory.core.scopes import life_in
from memory.core.values import check_params
from memory.logic.tiers import is_rejected
from memory.providers.in_memory import InMemoryProvider
from memory.providers.postgres import rows
from memory.providers.postgres.provider import in_thread
from memory.services import gate
from memory.services.caller import CallOrigin, MemoryCaller
from memory.services.door import Door, key_hash, opened
from memory.services.pausing import Withheld
from memory.services.port import StepOrigin
from memory.services.recall import remember_reads
from memory.services.rehearsing import Rehearsed, RehearsedLogic
from memory.services.within import at_once


STORE: Literal["store"] = "store"
FORGET: Literal["forget"] = "forget"


@dataclass(frozen=True, slots=True)
class WouldChange:
    """``entry`` and ``before`` are entries as JSON; a forgotten one has no entry, a new one no before."""

    operation: Literal["store", "forget"]
    scope: str
    namespace: str
    key: str
    node_id: str
    origin_key: str
    entry: Mapping[str, Json] | None = None
    before: Mapping[str, Json] | None = None


class Ledger(Protocol):
    """Where a run's would-be changes are kept, in their order. Called inside the door's transaction."""

    def load(self) -> Sequence[WouldChange]: ...
    def add(self, changes: Sequence[WouldChange]) -> None: ...


@dataclass(slots=True)
class _Copy:
    provider: InMemoryProvider
    real: frozenset[tuple[str, int]]  # (id, revision) of what was copied


@dataclass(slots=True)
class SandboxMemory(RehearsedLogic):
    """Implements the engine's memory port, as ``RunMemory`` does."""

    caller: MemoryCaller
    ledger: Ledger
    _copies: dict[str, _Copy] = field(default_factory=dict)
    _changes: list[WouldChange] | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    async def recall(
        self,
        *,
        scope: str,
        identity: Mapping[str, Json],
        origin: StepOrigin,
        key: str | None = None,
        query_text: str | None = None,
        filter: Mapping[str, Json] | None = None,  # noqa: A002 - the contract's word
        top_k: int | None = None,
        injected: bool = False,
        group_id: str | None = None,
        recency_days: float | None = None,
    ) -> list[MemoryEntry]:
        caller = self._at(origin, group_id)

        def work() -> list[MemoryEntry]:
            with self._lock, opened(caller, "view", "memory.recalled", scope=scope) as door:
                query = MemoryQuery(
                    door.text, key, query_text, filter, top_k, recency_days=recency_days
                )
                check_query(query)
                if door.withheld:
                    door.detail.update(keys=0, injected=injected, sandbox=True)
                    return Withheld()
                copy = self._copy(door)
                found = at_once(copy.provider.recall(query))
                door.detail.update(keys=len(found), injected=injected, sandbox=True)
                real = [hit for hit in found if (hit.id, hit.revision) in copy.real]
                remember_reads(door, real, injected=injected)
                return found

        return await in_thread(work)

    async def store(
        self,
        *,
        scope: str,
        identity: Mapping[str, Json],
        origin: StepOrigin,
        key: str,
        value: Json,
        metadata: Mapping[str, Json] | None = None,
        tier: str = "long_term",
        ttl_seconds: float | None = None,
    ) -> MemoryEntry:
        caller = self._at(origin)

        def work() -> MemoryEntry:
            with self._lock, opened(caller, "write", "memory.rehearsed", scope=scope) as door:
                params = StoreParams(
                    namespace=door.text,
                    key=key,
                    value=value,
                    metadata=metadata or {},
                    category=category_of(metadata or {}),
                    tier=tier_named(tier),
                    ttl_seconds=life_in(scope, ttl_seconds, tier),
                    source=Source(caller.principal.actor, origin.run_id, origin.node_id),
                )
                check_params(params)
                let_in = gate.passed(params, lambda: self._known_there(door), gate.Who.RUN)
                params = let_in.params
                size = check_value(door.policy, params.value)
                door.detail.update(let_in.detail, key=key_hash(params.key), bytes=size)
                return self._store(door, scope, params)

        return await in_thread(work)

    async def delete(
        self,
        *,
        scope: str,
        identity: Mapping[str, Json],
        origin: StepOrigin,
        key: str | None = None,
        filter: Mapping[str, Json] | None = None,  # noqa: A002 - the contract's word
    ) -> int:
        check_target(key, filter)
        caller = self._at(origin)

        def work() -> int:
            with self._lock, opened(caller, "forget", "memory.rehearsed", scope=scope) as door:
                return self._forgot_before(door) or self._forget(door, scope, key, filter)

        return await in_thread(work)

    def _rehearsed(self, door: Door, scope: str) -> Rehearsed:
        copy = self._copy(door)

        def keep(at: Door, params: StoreParams) -> MemoryEntry:
            check_params(params)
            check_value(door.policy, params.value)
            return self._store(at, scope, params)

        return Rehearsed(
            door, copy.provider, copy.real, keep, lambda at, key: self._forget(at, scope, key, None)
        )

    def _store(self, door: Door, scope: str, params: StoreParams) -> MemoryEntry:
        copy = self._copy(door)
        last = self._last(door.text, params.key)
        if (
            last is not None
            and last.entry
            and last.origin_key == door.caller.origin.idempotency_key
        ):
            return entry_from(last.entry)  # the very step again, after a crash
        before = copy.provider.living(door.text).get(params.key)
        entry = at_once(copy.provider.store(params))
        self._note(door, STORE, scope, params.key, entry, before, ttl=params.ttl_seconds)
        return entry

    def _known_there(self, door: Door) -> gate.Known:
        living = self._copy(door).provider.living(door.text)
        newest = sorted(living.values(), key=lambda one: (one.updated_at, one.id), reverse=True)
        return gate.Known(
            living.get,
            [one for one in newest if one.tier is not Tier.QUARANTINE][: gate.LIMITS.recent],
            [one.value for one in newest if is_rejected(one)][: gate.MOST_REJECTED],
            can_hold=door.elsewhere is None,
            alike=lambda params: at_once(self._copy(door).provider.recall(gate.like(params))),
        )

    def _forgot_before(self, door: Door) -> int:
        """The very step again, after a crash: what it forgot the first time."""
        origin_key = door.caller.origin.idempotency_key
        done = sum(
            change.operation == FORGET
            and change.namespace == door.text
            and change.origin_key == origin_key
            for change in self._known()
            if origin_key
        )
        door.detail["keys"] = done
        return done

    def _forget(
        self, door: Door, scope: str, key: str | None, filter_: Mapping[str, Json] | None
    ) -> int:
        copy, wanted = self._copy(door), parse_filter(filter_)
        chosen = [
            entry
            for entry in copy.provider.living(door.text).values()
            if (key is None or entry.key == key) and matches(wanted, document_of(entry))
        ]
        for entry in sorted(chosen, key=lambda one: one.id):
            at_once(copy.provider.delete(door.text, entry.key))
            self._note(door, FORGET, scope, entry.key, None, entry)
        door.detail["keys"] = len(chosen)
        return len(chosen)

    def _copy(self, door: Door) -> _Copy:
        found = self._copies.get(door.text)
        if found is None:
            namespace = door.place.row
            provider = InMemoryProvider(policy=door.policy)
            if door.elsewhere is not None:
                real = []  # what is read there is no row here, so no read of it is noted either
                provider.adopt(door.elsewhere.recall(MemoryQuery(door.text)) if namespace else [])
            else:
                living = rows.living(namespace) if namespace else ()
                real = [rows.entry_of(one, door.text) for one in living]
                provider.adopt(real)
                provider.adopt_places(door.text, rows.last_places(namespace) if namespace else {})
            for change in self._known():
                if change.namespace == door.text:
                    _replay(provider, change)
            found = _Copy(provider, frozenset((one.id, one.revision) for one in real))
            self._copies[door.text] = found
        return found

    def _known(self) -> list[WouldChange]:
        if self._changes is None:
            self._changes = list(self.ledger.load())
        return self._changes

    def _last(self, namespace: str, key: str) -> WouldChange | None:
        about = (one for one in reversed(self._known()) if one.namespace == namespace)
        return next((one for one in about if one.key == key), None)

    def _note(
        self,
        door: Door,
        operation: Literal["store", "forget"],
        scope: str,
        key: str,
        entry: MemoryEntry | None,
        before: MemoryEntry | None,
        ttl: float | None = None,
    ) -> None:
        origin = door.caller.origin
        change = WouldChange(
            operation=operation,
            scope=scope,
            namespace=door.text,
            key=key,
            node_id=origin.node_id,
            origin_key=origin.idempotency_key,
            entry={**entry_json(entry), "ttl_seconds": ttl} if entry else None,
            before=entry_json(before) if before else None,
        )
        self.ledger.add([change])
        self._known().append(change)

    def _at(self, origin: StepOrigin, group_id: str | None = None) -> MemoryCaller:
        """Its reach stays the run's own, whatever group it asks for."""
        step = CallOrigin(origin.run_id, origin.node_id, origin.idempotency_key)
        return replace(self.caller, origin=step, identity=of_group(self.caller.identity, group_id))


def entry_json(entry: MemoryEntry) -> dict[str, Json]:
    return {
        "id": entry.id,
        "namespace": entry.namespace,
        "key": entry.key,
        "value": entry.value,
        "metadata": dict(entry.metadata),
        "category": entry.category,
        "tier": entry.tier.value,
        "importance": entry.importance,
        "revision": entry.revision,
        "position": entry.position,
        **{name: _text(getattr(entry, name)) for name in _TIMES},
        "source": {
            "actor": entry.source.actor,
            "run": entry.source.run_id,
            "node": entry.source.node_id,
        },
    }


def entry_from(written: Mapping[str, Json]) -> MemoryEntry:
    source = written["source"]
    return MemoryEntry(
        id=written["id"],
        namespace=written["namespace"],
        key=written["key"],
        value=written["value"],
        metadata=written["metadata"],
        category=written["category"],
        tier=Tier(written["tier"]),
        importance=written["importance"],
        revision=written["revision"],
        position=written.get("position", 0),  # written down before there were places
        source=Source(source["actor"], source["run"], source["node"]),
        **{name: _time(written[name]) for name in _TIMES},
    )


_TIMES = ("created_at", "updated_at", "expires_at")


def _text(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None


def _time(text: str | None) -> Any:  # a datetime or none, by a name the caller chose
    return datetime.fromisoformat(text) if text else None


def _replay(provider: InMemoryProvider, change: WouldChange) -> None:
    if change.entry is not None:
        provider.adopt([entry_from(change.entry)])
    else:
        at_once(provider.delete(change.namespace, change.key))
