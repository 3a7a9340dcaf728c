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
from config.retry import retry_on_conflict
from config.sql import read_queries
from memory.core.recall.embedding import Embedder, EmbedderFault, Vector, vectors_of
from memory.embedding.embedders import in_use
from memory.providers.postgres.vectors import OF_RUNS
from memory.upkeep.isolation import each


QUERIES: Final = read_queries("memory/sql/queries/embedding_queue.sql")

log = structlog.get_logger(__name__)

TAKEN_FOR: Final = timedelta(minutes=3)
SECONDS: Final = 60.0  # a batch may take
MOST_A_SWEEP: Final = 200  # batches of a team
LOOKED_THROUGH_EVERY: Final = 3_600.0  # seconds
FIRST_WAIT: Final = timedelta(seconds=30)  # before the second attempt, then twice as long each time
LONGEST_WAIT: Final = timedelta(hours=1)
MOST_SAID: Final = 300


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
    _done(team_id, QUERIES["delete_obsolete"], team_id)
    _done(team_id, QUERIES["reset_changed"], now, team_id)
    _done(team_id, QUERIES["enqueue_outdated"], now, team_id, embedder.name, dimensions, dimensions)
    while _done(team_id, QUERIES["add_missing"], now, team_id, list(OF_RUNS)):
        pass  # some thousands a transaction


def embed_again(team_id: UUID) -> int:
    """All of it is due once more; how many those are."""
    return _done(team_id, QUERIES["enqueue_all"], timezone.now(), team_id)


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


@retry_on_conflict
def _done(team_id: UUID, sql: str, *params: Any) -> int:
    """How many rows; ``params`` as the driver takes them."""
    with tenant([team_id]), connection.cursor() as cursor:
        cursor.execute(sql, params)
        rows: int = cursor.rowcount
    return rows


def _take(team_id: UUID, most: int, now: datetime) -> list[Taken]:
    with tenant([team_id]), connection.cursor() as cursor:
        cursor.execute(QUERIES["lock_due"], [team_id, now, most])
        free = [row[0] for row in cursor.fetchall()]
        if not free:
            return []
        cursor.execute(QUERIES["take"], [now + TAKEN_FOR, free])
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
    _write(team_id, taken, QUERIES["save_vector"], rows)


def _put_off(team_id: UUID, taken: Sequence[Taken], failed: EmbedderFault) -> None:
    now, problem = timezone.now(), str(failed)[:MOST_SAID]
    rows = {
        one.id: [
            now + _wait(one.attempts, failed),
            *(min(one.attempts + 1, 32_000), problem, one.id, one.text_hash),
        ]
        for one in taken
    }
    _write(team_id, taken, QUERIES["postpone"], rows)


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
            cursor.execute(QUERIES["lock"], [mine])
            cursor.executemany(sql, [rows[one] for one in mine])


def _notice_dimensions(team_id: UUID, embedder: Embedder, found: int) -> None:
    """A model that changed behind its name: what it gave before is of no use beside what it gives now."""
    if embedder.dimensions is not None or _DIMENSIONS.get((team_id, embedder.name)) == found:
        return
    _DIMENSIONS[team_id, embedder.name] = found
    _done(
        team_id, QUERIES["enqueue_outdated"], timezone.now(), team_id, embedder.name, found, found
    )


_DIMENSIONS: dict[tuple[UUID, str], int] = {}
