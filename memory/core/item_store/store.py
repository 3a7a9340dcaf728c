"""The interface of a store of items by id, and a store in memory that evicts items.

A store knows no namespaces, people or vectors; another store implements the same four methods. Conversations, knowledge
pages and whole workflows work with any of them, by ``memory.providers.items``.
"""

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import asdict, dataclass, field
from datetime import datetime

from memory.core.errors import InvalidInput, Serialization
from memory.core.item_store.eviction import Clock, EvictionConfig, filter_survivors, utc_now
from memory.core.records import Json
from memory.core.values import check_json


@dataclass(frozen=True, slots=True)
class MemoryItem:
    """An item of a store. Its metadata can be any JSON, an object or not."""

    id: str
    content: str
    metadata: Json = field(default_factory=dict)
    created_at: datetime = field(default_factory=utc_now)

    def to_json(self) -> dict[str, Json]:
        return {**asdict(self), "created_at": self.created_at.isoformat()}

    @classmethod
    def from_json(cls, document: Mapping[str, Json]) -> "MemoryItem":
        """Return the item; raise ``Serialization`` for a document that ``to_json`` did not write."""
        try:
            created_at = datetime.fromisoformat(document["created_at"])
            item = cls(document["id"], document["content"], document["metadata"], created_at)
            types = {type(item.id), type(item.content)}
        except (KeyError, TypeError, ValueError) as error:
            raise Serialization(f"Invalid stored item: {error}.") from None
        if types != {str}:
            raise Serialization("Invalid stored item: its id and content must be texts.")
        check_item(item)
        return item


@dataclass(frozen=True, slots=True)
class MemoryFilter:
    """A filter by the beginning of the id and the earliest creation time, and the maximum number of items."""

    prefix: str | None = None
    since: datetime | None = None
    limit: int | None = None

    def matches(self, item: MemoryItem) -> bool:
        return (self.prefix is None or item.id.startswith(self.prefix)) and (
            self.since is None or item.created_at >= self.since
        )


NO_FILTER = MemoryFilter()


class MemoryStore(ABC):
    """The interface for implementers of a store, for example on files, SQLite or Redis.

    - ``save`` creates or overwrites; the very next ``get`` returns the item unchanged.
    - ``delete`` of a missing item is not an error.
    - ``list`` returns the oldest first, ties by id; the filter's ``limit`` is applied last.
    - Every method may be called from any thread and any event loop.
    """

    @abstractmethod
    def save(self, item: MemoryItem) -> None: ...

    @abstractmethod
    def get(self, id: str) -> MemoryItem | None: ...  # noqa: A002 - the interface's name

    @abstractmethod
    def delete(self, id: str) -> None: ...  # noqa: A002 - the interface's name

    @abstractmethod
    def list(self, filter: MemoryFilter = NO_FILTER) -> "list[MemoryItem]":  # noqa: A002
        ...


class InMemoryStore(MemoryStore):
    """A store in a dictionary, lost when the process ends: for tests, prototypes, and agents of one session."""

    def __init__(self, eviction: EvictionConfig | None = None, *, clock: Clock = utc_now) -> None:
        self._eviction = eviction or EvictionConfig()
        self._clock = clock
        self._items: dict[str, MemoryItem] = {}
        self._writes = 0  # since the last eviction
        self._lock = threading.Lock()

    def save(self, item: MemoryItem) -> None:
        check_item(item)
        with self._lock:
            self._items[item.id] = deepcopy(item)
            self._writes += 1
            if self._writes >= self._eviction.check_interval:
                self._writes = 0
                self._evict()

    def get(self, id: str) -> MemoryItem | None:  # noqa: A002 - the interface's name
        with self._lock:
            return deepcopy(self._items.get(id))

    def delete(self, id: str) -> None:  # noqa: A002 - the interface's name
        with self._lock:
            self._items.pop(id, None)

    def list(self, filter: MemoryFilter = NO_FILTER) -> "list[MemoryItem]":  # noqa: A002
        check_filter(filter)
        with self._lock:
            items = [item for item in self._items.values() if filter.matches(item)]
        return deepcopy(sort_by_age(items)[: filter.limit])

    def _evict(self) -> None:
        items = sort_by_age(self._items.values())
        survivors = filter_survivors(self._eviction.policy, items, self._clock())
        self._items = {item.id: item for item in survivors}


def check_item(item: MemoryItem) -> None:
    """Raise InvalidInput for an item that some store could not return unchanged."""
    if not item.id:
        raise InvalidInput("id: must not be empty.")
    check_json(item.id, "id")
    check_json(item.content, "content")
    check_json(item.metadata, "metadata")
    if item.created_at.tzinfo is None:
        raise InvalidInput("created_at: must be a date and time with a time zone.")


def check_filter(filter_: MemoryFilter) -> None:
    if filter_.limit is not None and filter_.limit < 0:
        raise InvalidInput("limit: must be 0 or more.")
    if filter_.since is not None and filter_.since.tzinfo is None:
        raise InvalidInput("since: must be a date and time with a time zone.")


def sort_by_age(items: Iterable[MemoryItem]) -> "list[MemoryItem]":
    return sorted(items, key=lambda item: (item.created_at, item.id))
