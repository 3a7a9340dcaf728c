"""Embeds what waits for it, a batch at a time, with nothing locked while the embedder thinks.

The rows are the queue: one is due from the transaction that wrote its entry until the vector of that very text is
there. Whoever takes some puts them off for a while first, so that two workers don't do the same and what a worker
that died had taken is found again. A text that changes meanwhile has another hash, and its old vector is not kept.
"""

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from operator import attrgetter
from typing import Any, Final
from uuid import UUID

import structlog
from django.db import connection
from django.utils import timezone
from pgvector import HalfVector

from accounts.models import Team
from accounts.tenancy import tenant
from config.again import tried_again
from memory.core.embedding import Embedder, EmbedderFault, Vector, vectors_of
from memory.embedding.embedders import in_use
from memory.providers.postgres.meanings import OF_RUNS
from memory.upkeep.each import each


log = structlog.get_logger(__name__)

TAKEN_FOR: Final = timedelta(minutes=3)
SECONDS: Final = 60.0  # a batch may take
MOST_A_SWEEP: Final = 200  # batches of a team
LOOKED_THROUGH_EVERY: Final = 3_600.0  # seconds
FIRST_WAIT: Final = timedelta(seconds=30)  # before the second attempt, then twice as long each time
LONGEST_WAIT: Final = timedelta(hours=1)
MOST_SAID: Final = 300

# Of entries that nobody noted: written before there was an embedder, or by a process that has none. What somebody
# erases at this moment is left alone: its row would outlive it.
MISSING: Final = """
    INSERT INTO memory_embedding
      (id, team_id, namespace_id, entry_id, number, text_hash, model, dimensions, due_at, attempts, problem)
    SELECT gen_random_uuid(), entry.team_id, entry.namespace_id, entry.id, entry.number,
           encode(sha256(convert_to(entry.text, 'UTF8')), 'hex'), '', 0, %s, 0, ''
    FROM memory_entry AS entry JOIN memory_namespace AS place ON place.id = entry.namespace_id
    WHERE entry.team_id = %s AND entry.deleted_at IS NULL AND entry.tier <> 'quarantine'
      AND entry.number IS NOT NULL AND NOT place.scope = ANY(%s)
      AND NOT EXISTS (SELECT FROM memory_embedding AS known WHERE known.entry_id = entry.id)
    ORDER BY entry.id
    LIMIT 5000
    FOR KEY SHARE OF entry SKIP LOCKED
    ON CONFLICT (entry_id) DO NOTHING
"""
# Rows that somebody writes at this moment are theirs to set right: nobody is waited for.
CHANGED: Final = """
    UPDATE memory_embedding AS known
    SET number = stale.number, text_hash = stale.text_hash,
        vector = NULL, embedded_at = NULL, due_at = %s, attempts = 0, problem = ''
    FROM (SELECT mine.id, entry.number, encode(sha256(convert_to(entry.text, 'UTF8')), 'hex') AS text_hash
          FROM memory_embedding AS mine JOIN memory_entry AS entry ON entry.id = mine.entry_id
          WHERE mine.team_id = %s AND entry.number IS NOT NULL
            AND (mine.number <> entry.number
                 OR mine.text_hash <> encode(sha256(convert_to(entry.text, 'UTF8')), 'hex'))
          FOR UPDATE OF mine SKIP LOCKED) AS stale
    WHERE known.id = stale.id
"""
GONE: Final = """
    DELETE FROM memory_embedding WHERE id IN (
      SELECT mine.id FROM memory_embedding AS mine LEFT JOIN memory_entry AS entry ON entry.id = mine.entry_id
      WHERE mine.team_id = %s
        AND (entry.id IS NULL OR entry.deleted_at IS NOT NULL OR entry.tier = 'quarantine')
      FOR UPDATE OF mine SKIP LOCKED)
"""
# Another model, or as many dimensions as it no longer gives. The old vector stays until the new one is there: no
# question of the new model meets it.
OUTDATED: Final = """
    UPDATE memory_embedding SET due_at = %s, attempts = 0, problem = '' WHERE id IN (
      SELECT id FROM memory_embedding
      WHERE team_id = %s AND due_at IS NULL AND (model <> %s OR (%s > 0 AND dimensions <> %s))
      FOR UPDATE SKIP LOCKED)
"""
AGAIN: Final = (
    "UPDATE memory_embedding SET due_at = %s, attempts = 0, problem = '' WHERE team_id = %s"
)
# Two statements, as one that waited for a lock would return the hash somebody has just written beside the text from
# before. The second sees what whoever held the row had committed.
FREE: Final = """
    SELECT mine.id FROM memory_embedding AS mine JOIN memory_entry AS entry ON entry.id = mine.entry_id
    WHERE mine.team_id = %s AND mine.due_at <= %s
      AND entry.deleted_at IS NULL AND entry.tier <> 'quarantine'
    ORDER BY mine.due_at, mine.id
    LIMIT %s
    FOR UPDATE OF mine SKIP LOCKED
"""
TAKE: Final = """
    UPDATE memory_embedding AS known
    SET due_at = %s, text_hash = fresh.text_hash,
        vector = CASE WHEN known.text_hash = fresh.text_hash THEN known.vector END,
        embedded_at = CASE WHEN known.text_hash = fresh.text_hash THEN known.embedded_at END
    FROM (SELECT entry.id, entry.text, encode(sha256(convert_to(entry.text, 'UTF8')), 'hex') AS text_hash
          FROM memory_entry AS entry) AS fresh
    WHERE known.id = ANY(%s) AND fresh.id = known.entry_id
    RETURNING known.id, known.namespace_id, known.entry_id, known.text_hash, known.attempts, fresh.text
"""
LOCK: Final = "SELECT 1 FROM memory_embedding WHERE id = ANY(%s) ORDER BY entry_id FOR UPDATE"
KEEP: Final = """
    UPDATE memory_embedding
    SET vector = %s::halfvec, model = %s, dimensions = %s, embedded_at = %s, due_at = NULL, attempts = 0, problem = ''
    WHERE id = %s AND text_hash = %s
"""
FAIL: Final = """
    UPDATE memory_embedding SET due_at = %s, attempts = %s, problem = %s
    WHERE id = %s AND text_hash = %s
"""


@dataclass(frozen=True, slots=True)
class Taken:
    id: UUID
    namespace_id: UUID
    entry_id: UUID
    text_hash: str
    attempts: int
    text: str


def embed_everybodys() -> int:
    """How many were embedded, of every team's; safe to run twice, or at the same time."""
    if in_use() is None:
        return 0
    return each(Team.objects.values_list("id", flat=True), embed_team, "embedding_failed")


def embed_team(team_id: UUID, *, now: datetime | None = None) -> int:
    """Until nothing of it is due, or the embedder fails: then the rest waits for the next round."""
    embedder = in_use()
    if embedder is None:
        return 0
    _look_through_now_and_then(team_id, embedder)
    done = 0
    for _ in range(MOST_A_SWEEP):
        taken = _take(team_id, embedder.batch, now or timezone.now())
        if not taken:
            break
        embedded, goes_on = _embed(team_id, embedder, taken)
        done += embedded
        if not goes_on or (not embedded and len(taken) > 1):  # all refused: it isn't the texts
            break
    return done


def look_through(team_id: UUID, embedder: Embedder) -> None:
    """Finds what nobody noted, and what another model embedded."""
    now = timezone.now()
    dimensions = embedder.dimensions or 0
    _done(team_id, GONE, team_id)
    _done(team_id, CHANGED, now, team_id)
    _done(team_id, OUTDATED, now, team_id, embedder.name, dimensions, dimensions)
    while _done(team_id, MISSING, now, team_id, list(OF_RUNS)):
        pass  # some thousands a transaction


def embed_again(team_id: UUID) -> int:
    """All of it is due once more; how many those are."""
    return _done(team_id, AGAIN, timezone.now(), team_id)


def look_anew() -> None:
    """The next round looks through everything; for tests, and for who asks by hand."""
    _LOOKED.clear()


_LOOKED: dict[tuple[UUID, str], float] = {}
_LOCK_LOOKED = threading.Lock()


def _look_through_now_and_then(team_id: UUID, embedder: Embedder) -> None:
    """It reads all of a team's entries: when a worker begins, when the model changes, and every hour."""
    which, now = (team_id, embedder.name), time.monotonic()
    with _LOCK_LOOKED:
        if now < _LOOKED.get(which, 0.0):
            return
        _LOOKED[which] = now + LOOKED_THROUGH_EVERY
    look_through(team_id, embedder)


@tried_again
def _done(team_id: UUID, sql: str, *params: Any) -> int:
    """How many rows; ``params`` as the driver takes them."""
    with tenant([team_id]), connection.cursor() as cursor:
        cursor.execute(sql, params)
        rows: int = cursor.rowcount
    return rows


def _take(team_id: UUID, most: int, now: datetime) -> list[Taken]:
    with tenant([team_id]), connection.cursor() as cursor:
        cursor.execute(FREE, [team_id, now, most])
        free = [row[0] for row in cursor.fetchall()]
        if not free:
            return []
        cursor.execute(TAKE, [now + TAKEN_FOR, free])
        return [Taken(*row) for row in cursor.fetchall()]


def _embed(team_id: UUID, embedder: Embedder, taken: Sequence[Taken]) -> tuple[int, bool]:
    """How many, and whether it makes sense to go on."""
    try:
        vectors = vectors_of(embedder, [one.text for one in taken], question=False, seconds=SECONDS)
    except EmbedderFault as failed:
        if failed.of_texts and len(taken) > 1:  # one of them is to blame
            halves = (taken[: len(taken) // 2], taken[len(taken) // 2 :])
            results = [_embed(team_id, embedder, half) for half in halves]
            return sum(done for done, _ in results), all(goes_on for _, goes_on in results)
        _put_off(team_id, taken, failed)
        log.warning("not_embedded", embedder=embedder.name, texts=len(taken), why=str(failed))
        return 0, failed.of_texts
    _keep(team_id, embedder, taken, vectors)
    _notice_dimensions(team_id, embedder, len(vectors[0]))
    return len(taken), True


def _keep(
    team_id: UUID, embedder: Embedder, taken: Sequence[Taken], vectors: Sequence[Vector]
) -> None:
    now = timezone.now()
    rows = {
        one.id: [
            HalfVector(list(vector)).to_text(),
            *(embedder.name, len(vector), now, one.id, one.text_hash),
        ]
        for one, vector in zip(taken, vectors, strict=True)
    }
    _write(team_id, taken, KEEP, rows)


def _put_off(team_id: UUID, taken: Sequence[Taken], failed: EmbedderFault) -> None:
    now, problem = timezone.now(), str(failed)[:MOST_SAID]
    rows = {
        one.id: [
            now + _wait(one.attempts, failed),
            *(min(one.attempts + 1, 32_000), problem, one.id, one.text_hash),
        ]
        for one in taken
    }
    _write(team_id, taken, FAIL, rows)


def _wait(attempts: int, failed: EmbedderFault) -> timedelta:
    asked = timedelta(seconds=failed.retry_after or 0)
    longer: timedelta = FIRST_WAIT * 2 ** min(attempts, 10)
    return min(LONGEST_WAIT, max(asked, longer))


def _write(team_id: UUID, taken: Sequence[Taken], sql: str, rows: dict[UUID, list[Any]]) -> None:
    """``rows`` are parameters, by id. A namespace a transaction, rows in the order writers take them: nobody waits in a circle."""
    by_place = sorted(taken, key=attrgetter("namespace_id", "entry_id"))
    for _namespace, members in groupby(by_place, key=attrgetter("namespace_id")):
        mine = [one.id for one in members]
        with tenant([team_id]), connection.cursor() as cursor:
            cursor.execute(LOCK, [mine])
            cursor.executemany(sql, [rows[one] for one in mine])


def _notice_dimensions(team_id: UUID, embedder: Embedder, found: int) -> None:
    """A model that changed behind its name: what it gave before is of no use beside what it gives now."""
    if embedder.dimensions is not None or _DIMENSIONS.get((team_id, embedder.name)) == found:
        return
    _DIMENSIONS[team_id, embedder.name] = found
    _done(team_id, OUTDATED, timezone.now(), team_id, embedder.name, found, found)


_DIMENSIONS: dict[tuple[UUID, str], int] = {}
