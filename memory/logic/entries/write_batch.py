"""Several writes that belong together, over a provider that knows no transactions.

What was written before a failure is put back. The service has a real transaction round it; this
keeps the same promise where there is none.
"""

from dataclasses import dataclass
from datetime import datetime

from memory.core.entry_codec import CONTENT, get_state
from memory.core.provider import NamespaceStore
from memory.core.records import MemoryEntry, MemoryQuery, StoreParams
from memory.logic.entries.duplicates import life_of


@dataclass(frozen=True, slots=True)
class Written:
    """One entry before and after; nothing where it was not there."""

    namespace: str
    key: str
    before: MemoryEntry | None
    after: MemoryEntry | None


class Writes:
    def __init__(self, entries: NamespaceStore) -> None:
        self._entries = entries
        self.done: list[Written] = []

    def store(self, params: StoreParams) -> MemoryEntry:
        before = find_entry(self._entries, params.namespace, params.key)
        after = self._entries.store(params)
        self.done.append(Written(params.namespace, params.key, before, after))
        return after

    def delete(self, namespace: str, key: str) -> None:
        before = find_entry(self._entries, namespace, key)
        if self._entries.delete(namespace, key):
            self.done.append(Written(namespace, key, before, None))

    def take_back(self) -> None:
        """Last first. What takes back doesn't count as done."""
        while self.done:
            one = self.done.pop()
            if one.before is None:
                self._entries.delete(one.namespace, one.key)
            else:
                self._entries.store(as_it_was(one.before))


def find_entry(entries: NamespaceStore, namespace: str, key: str) -> MemoryEntry | None:
    """Return the entry under a key, if it may be recalled."""
    return next(iter(entries.recall(MemoryQuery(namespace, key=key))), None)


def as_it_was(entry: MemoryEntry, now: datetime | None = None) -> StoreParams:
    """To store an entry again, as a revision of its own.

    With ``now`` it ends when it would have ended; without, it gets its whole life once more.
    """
    life = life_of(entry)
    if life is not None and now is not None and entry.expires_at is not None:
        life = (entry.expires_at - now).total_seconds()
    return StoreParams(
        entry.namespace,
        entry.key,
        ttl_seconds=life,
        source=entry.source,
        **get_state(entry, CONTENT),
    )
