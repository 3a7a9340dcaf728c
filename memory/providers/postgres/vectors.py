"""Vectors beside the entries they are of: what is noted with a write, and which are nearest to a question.

Nothing is embedded here. A write leaves a row that is due, in its own transaction and under its namespace's lock;
``memory.upkeep.embedding`` takes it from there. Without an embedder nothing is asked and nothing written; what is
forgotten takes the vector with it that it has from before.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from django.db import connection
from django.utils import timezone
from pgvector import HalfVector

from config.ids import uuid7
from config.sql import read_queries
from memory.core.recall.similarity import MAX_SIMILAR as MOST_NEAR
from memory.core.recall.similarity import scale_cosines
from memory.core.records import Meaning, MemoryEntry
from memory.core.scopes import Scope
from memory.core.values import search_text
from memory.embedding import notify
from memory.embedding.embedders import get_embedder
from memory.models import Entry, Namespace


QUERIES: Final = read_queries("memory/sql/queries/embeddings.sql")

OF_RUNS: Final = (Scope.RUN.value, Scope.RUN_METADATA.value)


def hash_of(text: str) -> str:
    """Which text a vector is of; ``memory.upkeep.embedding`` says the same in SQL."""
    return hashlib.sha256(text.encode()).hexdigest()


class Noted:
    """Of one namespace's changes those that vectors follow, gathered, then saved as one.

    What is a run's alone is over before anybody could ask for it in other words.
    """

    def __init__(self, namespace: Namespace) -> None:
        self._namespace = namespace
        self._fresh: dict[UUID, Entry] = {}
        self._gone: set[UUID] = set()

    def take_out(self, entry: Entry) -> None:
        self._fresh.pop(entry.pk, None)
        self._gone.add(entry.pk)

    def put_in(self, entry: Entry) -> None:
        self._gone.discard(entry.pk)
        self._fresh[entry.pk] = entry

    def save(self) -> None:
        if not (self._fresh or self._gone) or self._namespace.scope in OF_RUNS:
            return
        noted = bool(self._fresh) and get_embedder() is not None
        with connection.cursor() as cursor:
            if self._gone:
                cursor.execute(QUERIES["delete"], [self._namespace.pk, sorted(self._gone)])
            if noted:
                team_id, now = self._namespace.team_id, timezone.now()
                cursor.execute(QUERIES["save"], [team_id, self._namespace.pk, now, self._rows()])
        if noted:
            notify.notify_after_commit(self._namespace.team_id)

    def _rows(self) -> str:
        return json.dumps(
            [
                {
                    "id": str(uuid7()),
                    "entry_id": str(pk),
                    "number": entry.number,
                    "text_hash": hash_of(entry.text),
                }
                for pk, entry in self._fresh.items()
            ]
        )


def near(
    namespace: Namespace,
    meaning: Meaning | None,
    *,
    only: Sequence[int] | None = None,
    without: Iterable[int] = (),
) -> Mapping[int, float] | None:
    """How near in meaning, 0 to 1, by number; none where that can't be said of anything."""
    found = _nearest(namespace, meaning, only, without, MOST_NEAR)
    return scale_cosines({number: cosine for number, _hash, cosine in found}) or None


def near_keys(namespace: Namespace, meaning: Meaning | None, category: str) -> dict[str, float]:
    """How near those of a category are, by key; as it were nothing else there."""
    if meaning is None or not meaning.vector:
        return {}
    living = Entry.objects.unscoped().filter(
        namespace=namespace, deleted_at=None, category=category
    )
    keys = dict(living.values_list("number", "key"))
    found = near(namespace, meaning, only=[number for number in keys if number is not None])
    return {keys[number]: worth for number, worth in (found or {}).items()}


def cosines(
    namespace: Namespace,
    meaning: Meaning | None,
    *,
    only: Sequence[int] | None = None,
    without: Iterable[int] = (),
) -> dict[int | None, float]:
    """Of the nearest with a question's meaning, by number. ``only`` are the numbers that pass its filter."""
    found = _nearest(namespace, meaning, only, without, MOST_NEAR)
    return {number: cosine for number, _hash, cosine in found}


def cosines_as_of(
    namespace: Namespace,
    meaning: Meaning | None,
    candidates: Sequence[tuple[int | None, MemoryEntry]],
) -> dict[str, float]:
    """By id, of those entries of the past whose text is still the one that was embedded."""
    numbers = [number for number, _entry in candidates if number is not None]
    found = _nearest(namespace, meaning, numbers, (), None)
    by_text = {(number, text_hash): cosine for number, text_hash, cosine in found}
    return {
        entry.id: by_text[text]
        for number, entry in (candidates if found else ())
        if (text := (number, hash_of(search_text(entry.key, entry.value)))) in by_text
    }


def asked(
    namespace: Namespace,
    meaning: Meaning,
    only: Sequence[int] | None,
    without: Iterable[int],
    most: int | None,
) -> dict[str, Any]:
    """The parameters of the query ``nearest``."""
    return {
        "asked": HalfVector(list(meaning.vector)).to_text(),
        "namespace": namespace.pk,
        "model": meaning.embedder,
        "dimensions": len(meaning.vector),
        "without": ",".join(map(str, without)),
        "only": None if only is None else ",".join(map(str, only)),
        "most": most,
    }


def _nearest(
    namespace: Namespace,
    meaning: Meaning | None,
    only: Sequence[int] | None,
    without: Iterable[int],
    most: int | None,
) -> list[Any]:
    if meaning is None or not meaning.vector:
        return []
    with connection.cursor() as cursor:
        cursor.execute(QUERIES["nearest"], asked(namespace, meaning, only, without, most))
        found: list[Any] = cursor.fetchall()
    return found
