"""Recall: by key, by text, or the newest. What a run recalled is kept as provenance."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from memory.core.provider import check_query
from memory.core.records import Json, MemoryEntry, MemoryQuery
from memory.models import Read
from memory.providers.postgres.provider import search
from memory.services.caller import MemoryCaller
from memory.services.door import Door, key_hash, opened


def recall(
    caller: MemoryCaller,
    *,
    scope: str | None = None,
    namespace: str | None = None,
    key: str | None = None,
    query_text: str | None = None,
    filter: Mapping[str, Json] | None = None,  # noqa: A002 - the contract's word
    top_k: int | None = None,
    language: str = "english",
    injected: bool = False,
    recency_days: float | None = None,
    as_of: datetime | None = None,
) -> list[MemoryEntry]:
    """Quarantined, forgotten and expired entries are never among them."""
    with opened(caller, "view", "memory.recalled", scope=scope, namespace=namespace) as door:
        query = MemoryQuery(
            door.text, key, query_text, filter, top_k, language, recency_days, as_of
        )
        check_query(query)
        row = door.place.row
        found = search(row, query, door.now) if row else []
        if key is not None:
            door.detail["key"] = key_hash(key)
        if as_of is not None:
            door.detail["as_of"] = as_of.isoformat()
        door.detail.update(keys=len(found), injected=injected)
        if caller.origin.run_id:
            remember_reads(door, found, injected=injected)
        return found


def remember_reads(door: Door, found: Sequence[MemoryEntry], *, injected: bool) -> None:
    """A step tried again reads the same entries; they are noted once."""
    origin = door.caller.origin
    Read.objects.unscoped().bulk_create(
        [
            Read(
                team_id=door.caller.team_id,
                entry_id=UUID(entry.id),
                revision=entry.revision,
                run_id=origin.run_id,
                node_id=origin.node_id,
                origin_key=origin.idempotency_key,
                score=entry.score,
                explain=dict(entry.explain),
                injected=injected,
                at=door.now,
            )
            for entry in found
        ],
        ignore_conflicts=True,
    )
