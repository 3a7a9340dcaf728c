"""Embeds waiting entries in batches, with nothing locked while the embedder works.

The rows of ``Embedding`` are the queue: a row is due from the transaction that wrote its entry until the vector of
exactly that text is stored. A worker that claims rows postpones them first, so that no other worker embeds them at the
same time, and they are due again if the worker dies. A vector is discarded if its text has changed in the meantime.
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
from weakref import WeakKeyDictionary

import structlog
from django.db import connection
from django.utils import timezone
from pgvector import HalfVector

from accounts.models import Team
from accounts.tenancy import tenant
from config.retry import retry_on_conflict
from config.sql import read_queries
from memory.core.recall.embedding import Embedder, EmbedderFault, Vector, embed_texts
from memory.core.values import build_embedded_text
from memory.embedding.embedders import get_configured_embedder, get_embedder
from memory.providers.postgres.vectors import RUN_SCOPES
from memory.upkeep.isolation import run_each


QUERIES: Final = read_queries("memory/sql/queries/embedding_queue.sql")

log = structlog.get_logger(__name__)

CLAIM_DURATION: Final = timedelta(minutes=3)
MAX_BATCH_SECONDS: Final = 60.0
MAX_BATCHES: Final = 200  # of a team in one round
CHECK_INTERVAL: Final = 3_600.0  # seconds
MIN_WAIT: Final = timedelta(seconds=30)  # before the second attempt, then twice as long each time
MAX_WAIT: Final = timedelta(hours=1)
MAX_PROBLEM_LENGTH: Final = 300

_NEXT_CHECKS: dict[tuple[UUID, str], float] = {}
_CHECK_LOCK = threading.Lock()

# The time until which an embedder that failed is left alone, so that an endpoint that hangs doesn't occupy this process.
_PAUSED_UNTIL: WeakKeyDictionary[Embedder, float] = WeakKeyDictionary()
PAUSE: Final = 30.0  # seconds

_DIMENSIONS: dict[tuple[UUID, str], int] = {}  # of the last vectors, by team and embedder


@dataclass(frozen=True, slots=True)
class EmbeddingJob:
    """An entry that waits to be embedded, with its text."""

    id: UUID
    namespace_id: UUID
    entry_id: UUID
    text_hash: str
    attempts: int
    text: str


def embed_all_teams() -> int:
    """Embed the waiting entries of every team and return their number. Safe to run twice, or at the same time."""
    return run_each(Team.objects.values_list("id", flat=True), embed_team, "embedding_failed")


def embed_team(team_id: UUID, *, now: datetime | None = None) -> int:
    """Embed the team's waiting entries until none is due or the embedder fails, and return their number.

    The team may choose another model at any time. It is looked up before each batch, and after the last one, so that no
    vector of the former model is left.
    """
    count, previous = 0, ""
    for _ in range(MAX_BATCHES):
        embedder = get_embedder(team_id, is_fresh=True)
        if embedder is None:
            break
        if previous and embedder.name != previous:
            enqueue_outdated(team_id, embedder)
        else:
            _enqueue_outdated_if_due(team_id, embedder)
        previous = embedder.name
        if _PAUSED_UNTIL.get(embedder, 0.0) > time.monotonic():
            break
        jobs = _claim_jobs(team_id, embedder.batch, now or timezone.now())
        if not jobs:
            break
        embedded, can_continue = _embed_jobs(team_id, embedder, jobs)
        count += embedded
        # If every text was rejected, the cause is the embedder and not a text.
        if not can_continue or (not embedded and len(jobs) > 1):
            break
    return count


def embed_team_again(team_id: UUID) -> int:
    """Embed what the team's embedder hasn't embedded, after the team has chosen another model, and return the number."""
    embedder = get_embedder(team_id, is_fresh=True)
    if embedder is None:
        return 0
    _execute(team_id, QUERIES["retry_failed"], timezone.now(), team_id)
    enqueue_outdated(team_id, embedder)
    return embed_team(team_id)


def enqueue_outdated(team_id: UUID, embedder: Embedder) -> None:
    """Enqueue the entries without a vector of this embedder, and delete the rows of entries that need none."""
    now = timezone.now()
    _execute(team_id, QUERIES["delete_obsolete"], team_id)
    _execute(team_id, QUERIES["reset_changed"], now, team_id)
    _enqueue_other_vectors(team_id, embedder, embedder.dimensions or 0)
    while _execute(team_id, QUERIES["add_missing"], now, team_id, list(RUN_SCOPES)):
        pass  # each call adds a limited number of rows in its own transaction


def enqueue_all(team_id: UUID) -> int:
    """Enqueue all entries again and return their number."""
    return _execute(team_id, QUERIES["enqueue_all"], timezone.now(), team_id)


def reset_checks() -> None:
    """Make the next round look for outdated entries of all teams. For tests and ``manage.py memory_embed``."""
    _NEXT_CHECKS.clear()


def _enqueue_outdated_if_due(team_id: UUID, embedder: Embedder) -> None:
    """Enqueue outdated entries, at most once an hour for each team and model because this reads all entries."""
    check_key, now = (team_id, embedder.name), time.monotonic()
    with _CHECK_LOCK:
        if now < _NEXT_CHECKS.get(check_key, 0.0):
            return
        _NEXT_CHECKS[check_key] = now + CHECK_INTERVAL
    enqueue_outdated(team_id, embedder)


@retry_on_conflict
def _execute(team_id: UUID, sql: str, *params: Any) -> int:
    """Execute the statement and return the number of affected rows."""
    with tenant([team_id]), connection.cursor() as cursor:
        cursor.execute(sql, params)
        rows: int = cursor.rowcount
    return rows


def _claim_jobs(team_id: UUID, limit: int, now: datetime) -> list[EmbeddingJob]:
    with tenant([team_id]), connection.cursor() as cursor:
        cursor.execute(QUERIES["lock_due"], [team_id, now, limit])
        ids = [row[0] for row in cursor.fetchall()]
        if not ids:
            return []
        cursor.execute(QUERIES["take"], [now + CLAIM_DURATION, ids])
        return [EmbeddingJob(*row) for row in cursor.fetchall()]


def _embed_jobs(
    team_id: UUID, embedder: Embedder, jobs: Sequence[EmbeddingJob]
) -> tuple[int, bool]:
    """Embed the jobs. Return how many were embedded, and whether the embedder can be used for further jobs."""
    try:
        vectors = embed_texts(
            embedder,
            [build_embedded_text(job.text) for job in jobs],
            question=False,
            seconds=MAX_BATCH_SECONDS,
        )
    except EmbedderFault as fault:
        if fault.rejects_texts and len(jobs) > 1:  # one of the texts causes the failure
            halves = (jobs[: len(jobs) // 2], jobs[len(jobs) // 2 :])
            results = [_embed_jobs(team_id, embedder, half) for half in halves]
            return sum(count for count, _ in results), all(is_usable for _, is_usable in results)
        _postpone(team_id, jobs, fault)
        _pause_team_embedder(embedder, fault)
        log.warning("not_embedded", embedder=embedder.name, texts=len(jobs), why=str(fault))
        return 0, fault.rejects_texts
    _save_vectors(team_id, embedder, jobs, vectors)
    _enqueue_if_dimensions_changed(team_id, embedder, len(vectors[0]))
    return len(jobs), True


def _pause_team_embedder(embedder: Embedder, fault: EmbedderFault) -> None:
    """Leave a team's own endpoint alone for a while, so that one that hangs doesn't delay the entries of other teams."""
    if not fault.rejects_texts and embedder is not get_configured_embedder():
        _PAUSED_UNTIL[embedder] = time.monotonic() + PAUSE


def _save_vectors(
    team_id: UUID, embedder: Embedder, jobs: Sequence[EmbeddingJob], vectors: Sequence[Vector]
) -> None:
    now = timezone.now()
    literals = (HalfVector(list(vector)).to_text() for vector in vectors)
    dimensions = len(vectors[0])
    params_by_job = {
        job.id: [literal, embedder.name, dimensions, now, job.id, job.text_hash]
        for job, literal in zip(jobs, literals, strict=True)
    }
    _update_jobs(team_id, jobs, QUERIES["save_vector"], params_by_job)


def _postpone(team_id: UUID, jobs: Sequence[EmbeddingJob], fault: EmbedderFault) -> None:
    now, problem = timezone.now(), str(fault)[:MAX_PROBLEM_LENGTH]
    params_by_job = {}
    for job in jobs:
        due_at, attempts = now + _compute_wait(job.attempts, fault), min(job.attempts + 1, 32_000)
        params_by_job[job.id] = [due_at, attempts, problem, job.id, job.text_hash]
    _update_jobs(team_id, jobs, QUERIES["postpone"], params_by_job)


def _compute_wait(attempts: int, fault: EmbedderFault) -> timedelta:
    requested = timedelta(seconds=fault.retry_after or 0)
    backoff: timedelta = MIN_WAIT * 2 ** min(attempts, 10)
    return min(MAX_WAIT, max(requested, backoff))


def _update_jobs(
    team_id: UUID, jobs: Sequence[EmbeddingJob], sql: str, params_by_job: dict[UUID, list[Any]]
) -> None:
    """Execute the statement for each job with the parameters of its id.

    Each namespace has its own transaction, and rows are locked in the order of other writers to avoid deadlocks.
    """
    sorted_jobs = sorted(jobs, key=attrgetter("namespace_id", "entry_id"))
    for _namespace, members in groupby(sorted_jobs, key=attrgetter("namespace_id")):
        ids = [job.id for job in members]
        with tenant([team_id]), connection.cursor() as cursor:
            cursor.execute(QUERIES["lock"], [ids])
            cursor.executemany(sql, [params_by_job[job_id] for job_id in ids])


def _enqueue_if_dimensions_changed(team_id: UUID, embedder: Embedder, dimensions: int) -> None:
    """Enqueue the team's older vectors if the embedder now returns another number of dimensions."""
    if embedder.dimensions is not None or _DIMENSIONS.get((team_id, embedder.name)) == dimensions:
        return
    _DIMENSIONS[team_id, embedder.name] = dimensions
    _enqueue_other_vectors(team_id, embedder, dimensions)


def _enqueue_other_vectors(team_id: UUID, embedder: Embedder, dimensions: int) -> None:
    """Enqueue the entries with vectors of another model or, unless ``dimensions`` is 0, of another size."""
    params = (timezone.now(), team_id, embedder.name, dimensions, dimensions)
    _execute(team_id, QUERIES["enqueue_outdated"], *params)
