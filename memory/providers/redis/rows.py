"""An entry as a line of text and back: a header the scripts read, and JSON they only carry."""

import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from memory.core.entry_codec import CONTENT, from_json, to_json
from memory.core.recall.groups import group_of
from memory.core.records import MemoryEntry, StoreParams


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TICK = timedelta(microseconds=1)
BODY = ("key", *CONTENT, "source")


def ticks(moment: datetime) -> int:
    return (moment - EPOCH) // TICK


def moment_of(written: str) -> datetime:
    return EPOCH + int(written) * TICK


def body_of(params: StoreParams) -> str:
    """ASCII on one line, numbers as they were given."""
    return json.dumps(to_json(params, BODY), separators=(",", ":"))


def group_field(params: StoreParams) -> str:
    """The group on one line; nothing where there is none."""
    group = group_of(params.metadata)
    return json.dumps(group) if group else ""


def entry_of(namespace: str, row: str) -> MemoryEntry:
    header, _, body = row.partition("\n")
    id_, revision, created, updated, ends, _size, position = header.split("|", 7)[:7]
    return from_json(
        MemoryEntry,
        json.loads(body),
        id=id_,
        namespace=namespace,
        created_at=moment_of(created),
        updated_at=moment_of(updated),
        expires_at=moment_of(ends) if ends else None,
        revision=int(revision),
        position=int(position),
    )


def states_at(log: Iterable[str], moment: datetime) -> list[str]:
    """The rows there were at a moment: the last state of each entry by then, unless it had gone."""
    last: dict[str, str] = {}
    until = ticks(moment)
    for state in log:
        since, id_, row = state.split("|", 2)
        if int(since) <= until:
            last[id_] = row
    return [row for row in last.values() if row]
