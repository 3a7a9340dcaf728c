"""Timers: a run goes on at its time, once, also when the time passed while no worker was there, and when very many are due."""

from datetime import timedelta
from typing import Any

import pytest

from tests.durability.conftest import Cluster
from tests.durability.faults.conftest import start_with_fault
from tests.durability.test_debugging import made
from tests.durability.test_waits import ask, begin, code, delay, graph, until_paused
from tests.support.cast import Cast
from workflows.models import Run


AGES = graph([delay(amount=1, unit="hours")], ["start>delay", "delay>end"], o=["delay", "until"])


def copy_paused(cluster: Cluster, run: Run, count: int) -> None:
    """Further runs that are paused where this one is."""
    cluster.db.execute("create temporary table copies (id uuid)")
    cluster.db.execute(
        "insert into copies select gen_random_uuid() from generate_series(1, %s)", (count,)
    )
    for table, key in (
        ("workflows_run", "id"),
        ("workflows_step", "run_id"),
        ("workflows_runcommit", "run_id"),
        ("workflows_runwait", "run_id"),
    ):
        names = [
            row[0]
            for row in cluster.db.execute(
                "select attname from pg_attribute where attrelid = %s::regclass and attnum > 0"
                " and not attisdropped and attgenerated = '' order by attnum",
                (table,),
            )
        ]
        new = {key: "copies.id", "id": "copies.id" if key == "id" else "gen_random_uuid()"}
        values = ", ".join(new.get(name, f"source.{name}") for name in names)
        cluster.db.execute(
            f"insert into {table} ({', '.join(names)})"
            f" select {values} from {table} source, copies where source.{key} = %s",
            (run.pk,),
        )


def count_events(cluster: Cluster, run: Run) -> dict[str, int]:
    rows = cluster.db.execute(
        "select name, count(*) from workflows_runevent where run_id = %s group by name", (run.pk,)
    )
    return dict(rows.fetchall())


@pytest.mark.timed
def test_delay_ends_within_half_a_second_of_its_time(cluster: Cluster, cast: Cast) -> None:
    """That a worker sleeps no longer than until this time: ``tests/workflows/execution/test_timers.py``."""
    cluster.start()
    run = begin(cast, made(cast, AGES))
    until_paused(cluster, run)

    due_at = cluster.let_time_pass(run, "1.5 seconds")
    row = cluster.until_ended(run)

    assert timedelta() <= row["queued_at"] - due_at < timedelta(seconds=5)  # ten times


def test_duration_is_counted_by_the_database_because_a_workers_clock_may_be_wrong(
    cluster: Cluster, cast: Cast
) -> None:
    start_with_fault(cluster, "fast", skew=600)

    run = begin(cast, made(cast, AGES))
    row = until_paused(cluster, run)

    # By the clock of the worker, it would wait for ten minutes more.
    waits_for = row["wake_at"] - row["started_at"]
    assert timedelta(hours=1) <= waits_for < timedelta(hours=1, seconds=600)


def test_time_that_passed_during_an_outage_fires_once_and_ends_all_that_is_due(
    cluster: Cluster, cast: Cast
) -> None:
    document = graph(
        [delay(amount=1, unit="hours"), ask(), code("late", "late")],
        ["start>delay", "start>ask", "delay>end", "ask:send>end", "ask:__timeout>late", "late>end"],
        way=["ask", "__action_id"],
        late=["late", "o"],
    )
    cluster.start("one")
    run = begin(cast, made(cast, document))
    until_paused(cluster, run)
    cluster.kill("one")

    cluster.let_time_pass(run, "-2 days")
    cluster.start("two")
    cluster.start("three")
    row = cluster.until_ended(run)

    assert (row["status"], row["outputs"]) == ("succeeded", {"way": "__timeout", "late": "late"})
    assert (row["attempt"], row["kill_count"], row["wake_at"]) == (2, 0, None)
    cluster.check(run)


@pytest.mark.timeout(330)
@pytest.mark.parametrize("count", [100, pytest.param(1000, marks=pytest.mark.nightly)])
def test_very_many_that_are_due_at_once_all_go_on_once(
    cluster: Cluster, cast: Cast, count: int
) -> None:
    cluster.start("one")
    first = begin(cast, made(cast, AGES))
    until_paused(cluster, first)
    cluster.kill("one")
    cluster.let_time_pass(first, "-1 minute")
    copy_paused(cluster, first, count - 1)

    cluster.start("two")
    cluster.start("three")
    cluster.until(lambda: count_status(cluster, "succeeded") == count, seconds=300)

    attempts = cluster.db.execute("select distinct attempt, kill_count from workflows_run")
    assert attempts.fetchall() == [(2, 0)]
    steps = cluster.db.execute(
        "select count(*), count(distinct run_id) from workflows_step where node_key = 'delay'"
    )
    assert steps.fetchone() == (count, count)


def count_status(cluster: Cluster, status: str) -> int:
    row: Any = cluster.db.execute(
        "select count(*) from workflows_run where status = %s", (status,)
    ).fetchone()
    return int(row[0])
