"""Which runs survive the end of their week: the same that reading all of them gives, found without doing so."""

import random
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest
from django.db import connection, transaction
from django.utils import timezone

from accounts.tenancy import tenant
from config.ids import uuid7
from tests.factories.workflows import make_run, make_workflow
from tests.support.cast import Cast
from tests.support.waiting import until
from tests.workflows.history.made import id_of, make_old, make_week, partitions_of, settle
from tests.workflows.history.test_upkeep import week_of
from workflows.execution.history import upkeep
from workflows.models import Run, Workflow
from workflows.models.run import ENDED
from workflows.services.editor.snapshots import take_snapshot


pytestmark = pytest.mark.django_db

NOW = timezone.now()
STATUSES = ["succeeded"] * 6 + ["partial-succeeded", "failed", "stopped", "queued", "running", "paused"]  # fmt: skip
MANY_TRIES = 100  # on a busy machine, half a second may be too short for each of a few
# The days of a workflow's runs, and of its failed ones.
DAYS = [(None, None), (365, None), (0, None), (7, 7), (None, 0), (None, 31)]


def _get_monday(at: datetime) -> datetime:
    return (at - timedelta(days=at.weekday())).replace(hour=0, minute=0, second=0, microsecond=0)


# Longer than runs are stored, shorter than failed ones are; in the middle of a week, which doesn't end during the tests.
WEEK = _get_monday(NOW - timedelta(days=50)) + timedelta(days=3.5)
AGE = (NOW - WEEK) / timedelta(days=1)


@pytest.mark.parametrize("seed", range(4))
def test_survivors_are_those_that_reading_every_run_gives(cast: Cast, seed: int):
    make_week(WEEK)
    runs = make_random_runs(cast, random.Random(seed), 80)
    expected = find_survivors(runs)
    settle()

    moved = upkeep.drop_week(week_of(WEEK))

    with tenant([cast.team_a.pk]):
        stored = set(Run.objects.unscoped().values_list("pk", flat=True))
    in_week = {run.pk for run in runs if is_in_week(run.pk)}
    assert stored & in_week == expected
    assert moved == len(expected)
    assert 10 < len(expected) < len(in_week) - 10  # so that the test means something
    assert {run.pk for run in runs} - in_week <= stored


def make_random_runs(cast: Cast, chance: random.Random, count: int) -> list[Run]:
    workflows = [make_workflow(cast.alice, f"{days}") for days in DAYS]
    with tenant([cast.team_a.pk]):
        for workflow, (days, failed_days) in zip(workflows, DAYS, strict=True):
            workflow.keep_days, workflow.keep_failed_days = days, failed_days
            workflow.save()
    weights = [12] + [1] * (len(DAYS) - 1)
    snapshot, monday = take_snapshot(workflows[0]), _get_monday(WEEK)
    runs: list[Run] = []
    for number in range(count):
        week = chance.choice([0] * 8 + [-1, 1])
        at = monday + timedelta(days=7 * week) + timedelta(days=7) * chance.random()
        created = at + timedelta(days=chance.choice([0] * 9 + [45]))  # a child of a long pause
        status = chance.choice(STATUSES)
        taken = chance.choice([timedelta(minutes=40)] * 9 + [timedelta(hours=2), timedelta(days=30)])  # fmt: skip
        parent_id = uuid7() if not runs or chance.random() < 0.1 else chance.choice(runs).pk
        run = Run(
            id=id_of(at), team_id=cast.team_a.pk, snapshot=snapshot, actor="test", subject="s",
            workflow=chance.choices(workflows, weights)[0], status=status,
            finished_at=created + taken if status in ENDED else None,
            is_counted=chance.random() < 0.95,
            parent_id=parent_id if chance.random() < 0.3 else None, parent_key=str(number),
        )  # fmt: skip
        with tenant([cast.team_a.pk]):
            run.save(force_insert=True)
            Run.objects.unscoped().filter(pk=run.pk).update(created_at=created)
        runs.append(run)
    return runs


def find_survivors(runs: Sequence[Run]) -> set[UUID]:
    """Read all runs, and return those of the week that stay."""
    by_id = {run.pk: run for run in runs}
    survivors = set()
    for run in runs:
        above, root = run, None
        while is_in_week(above.pk) and root is None:
            parent = by_id.get(above.parent_id) if above.parent_id else None
            if parent is None:
                root = above
            else:
                above = parent
        if is_in_week(run.pk) and (root is None or not has_expired(root)):
            survivors.add(run.pk)
    return survivors


def has_expired(run: Run) -> bool:
    workflow: Workflow = run.workflow
    days = 30 if workflow.keep_days is None else workflow.keep_days
    failed_days = 90 if workflow.keep_failed_days is None else workflow.keep_failed_days
    if run.finished_at is None or not run.is_counted or not _is_over(run.finished_at, days):
        return False
    return run.status != "failed" or _is_over(run.finished_at, failed_days)


def _is_over(at: datetime, days: int) -> bool:
    return bool(days) and at < timezone.now() - timedelta(days=days)


def is_in_week(run_id: UUID) -> bool:
    monday = _get_monday(WEEK)
    return monday <= _read_time(run_id) < monday + timedelta(days=7)


def _read_time(run_id: UUID) -> datetime:
    return datetime.fromtimestamp((run_id.int >> 80) / 1000, tz=NOW.tzinfo)


def test_expired_runs_are_not_read(
    cast: Cast, owner_db: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
):
    make_week(WEEK)
    monkeypatch.setattr(Run._meta.get_field("created_at"), "auto_now_add", False)  # set below
    workflow, snapshot = make_workflow(cast.alice), take_snapshot(make_workflow(cast.alice))
    with tenant([cast.team_a.pk]):
        Run.objects.bulk_create(
            Run(
                id=id_of(WEEK), team_id=cast.team_a.pk, workflow=workflow, snapshot=snapshot,
                actor="test", subject="s", status="failed" if number < 3 else "succeeded",
                created_at=WEEK, finished_at=WEEK, is_counted=True,
            )
            for number in range(1_000)
        )  # fmt: skip
    owner_db.execute("analyze workflows_run")  # as PostgreSQL does by itself

    with owner_db.transaction():
        owner_db.execute("select execution_set_teams(array(select id from accounts_team))")
        kept = owner_db.execute("select * from history_list_kept(%s, 30, 90, 9)", [week_of(WEEK)])
        assert len(kept.fetchall()) == 3
        read = owner_db.execute(
            "select seq_tup_read + coalesce(idx_tup_fetch, 0) from pg_stat_xact_user_tables where relname = %s",
            [f"workflows_run_{week_of(WEEK)}"],
        ).fetchone()

    assert read is not None
    assert read[0] < 30


def test_week_whose_days_are_not_over_is_not_dropped(cast: Cast):
    at = timezone.now() - timedelta(days=8)
    make_week(at)
    run = make_old(cast.alice, make_workflow(cast.alice), 8)
    settle()

    assert upkeep.drop_week(week_of(at)) is None

    assert partitions_of(run) == {week_of(at)}


@pytest.mark.parametrize(("most", "expected"), [(20_000, 1), (0, None)])
def test_run_that_is_continued_while_its_week_is_dropped_stays(
    cast: Cast,
    transactional_db: None,
    monkeypatch: pytest.MonkeyPatch,
    most: int,
    expected: int | None,
):
    monkeypatch.setattr(upkeep, "MAX_MOVED", most)
    monkeypatch.setattr(upkeep, "LOCK_TRIES", MANY_TRIES)
    make_week(WEEK)
    gone, stays = (make_old(cast.alice, make_workflow(cast.alice), AGE) for _ in range(2))
    moved: list[int | None] = []
    upkeeper = threading.Thread(target=lambda: moved.append(drop_elsewhere(week_of(WEEK))))

    with transaction.atomic(), tenant([stays.team_id]):
        Run.objects.unscoped().filter(pk=stays.pk).update(status="queued", finished_at=None)
        upkeeper.start()
        until(waits_for_lock, why="nobody waits for a lock")
    upkeeper.join()

    assert moved == [expected]
    with tenant([stays.team_id]):
        stored = set(Run.objects.unscoped().values_list("pk", flat=True))
    assert stored == ({stays.pk} if expected else {stays.pk, gone.pk})


def test_week_is_dropped_once_by_two_workers(
    cast: Cast, transactional_db: None, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(upkeep, "LOCK_TRIES", MANY_TRIES)
    make_week(WEEK)
    make_old(cast.alice, make_workflow(cast.alice), AGE, status="failed")
    moved: list[int | None] = []
    workers = [
        threading.Thread(target=lambda: moved.append(drop_elsewhere(week_of(WEEK))))
        for _ in range(4)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()

    assert sorted(map(str, moved)) == ["0", "0", "0", "1"]


def drop_elsewhere(week: str) -> int | None:
    try:
        return upkeep.drop_week(week)
    finally:
        connection.close()


def waits_for_lock() -> bool:
    """Return whether a session of this database waits for a lock."""
    with connection.cursor() as cursor:
        cursor.execute(
            "select exists (select from pg_locks where not granted and database ="
            " (select oid from pg_database where datname = current_database()))"
        )
        return bool(cursor.fetchone()[0])


def test_weeks_are_dropped_while_runs_are_read_and_written(cast: Cast, transactional_db: None):
    weeks = [WEEK - timedelta(weeks=number) for number in range(8)]
    workflow = make_workflow(cast.alice)
    for week in weeks:
        make_week(week)
        make_old(cast.alice, workflow, (timezone.now() - week).days)
    current = make_run(cast.alice, workflow)

    with keep_busy(current) as counts:
        dropped = [upkeep.drop_week(week_of(week)) for week in weeks]

    assert dropped == [0] * len(weeks)
    assert all(counts), counts


@contextmanager
def keep_busy(run: Run) -> Iterator[list[int]]:
    """Read and write runs in four threads without a pause, and count the transactions of each."""
    is_over, counts = threading.Event(), [0] * 4

    def work(number: int) -> None:
        try:
            while not is_over.is_set():
                with tenant([run.team_id]):
                    rows = Run.objects.unscoped()
                    list(rows.order_by("-created_at")[:5])
                    rows.filter(status="queued", error="x").update(error="")
                counts[number] += 1
        finally:
            connection.close()

    threads = [threading.Thread(target=work, args=[number]) for number in range(4)]
    for thread in threads:
        thread.start()
    try:
        until(lambda: all(counts))
        yield counts
    finally:
        is_over.set()
        for thread in threads:
            thread.join()
