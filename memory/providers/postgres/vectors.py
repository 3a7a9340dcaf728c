"""Vectors of entries: the rows that a write adds for the embedder, and the entries nearest to a query.

Nothing is embedded here. A write adds a row that is due, in its own transaction and under its namespace's lock, and
``memory.upkeep.embedding`` embeds the entry later. Without an embedder no row is read or added, but the vector of a
forgotten entry is still deleted.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.utils import timezone
from pgvector import HalfVector

from config.ids import uuid7
from config.postgres.prepared import open_prepared_cursor
from config.sql import read_queries
from memory.core.recall.similarity import MAX_SIMILAR, Nearness, compute_nearness
from memory.core.records import MemoryEntry, QueryEmbedding, get_cosine_range
from memory.core.scopes import Scope
from memory.core.values import build_search_text
from memory.embedding import notify
from memory.embedding.embedders import has_embedder
from memory.models import Entry, Namespace
from memory.models.conditions import build_holding_condition
from memory.providers.postgres.fixed_queries import fetch_prepared, fetch_rows


QUERIES: Final = read_queries("memory/sql/queries/embeddings.sql")

SAVE_DUE: Final = QUERIES["save"]

# Each run has its own namespaces for a limited time: they get no vectors and don't count towards the team's quota.
RUN_SCOPES: Final = (Scope.RUN.value, Scope.RUN_METADATA.value)


def hash_text(text: str) -> str:
    """Return the hash of the text that a vector belongs to; ``memory.upkeep.embedding`` computes the same in SQL."""
    return hashlib.sha256(text.encode()).hexdigest()


class VectorChanges:
    """Collects the changes of one namespace's vectors and saves them together. ``RUN_SCOPES`` get no vectors."""

    def __init__(self, namespace: Namespace) -> None:
        self._namespace = namespace
        self._changed: dict[UUID, Entry] = {}
        self._removed: dict[UUID, tuple[int | None, str]] = {}  # the numbers and texts

    def take_out(self, entry: Entry) -> None:
        self._changed.pop(entry.pk, None)
        self._removed[entry.pk] = (entry.number, entry.text)

    def put_in(self, entry: Entry) -> None:
        """Add the entry. One that is put in again as it was taken out keeps its vector."""
        if self._removed.pop(entry.pk, None) != (entry.number, entry.text):
            self._changed[entry.pk] = entry

    def save(self) -> None:
        if self._namespace.scope in RUN_SCOPES:
            return
        if self._removed:
            with open_prepared_cursor() as cursor:
                cursor.execute(QUERIES["delete"], [self._namespace.pk, sorted(self._removed)])
        if (due := self.take_due()) is not None:
            with open_prepared_cursor() as cursor:
                cursor.execute(SAVE_DUE.format(rows="%s::jsonb"), due)

    def take_due(self) -> tuple[object, ...] | None:
        """Return the parameters of ``SAVE_DUE`` for the entries that were put in, or None if there are none to embed.

        The caller saves them.
        """
        namespace, changed = self._namespace, self._changed
        self._changed = {}
        if not changed or namespace.scope in RUN_SCOPES or not has_embedder(namespace.team_id):
            return None
        notify.notify_after_commit(namespace.team_id)
        return namespace.team_id, namespace.pk, timezone.now(), _build_rows(changed.values())


def _build_rows(entries: Iterable[Entry]) -> str:
    return json.dumps(
        [
            {
                "id": str(uuid7()),
                "entry_id": str(entry.pk),
                "number": entry.number,
                "text_hash": hash_text(entry.text),
            }
            for entry in entries
        ]
    )


def compute_cosines(
    namespace: Namespace,
    meaning: QueryEmbedding | None,
    *,
    included: Sequence[int] | None = None,
    excluded: Iterable[int] = (),
) -> dict[int, float]:
    """Return the cosines of the entries nearest to the query's meaning, by number.

    Only the ``included`` numbers are compared (None: all), and none of the ``excluded``.
    """
    rows = _fetch_nearest(namespace, meaning, included, excluded)
    return {number: cosine for number, _hash, cosine in rows}


def compute_nearness_by_key(
    namespaces: Iterable[Namespace], meaning: QueryEmbedding | None, category: str, now: datetime
) -> dict[tuple[str, str], Nearness]:
    """Return how near a category's entries that hold now are to the query's meaning, by namespace and key.

    The entries of all namespaces are compared with each other, as if there were no others.
    """
    if meaning is None or not meaning.vector:
        return {}
    cosines: dict[tuple[str, str], float] = {}
    for namespace in namespaces:
        living = Entry.objects.unscoped().filter(namespace=namespace, deleted_at=None)
        holding = living.filter(build_holding_condition(now), category=category)
        keys = dict(holding.values_list("number", "key"))
        numbers = [number for number in keys if number is not None]
        nearest = compute_cosines(namespace, meaning, included=numbers)
        cosines |= {(namespace.text, keys[number]): cosine for number, cosine in nearest.items()}
    return compute_nearness(cosines, *get_cosine_range(meaning))


def compute_cosines_as_of(
    namespace: Namespace,
    meaning: QueryEmbedding | None,
    candidates: Sequence[tuple[int | None, MemoryEntry]],
) -> dict[str, float]:
    """Return the cosines of past entries by id. Entries whose text has changed since are left out."""
    numbers = [number for number, _entry in candidates if number is not None]
    rows = _fetch_nearest(namespace, meaning, numbers, limit=None)
    cosines = {(number, text_hash): cosine for number, text_hash, cosine in rows}
    result = {}
    for number, entry in candidates if rows else ():
        text_hash = hash_text(build_search_text(entry.key, entry.value))
        if (number, text_hash) in cosines:
            result[entry.id] = cosines[number, text_hash]
    return result


def build_nearest_params(
    namespace: Namespace,
    meaning: QueryEmbedding,
    included: Sequence[int] | None,
    excluded: Iterable[int],
    limit: int | None,
) -> dict[str, Any]:
    """Return the parameters of the query ``nearest``."""
    return {
        "asked": HalfVector(list(meaning.vector)).to_text(),
        "namespace": namespace.pk,
        "model": meaning.embedder,
        "dimensions": len(meaning.vector),
        "without": ",".join(map(str, excluded)),
        "only": None if included is None else ",".join(map(str, included)),
        "most": limit,
    }


def _fetch_nearest(
    namespace: Namespace,
    meaning: QueryEmbedding | None,
    included: Sequence[int] | None,
    excluded: Iterable[int] = (),
    limit: int | None = MAX_SIMILAR,
) -> list[Any]:
    if meaning is None or not meaning.vector:
        return []
    params = build_nearest_params(namespace, meaning, included, excluded, limit)
    has_lists = params["only"] is not None or bool(params["without"])
    return (fetch_rows if has_lists else fetch_prepared)(QUERIES["nearest"], params)
