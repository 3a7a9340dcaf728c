"""Store an entry; the same key overwrites, and the old value stays readable as a revision."""

from collections.abc import Mapping
from dataclasses import replace

from config.again import tried_again
from memory.core.policy import check_value
from memory.core.recalling import category_of
from memory.core.records import Json, MemoryEntry, Source, StoreParams
from memory.core.scoped import tier_named
from memory.core.scopes import life_in
from memory.core.values import check_params
from memory.models.entries import Operation
from memory.permissions import guest_of
from memory.providers.postgres import rows
from memory.services import gate
from memory.services.caller import MemoryCaller
from memory.services.door import Door, key_hash, opened


@tried_again
def remember(
    caller: MemoryCaller,
    *,
    key: str,
    value: Json,
    scope: str | None = None,
    namespace: str | None = None,
    metadata: Mapping[str, Json] | None = None,
    category: str | None = None,
    tier: str = "long_term",
    importance: float = 0.5,
    ttl_seconds: float | None = None,
    reason: str = "",
    source: Source | None = None,
    raw: bool = False,
) -> MemoryEntry:
    """``source`` is taken at its word: a door that strangers knock at leaves it out.

    All of it passes the gate. ``raw``: as a provider keeps it; whoever writes has a gate of their own.
    """
    raw = raw or guest_of(caller.principal) is not None
    with opened(caller, "write", "memory.stored", scope=scope, namespace=namespace) as door:
        params = StoreParams(
            namespace=door.text,
            key=key,
            value=value,
            metadata=metadata or {},
            category=category or category_of(metadata or {}),
            tier=tier_named(tier),
            importance=importance,
            ttl_seconds=_life(door, tier, ttl_seconds, raw=raw),
            source=_signed(source or Source(), caller),
        )
        check_params(params)
        # Elsewhere, too: whose it is, is kept here all the same, and its writers are put in line.
        act = door.act(Operation.STORE, reason)
        row, standing = door.claim_to_write(params.key, act)
        if not raw:
            who = gate.who_writes(caller)
            let_in = gate.passed(params, lambda: gate.at_door(door, row), who)
            params = let_in.params
            door.detail.update(let_in.detail)
        size = check_value(door.policy, params.value)
        door.detail.update(key=key_hash(params.key), bytes=size, keys=1)
        if door.elsewhere is not None:
            kept = door.elsewhere.store(params)
            door.detail.update(entry=kept.id, before=kept.revision - 1, after=kept.revision)
            return kept
        entry, before = rows.write(row, params, act, door.policy, standing)
        door.detail.update(entry=str(entry.pk), before=before, after=entry.revision)
        return rows.entry_of(entry, door.text)


def _life(door: Door, tier: str, asked: float | None, *, raw: bool) -> float | None:
    if asked is not None:
        return asked
    return life_in(door.place.named.scope, None, "" if raw else tier)


def _signed(source: Source, caller: MemoryCaller) -> Source:
    """Who writes, where the source doesn't say."""
    return replace(
        source,
        actor=source.actor or caller.principal.actor,
        run_id=source.run_id or caller.origin.run_id,
        node_id=source.node_id or caller.origin.node_id,
    )
