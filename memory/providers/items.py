"""A provider over an item store: whoever implements its four verbs has entries, conversations and knowledge pages."""

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from memory.core.entry_codec import ENTRY, from_json, to_json
from memory.core.errors import Serialization
from memory.core.filters import build_filter_document, matches, parse_filter
from memory.core.identifiers import normalize_key
from memory.core.item_store.store import MemoryFilter, MemoryItem, MemoryStore
from memory.core.policy import (
    NO_LIMITS,
    MemorySecurityPolicy,
    check_entry,
    check_namespace,
    check_room,
)
from memory.core.provider import Clock, check_query, utc_now
from memory.core.recall.groups import get_group
from memory.core.recall.selection import answer, is_visible
from memory.core.records import Json, MemoryEntry, MemoryQuery, StoreParams
from memory.core.values import count_entry_bytes, to_compact_json
from memory.providers.base import MemoryProvider
from memory.providers.revisions import build_revision, is_expired


# No namespace contains it, so that no two entries have the same id.
SEPARATOR: Final = "::"
POSITIONS: Final = (
    "positions::"  # and the namespace: the last position of each group, also of deleted entries
)
SWEEP_INTERVAL: Final = 100  # writes between two removals of expired entries


class ItemProvider(MemoryProvider):
    """A provider whose entries are items of a store, one each, with ``content`` as text and the rest as metadata.

    The item of an entry has the earlier values as well, and leaves with the entry: nothing stays of what was deleted or has
    expired, in the recalls of past moments either, but the last position of each group. A lock makes the operations of this process atomic; if several processes write,
    the store needs a lock of its own for exact limits.
    """

    def __init__(
        self,
        store: MemoryStore,
        *,
        policy: MemorySecurityPolicy = NO_LIMITS,
        clock: Clock = utc_now,
    ) -> None:
        self._store = store
        self._policy = policy
        self._clock = clock
        self._lock = threading.Lock()
        self._writes = 0

    def store(self, params: StoreParams) -> MemoryEntry:
        check_entry(self._policy, params)
        with self._lock:
            now = self._clock()
            self._sweep(params.namespace, now)
            record = self._get(params.namespace, params.key, now)
            previous = record.entry if record else None
            group, last = get_group(params.metadata), self._load_positions(params.namespace)
            entry = build_revision(params, previous, now, last_position=last.get(group, 0))
            self._check_room(entry, now)
            if entry.position > last.get(group, 0):
                self._save_positions(params.namespace, {**last, group: entry.position})
            past = (*record.past, record.entry) if record else ()
            self._store.save(_Record(entry, past).to_item())
        return entry

    def recall(self, query: MemoryQuery) -> list[MemoryEntry]:
        check_query(query)
        check_namespace(self._policy, query.namespace)
        condition = parse_filter(query.filter)
        now = self._clock()
        moment = query.as_of or now
        candidates = [
            entry
            for entry in self._list_states(query, now)
            if is_visible(entry, moment) and matches(condition, build_filter_document(entry))
        ]
        return answer(query, candidates, moment)

    def delete(self, namespace: str, key: str) -> bool:
        check_namespace(self._policy, namespace)
        with self._lock:
            is_living = self._get(namespace, key, self._clock()) is not None
            self._store.delete(_build_id(namespace, key))
        return is_living

    def clear_namespace(self, namespace: str) -> int:
        check_namespace(self._policy, namespace)
        with self._lock:
            now, records = self._clock(), list(self._list(namespace))
            for record in records:
                self._store.delete(_build_id(namespace, record.entry.key))
        return sum(not is_expired(record.entry, now) for record in records)

    def history(self, namespace: str, key: str) -> Sequence[MemoryEntry]:
        check_namespace(self._policy, namespace)
        record = self._get(namespace, key, self._clock())
        return [*record.past, record.entry] if record else []

    def _get(self, namespace: str, key: str, now: datetime) -> "_Record | None":
        """Return what is stored under the key, or None if there is nothing or it has expired."""
        item = self._store.get(_build_id(namespace, key))
        record = _Record.from_item(item) if item else None
        return None if record is None or is_expired(record.entry, now) else record

    def _list(self, namespace: str) -> "Iterator[_Record]":
        items = self._store.list(MemoryFilter(prefix=_build_id(namespace, "")))
        return map(_Record.from_item, items)

    def _list_states(self, query: MemoryQuery, now: datetime) -> list[MemoryEntry]:
        """Return the living entries that the query asks about, as they are or as they were at its moment."""
        if query.key is None:
            records = list(self._list(query.namespace))
        else:
            item = self._store.get(_build_id(query.namespace, query.key))
            records = [_Record.from_item(item)] if item else []
        living = (record for record in records if not is_expired(record.entry, now))
        states = (record.find_state(query.as_of) for record in living)
        return [state for state in states if state is not None]

    def _check_room(self, entry: MemoryEntry, now: datetime) -> None:
        limits = (self._policy.max_entries_per_namespace, self._policy.max_namespace_bytes)
        if limits == (None, None):
            return
        others = [
            record.entry
            for record in self._list(entry.namespace)
            if record.entry.key != entry.key and not is_expired(record.entry, now)
        ]
        size = sum(
            count_entry_bytes(each.key, each.value, each.metadata) for each in (*others, entry)
        )
        check_room(self._policy, entry.namespace, entries=len(others) + 1, size=size)

    def _sweep(self, namespace: str, now: datetime) -> None:
        """Remove the expired entries of the namespace after every so many writes."""
        self._writes += 1
        if self._writes % SWEEP_INTERVAL:
            return
        for record in list(self._list(namespace)):
            if is_expired(record.entry, now):
                self._store.delete(_build_id(namespace, record.entry.key))

    def _load_positions(self, namespace: str) -> Mapping[str, int]:
        item = self._store.get(POSITIONS + namespace)
        positions: dict[str, int] = json.loads(item.content) if item else {}
        return positions

    def _save_positions(self, namespace: str, positions: Mapping[str, int]) -> None:
        content = to_compact_json(dict(positions))
        self._store.save(MemoryItem(POSITIONS + namespace, content, created_at=self._clock()))


def _build_id(namespace: str, key: str) -> str:
    return f"{namespace}{SEPARATOR}{normalize_key(key)}"


@dataclass(frozen=True, slots=True)
class _Record:
    """An entry with its earlier values, oldest first."""

    entry: MemoryEntry
    past: tuple[MemoryEntry, ...] = ()

    def to_item(self) -> MemoryItem:
        value = self.entry.value
        fields = to_json(self.entry, [name for name in ENTRY if name != "value"])
        is_text = isinstance(value, str)
        metadata: dict[str, Json] = {"entry": fields, "is_text": is_text}
        if self.past:
            metadata["past"] = [to_json(entry, ENTRY) for entry in self.past]
        return MemoryItem(
            _build_id(self.entry.namespace, self.entry.key),
            value if is_text else to_compact_json(value),
            metadata,
            self.entry.created_at or utc_now(),
        )

    @classmethod
    def from_item(cls, item: MemoryItem) -> "_Record":
        """Return the entry of an item; raise Serialization for an item that no provider saved."""
        try:
            fields = item.metadata["entry"]
            value = item.content if item.metadata["is_text"] else json.loads(item.content)
            past = item.metadata.get("past", ())
            entries = [from_json(MemoryEntry, entry) for entry in past]
            return cls(from_json(MemoryEntry, fields, value=value), tuple(entries))
        except (KeyError, TypeError, ValueError) as error:
            raise Serialization(f"{item.id} is not an entry: {error!r}.") from None

    def find_state(self, moment: datetime | None) -> MemoryEntry | None:
        """Return the entry as it was at the moment, or as it is."""
        if moment is None:
            return self.entry
        states = [
            entry
            for entry in (*self.past, self.entry)
            if entry.updated_at is None or entry.updated_at <= moment
        ]
        return states[-1] if states else None
