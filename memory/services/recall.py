"""Recall: by key, by text, or the newest. What a run recalled is kept as provenance."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from django.db import connection

from config.again import tried_again
from config.ids import uuid7
from memory.core.errors import MemoryFault
from memory.core.provider import check_query
from memory.core.records import Json, MemoryEntry, MemoryQuery
from memory.embedding.questions import by_meaning
from memory.providers.postgres.provider import search
from memory.services.caller import MemoryCaller
from memory.services.door import Door, key_hash, opened, would_find
from memory.services.pausing import Withheld


# One text for all of them: ten rows of eleven columns cost more to compose than to write.
READ = """
    INSERT INTO memory_read
      (team_id, run_id, node_id, origin_key, injected, at, id, entry_id, revision, score, explain)
    SELECT %s, %s, %s, %s, %s, %s, fresh.*
    FROM jsonb_to_recordset(%s::jsonb)
      AS fresh (id uuid, entry_id uuid, revision int, score float8, explain jsonb)
    ON CONFLICT DO NOTHING
"""


@tried_again
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
    asked = MemoryQuery("", key, query_text, filter, top_k, language, recency_days, as_of)
    asked = meant(caller, asked, scope=scope, namespace=namespace)
    with opened(caller, "view", "memory.recalled", scope=scope, namespace=namespace) as door:
        query = replace(asked, namespace=door.text)
        check_query(query)
        found = _found(door, query)
        if key is not None:
            door.detail["key"] = key_hash(key)
        if as_of is not None:
            door.detail["as_of"] = as_of.isoformat()
        if query.meaning is not None and not query.meaning.vector:
            door.detail["meaning"] = "no answer"
        door.detail.update(keys=len(found), injected=injected)
        if caller.origin.run_id and door.elsewhere is None:
            remember_reads(door, found, injected=injected)
        return found


def meant(
    caller: MemoryCaller, asked: MemoryQuery, *, scope: str | None, namespace: str | None
) -> MemoryQuery:
    """With its meaning, unless the door will refuse or give nothing: then its words reach no embedder."""

    def may() -> bool:
        try:
            check_query(asked)
        except MemoryFault:
            return False  # said, and written down, at the door
        return would_find(caller, scope=scope, namespace=namespace)

    return by_meaning(asked, may)


def _found(door: Door, query: MemoryQuery) -> list[MemoryEntry]:
    row = door.place.row
    if row is None:
        return Withheld() if door.withheld else []
    return door.elsewhere.recall(query) if door.elsewhere else search(row, query, door.now)


def remember_reads(door: Door, found: Sequence[MemoryEntry], *, injected: bool) -> None:
    """A step tried again reads the same entries; they are noted once."""
    if not found:
        return
    origin = door.caller.origin
    read = [
        {
            "id": str(uuid7()),
            "entry_id": entry.id,
            "revision": entry.revision,
            "score": entry.score,
            "explain": dict(entry.explain),
        }
        for entry in found
    ]
    with connection.cursor() as cursor:
        cursor.execute(
            READ,
            [
                *(door.caller.team_id, origin.run_id, origin.node_id, origin.idempotency_key),
                *(injected, door.now, json.dumps(read)),
            ],
        )
