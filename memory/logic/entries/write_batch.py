"""A batch of writes that belong together, over a provider without transactions.

The services use a database transaction; the batch gives the same guarantee without one.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Self

from memory.core.entry_codec import CONTENT, get_state
from memory.core.provider import NamespaceStore
from memory.core.records import MemoryEntry, MemoryQuery, StoreParams
from memory.logic.entries.duplicates import get_ttl


@dataclass(frozen=True, slots=True)
class EntryWrite:
    """A write, with the entry as it was before, or None if there was none."""

    namespace: str
    key: str
    before: MemoryEntry | None


class WriteBatch:
    """A context manager that rolls its writes back if its block raises, also when the caller is cancelled."""

    def __init__(self, entries: NamespaceStore) -> None:
        self._entries = entries
        self.writes: list[EntryWrite] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error_type: type[BaseException] | None, *_rest: object) -> None:
        if error_type is not None:
            self._roll_back()

    def store(self, params: StoreParams) -> MemoryEntry:
        before = find_entry(self._entries, params.namespace, params.key)
        entry = self._entries.store(params)
        self.writes.append(EntryWrite(params.namespace, params.key, before))
        return entry

    def delete(self, namespace: str, key: str) -> None:
        before = find_entry(self._entries, namespace, key)
        if self._entries.delete(namespace, key):
            self.writes.append(EntryWrite(namespace, key, before))

    def _roll_back(self) -> None:
        """Undo the writes, the last one first."""
        while self.writes:
            write = self.writes.pop()
            if write.before is None:
                self._entries.delete(write.namespace, write.key)
            else:
                self._entries.store(build_restore_params(write.before))


def find_entry(entries: NamespaceStore, namespace: str, key: str) -> MemoryEntry | None:
    """Return the entry under a key, former or not, or None if there is none that may be recalled."""
    query = MemoryQuery(namespace, key=key, include_former=True)
    return next(iter(entries.recall(query)), None)


def build_restore_params(entry: MemoryEntry, now: datetime | None = None) -> StoreParams:
    """Return the parameters to store an entry again, with its whole time to live, or with what remains of it at ``now``."""
    ttl, content = get_ttl(entry), get_state(entry, CONTENT)
    if ttl is not None and now is not None and entry.expires_at is not None:
        ttl = (entry.expires_at - now).total_seconds()
    return StoreParams(entry.namespace, entry.key, ttl_seconds=ttl, source=entry.source, **content)
