"""The rules by which a stored value becomes the next revision of an entry, for providers that keep whole entries."""

from copy import deepcopy
from datetime import datetime, timedelta

from config.ids import uuid7
from memory.core.entry_codec import CONTENT, get_state
from memory.core.recall.groups import get_group
from memory.core.recall.selection import is_expired as is_expired
from memory.core.records import MemoryEntry, StoreParams


def build_revision(
    params: StoreParams, previous: MemoryEntry | None, now: datetime, *, last_position: int = 0
) -> MemoryEntry:
    """Return the entry that a store makes of the previous revision under its key, or a new one if there is none.

    ``last_position`` is the highest position that was ever assigned in the group of ``params``.
    """
    return MemoryEntry(
        id=previous.id if previous else str(uuid7()),
        namespace=params.namespace,
        key=params.key,
        **deepcopy({**get_state(params, CONTENT), "metadata": dict(params.metadata)}),
        position=_choose_position(params, previous, last_position),
        expires_at=None
        if params.ttl_seconds is None
        else now + timedelta(seconds=params.ttl_seconds),
        created_at=(previous and previous.created_at) or now,
        updated_at=now,
        source=params.source,
        revision=previous.revision + 1 if previous else 1,
    )


def _choose_position(params: StoreParams, previous: MemoryEntry | None, last_position: int) -> int:
    """Return the position of an entry in its group: it keeps the one it has; without a group it is 0."""
    group = get_group(params.metadata)
    if not group:
        return 0
    if previous is not None and get_group(previous.metadata) == group:
        return previous.position
    return last_position + 1
