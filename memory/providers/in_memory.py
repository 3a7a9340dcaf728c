"""A memory store in one dictionary, the reference that the other providers are compared with.

It is simple rather than fast: for tests, and for workflows in one process that need no persistence.
"""

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import TypeVar

from memory.core.filters import build_filter_document, matches, parse_filter
from memory.core.identifiers import normalize_key
from memory.core.policy import (
    NO_LIMITS,
    MemorySecurityPolicy,
    check_entry,
    check_namespace,
    check_room,
)
from memory.core.provider import Clock, check_query, utc_now
from memory.core.recall.embedding import Embedder, Vector, embed_texts
from memory.core.recall.groups import get_group
from memory.core.recall.selection import answer, is_visible
from memory.core.recall.similarity import cosine
from memory.core.records import MemoryEntry, MemoryQuery, QueryEmbedding, StoreParams
from memory.core.values import build_embedded_text, build_search_text, count_entry_bytes
from memory.providers.base import MemoryProvider
from memory.providers.revisions import build_revision, is_expired


T = TypeVar("T")


class InMemoryProvider(MemoryProvider):
    """A provider whose memory ends with the process. One lock makes its operations atomic."""

    is_outside = False

    def __init__(
        self,
        *,
        clock: Clock = utc_now,
        policy: MemorySecurityPolicy = NO_LIMITS,
        embedder: Embedder | None = None,
    ) -> None:
        self._clock = clock
        self._embedder = embedder
        self._vectors: dict[str, Vector] = {}  # of the texts of entries
        self._policy = policy
        self._values: dict[str, dict[str, list[MemoryEntry]]] = {}
        self._last_positions: Counter[tuple[str, str]] = Counter()  # by namespace and group
        self._log: dict[str, dict[str, list[_State]]] = {}  # by namespace and id, oldest first
        self._lock = threading.Lock()

    async def run(self, work: Callable[[], T]) -> T:
        """Run ``work`` in this thread: a dictionary never waits."""
        return work()

    def store(self, params: StoreParams) -> MemoryEntry:
        check_entry(self._policy, params)
        with self._lock:
            now = self._clock()  # one time for the whole operation
            self._drop_expired(params.namespace, now)
            entries = self._values.setdefault(params.namespace, {})
            revisions = entries.get(params.key, [])
            previous = revisions[-1] if revisions else None
            last = self._last_positions[params.namespace, get_group(params.metadata)]
            entry = build_revision(params, previous, now, last_position=last)
            self._check_room(params.namespace, entry)
            self._reserve(params.namespace, get_group(params.metadata), entry.position)
            entries[params.key] = [*revisions, entry]
            self._log_state(entry, now)
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
            and matches(filter_, build_filter_document(entry))
        ]
        query, cosines = self._compute_cosines(query, candidates)
        return deepcopy(answer(query, candidates, now, cosines))

    def delete(self, namespace: str, key: str) -> bool:
        check_namespace(self._policy, namespace)
        with self._lock:
            now = self._clock()
            self._drop_expired(namespace, now)
            return self._drop(namespace, [normalize_key(key)], now) > 0

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
            return deepcopy(self._values.get(namespace, {}).get(normalize_key(key), []))

    def _compute_cosines(
        self, query: MemoryQuery, candidates: Sequence[MemoryEntry]
    ) -> tuple[MemoryQuery, dict[str, float]]:
        """Embed the query and all candidates; return the query, and the cosines by id."""
        if self._embedder is None or not candidates or not query.is_search:
            return query, {}
        texts = [
            build_embedded_text(build_search_text(entry.key, entry.value)) for entry in candidates
        ]
        embed = partial(embed_texts, self._embedder, seconds=60)
        (question,) = embed([query.query_text or ""], question=True)
        if missing := [text for text in dict.fromkeys(texts) if text not in self._vectors]:
            self._vectors |= zip(missing, embed(missing, question=False), strict=True)
        vectors = [self._vectors[text] for text in texts]
        pairs = zip(candidates, vectors, strict=True)
        cosines = {entry.id: cosine(question, vector) for entry, vector in pairs}
        embedder = self._embedder
        meaning = QueryEmbedding(
            embedder.name,
            question,
            embedder.unrelated_cosine,
            embedder.same_cosine,
            embedder.floors,
        )
        return replace(query, meaning=meaning), cosines

    def adopt(self, entries: Iterable[MemoryEntry]) -> None:
        """Add entries of another store unchanged; one with an existing key replaces that entry."""
        with self._lock:
            for entry in entries:
                self._values.setdefault(entry.namespace, {})[entry.key] = [deepcopy(entry)]
                self._log_state(entry, entry.updated_at or self._clock())
                self._reserve(entry.namespace, get_group(entry.metadata), entry.position)

    def reserve_positions(self, namespace: str, last: Mapping[str, int]) -> None:
        """Reserve the last position of each group, although its entry may be gone."""
        with self._lock:
            for group, position in last.items():
                self._reserve(namespace, group, position)

    def living(self, namespace: str) -> dict[str, MemoryEntry]:
        """Return the living entries by key, quarantined ones too."""
        with self._lock:
            self._drop_expired(namespace, self._clock())
            values = self._values.get(namespace, {})
            return {key: deepcopy(revisions[-1]) for key, revisions in values.items()}

    def _reserve(self, namespace: str, group: str, position: int) -> None:
        last = self._last_positions[namespace, group]
        self._last_positions[namespace, group] = max(last, position)

    def _check_room(self, namespace: str, entry: MemoryEntry) -> None:
        other_entries = [v[-1] for k, v in self._values[namespace].items() if k != entry.key]
        size = sum(
            count_entry_bytes(each.key, each.value, each.metadata)
            for each in (*other_entries, entry)
        )
        check_room(self._policy, namespace, entries=len(other_entries) + 1, size=size)

    def _list_states(self, query: MemoryQuery) -> list[MemoryEntry]:
        if query.as_of is None:
            return [values[-1] for values in self._values.get(query.namespace, {}).values()]
        entries = []
        for states in self._log.get(query.namespace, {}).values():
            until = [state for state in states if state.at <= query.as_of]
            if until and until[-1].entry is not None:
                entries.append(until[-1].entry)
        return entries

    def _log_state(self, entry: MemoryEntry, at: datetime) -> None:
        states = self._log.setdefault(entry.namespace, {}).setdefault(entry.id, [])
        states.append(_State(at, deepcopy(entry)))

    def _drop(self, namespace: str, keys: Iterable[str], now: datetime) -> int:
        count = 0
        for key in keys:
            if values := self._values.get(namespace, {}).pop(key, None):
                self._log[namespace][values[-1].id].append(_State(now, None))
                count += 1
        return count

    def _drop_expired(self, namespace: str, now: datetime) -> None:
        entries = self._values.get(namespace, {})
        expired_keys = [key for key, values in entries.items() if is_expired(values[-1], now)]
        self._drop(namespace, expired_keys, now)


@dataclass(frozen=True, slots=True)
class _State:
    """The state of an entry from a time on; None from its deletion on."""

    at: datetime
    entry: MemoryEntry | None
