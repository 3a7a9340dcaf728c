"""The text form of entries: a header that the Lua scripts read, and JSON that they store unread."""

import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from memory.core.entry_codec import CONTENT, from_json, to_json
from memory.core.recall.groups import get_group
from memory.core.records import MemoryEntry, StoreParams


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TICK = timedelta(microseconds=1)
BODY_FIELDS = ("key", *CONTENT, "source")


def to_ticks(moment: datetime) -> int:
    return (moment - EPOCH) // TICK


def from_ticks(text: str) -> datetime:
    return EPOCH + int(text) * TICK


def encode_body(params: StoreParams) -> str:
    """Encode the content as one line of ASCII JSON, numbers unchanged."""
    return json.dumps(to_json(params, BODY_FIELDS), separators=(",", ":"))


def encode_group(params: StoreParams) -> str:
    """Return the group as one line of JSON, or "" if there is none."""
    group = get_group(params.metadata)
    return json.dumps(group) if group else ""


def parse_entry(namespace: str, row: str) -> MemoryEntry:
    """Return the entry in a row, which is a header and the JSON of ``encode_body`` in a second line."""
    header, _, body = row.partition("\n")
    id_, revision, created, updated, expires, _size, position = header.split("|", 7)[:7]
    return from_json(
        MemoryEntry,
        json.loads(body),
        id=id_,
        namespace=namespace,
        created_at=from_ticks(created),
        updated_at=from_ticks(updated),
        expires_at=from_ticks(expires) if expires else None,
        revision=int(revision),
        position=int(position),
    )


def find_rows_at(log: Iterable[str], moment: datetime) -> list[str]:
    """Return the rows of the entries that existed at the moment, in their states at that time."""
    rows_by_id: dict[str, str] = {}
    end = to_ticks(moment)
    for state in log:
        start, id_, row = state.split("|", 2)  # the row is empty if the entry was deleted
        if int(start) <= end:
            rows_by_id[id_] = row
    return [row for row in rows_by_id.values() if row]
