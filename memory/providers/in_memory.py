"""A store in one dictionary: the oracle that the other providers are compared with.

Obvious rather than quick. For tests, and for workflows run in one process that need no tomorrow.
"""

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import TypeVar

from config.ids import uuid7
from memory.core.entry_codec import CONTENT, get_state
from memory.core.filters import document_of, matches, parse_filter
from memory.core.policy import (
    NO_LIMITS,
    MemorySecurityPolicy,
    check_namespace,
    check_room,
    check_value,
)
from memory.core.provider import Clock, check_query, utc_now
from memory.core.recall.embedding import Embedder, embed_texts
from memory.core.recall.groups import group_of
from memory.core.recall.selection import answer, is_search, is_visible
from memory.core.recall.similarity import cosine
from memory.core.records import MemoryEntry, MemoryQuery, StoreParams
from memory.core.values import check_params, search_text, size_of
from memory.providers.base import MemoryProvider


T = TypeVar("T")


class InMemoryProvider(MemoryProvider):
    def __init__(
        self,
        *,
        clock: Clock = utc_now,
        policy: MemorySecurityPolicy = NO_LIMITS,
        embedder: Embedder | None = None,
    ) -> None:
        self._clock = clock
        self._embedder = embedder
        self._policy = policy
        self._values: dict[str, dict[str, list[MemoryEntry]]] = {}
        self._places: Counter[tuple[str, str]] = Counter()  # the last place given in each group
        self._log: dict[str, dict[str, list[_State]]] = {}  # by namespace and id, oldest first
        self._lock = threading.Lock()

    async def run(self, work: Callable[[], T]) -> T:
        """Run it here and now: a dictionary keeps nobody waiting."""
        return work()

    def store(self, params: StoreParams) -> MemoryEntry:
        check_params(params)
        check_namespace(self._policy, params.namespace)
        check_value(self._policy, params.value)
        with self._lock:
            now = self._clock()  # one moment an act
            self._drop_expired(params.namespace, now)
            living = self._values.setdefault(params.namespace, {})
            past = living.get(params.key, [])
            entry = _entry(params, past[-1] if past else None, now)
            self._check_room(params.namespace, entry)
            entry = self._with_position(entry, past[-1] if past else None)
            living[params.key] = [*past, entry]
            self._note(entry, now)
        return deepcopy(entry)

    def recall(self, query: MemoryQuery) -> list[MemoryEntry]:
        check_query(query)
        check_namespace(self._policy, query.namespace)
        filter_ = parse_filter(query.filter)
        now = query.as_of or self._clock()
        with self._lock:
            newest = self._list_states(query)
        candidates = [
            entry
            for entry in newest
            if is_visible(entry, now)
            and (query.key is None or entry.key == query.key)
            and matches(filter_, document_of(entry))
        ]
        return deepcopy(answer(query, candidates, now, self._cosines(query, candidates)))

    def delete(self, namespace: str, key: str) -> bool:
        check_namespace(self._policy, namespace)
        with self._lock:
            now = self._clock()
            self._drop_expired(namespace, now)
            return self._drop(namespace, [key], now) > 0

    def clear_namespace(self, namespace: str) -> int:
        check_namespace(self._policy, namespace)
        with self._lock:
            now = self._clock()
            self._drop_expired(namespace, now)
            return self._drop(namespace, list(self._values.get(namespace, {})), now)

    def history(self, namespace: str, key: str) -> Sequence[MemoryEntry]:
        check_namespace(self._policy, namespace)
        with self._lock:
            self._drop_expired(namespace, self._clock())
            return deepcopy(self._values.get(namespace, {}).get(key, []))

    def _cosines(self, query: MemoryQuery, candidates: Sequence[MemoryEntry]) -> dict[str, float]:
        """Embed all candidates at once, anew for each question, and return their similarity by id."""
        if self._embedder is None or not candidates or not is_search(query):
            return {}
        texts = [search_text(entry.key, entry.value) for entry in candidates]
        embed = partial(embed_texts, self._embedder, seconds=60)
        (question,) = embed([query.query_text or ""], question=True)
        vectors = embed(texts, question=False)
        return {
            entry.id: cosine(question, vector)
            for entry, vector in zip(candidates, vectors, strict=True)
        }

    def adopt(self, entries: Iterable[MemoryEntry]) -> None:
        """Entries from elsewhere, as they are; one with a known key takes the other's place."""
        with self._lock:
            for entry in entries:
                self._values.setdefault(entry.namespace, {})[entry.key] = [deepcopy(entry)]
                self._note(entry, entry.updated_at or self._clock())
                self._reserve(entry.namespace, group_of(entry.metadata), entry.position)

    def adopt_places(self, namespace: str, last: Mapping[str, int]) -> None:
        """Reserve the last position of each group, although its entry may be gone."""
        with self._lock:
            for group, position in last.items():
                self._reserve(namespace, group, position)

    def living(self, namespace: str) -> dict[str, MemoryEntry]:
        """Return the living entries by key, quarantined ones too."""
        with self._lock:
            self._drop_expired(namespace, self._clock())
            values = self._values.get(namespace, {})
            return {key: deepcopy(past[-1]) for key, past in values.items()}

    def _with_position(self, entry: MemoryEntry, before: MemoryEntry | None) -> MemoryEntry:
        group = group_of(entry.metadata)
        if not group:
            return entry
        if before is not None and group_of(before.metadata) == group:
            return replace(entry, position=before.position)
        self._places[entry.namespace, group] += 1
        return replace(entry, position=self._places[entry.namespace, group])

    def _reserve(self, namespace: str, group: str, position: int) -> None:
        self._places[namespace, group] = max(self._places[namespace, group], position)

    def _check_room(self, namespace: str, entry: MemoryEntry) -> None:
        others = [v[-1] for k, v in self._values[namespace].items() if k != entry.key]
        size = sum(size_of(other.value) for other in others) + size_of(entry.value)
        check_room(self._policy, namespace, entries=len(others) + 1, size=size)

    def _list_states(self, query: MemoryQuery) -> list[MemoryEntry]:
        if query.as_of is None:
            return [values[-1] for values in self._values.get(query.namespace, {}).values()]
        entries = []
        for states in self._log.get(query.namespace, {}).values():
            until = [state for state in states if state.at <= query.as_of]
            if until and until[-1].entry is not None:
                entries.append(until[-1].entry)
        return entries

    def _note(self, entry: MemoryEntry, at: datetime) -> None:
        states = self._log.setdefault(entry.namespace, {}).setdefault(entry.id, [])
        states.append(_State(at, deepcopy(entry)))

    def _drop(self, namespace: str, keys: Iterable[str], now: datetime) -> int:
        gone = 0
        for key in keys:
            values = self._values.get(namespace, {}).pop(key, None)
            if values:
                self._log[namespace][values[-1].id].append(_State(now, None))
                gone += 1
        return gone

    def _drop_expired(self, namespace: str, now: datetime) -> None:
        living = self._values.get(namespace, {})
        over = [key for key, values in living.items() if _is_over(values[-1], now)]
        self._drop(namespace, over, now)


@dataclass(frozen=True, slots=True)
class _State:
    """The state of an entry from a moment on; none, when it went."""

    at: datetime
    entry: MemoryEntry | None


def _is_over(entry: MemoryEntry, now: datetime) -> bool:
    return entry.expires_at is not None and entry.expires_at <= now


def _entry(params: StoreParams, before: MemoryEntry | None, now: datetime) -> MemoryEntry:
    fresh = MemoryEntry(
        id=before.id if before else str(uuid7()),
        namespace=params.namespace,
        key=params.key,
        **deepcopy({**get_state(params, CONTENT), "metadata": dict(params.metadata)}),
        created_at=(before and before.created_at) or now,
        updated_at=now,
        source=params.source,
        revision=before.revision + 1 if before else 1,
    )
    if params.ttl_seconds is None:
        return fresh
    return replace(fresh, expires_at=now + timedelta(seconds=params.ttl_seconds))
