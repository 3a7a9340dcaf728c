"""Rounds of an iteration that all workers share: their order, their limit, and what survives kill -9 and cancelling."""

from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from threading import Event
from typing import Any

import pytest

from accounts.tenancy import tenant
from tests.durability.conftest import Cluster, answer_from_now_on, asked
from tests.durability.test_rounds import check, make, rounds_of_two, steps
from tests.fakes.openai_server import Answer, Failure, FakeOpenAI, Request
from tests.support.cases import for_each
from tests.support.cast import Cast
from workflows import selectors
from workflows.execution.rounds.ranges import divide_rounds
from workflows.models import Run, Workflow
from workflows.services.runs.runs import cancel_run, start_run


__all__ = ["make"]

Make = Callable[[dict[str, Any]], Workflow]
SPREAD = {"is_parallel": True, "distributed": True}


def ranges(cluster: Cluster, run: Run) -> list[tuple[Any, str, str, int]]:
    """The ids of the runs of the ranges, their status, worker and attempt."""
    return cluster.db.execute(
        "select id, status, worker, attempt from workflows_run"
        " where parent_id = %s and rounds is not null order by (rounds->>'first')::int",
        (run.pk,),
    ).fetchall()


def count_at_once(cluster: Cluster, run: Run, node: str) -> int:
    """The largest number of steps of a node that ran at the same time."""
    rows = cluster.db.execute(
        "select started_at, elapsed from workflows_step where run_id = %s and node_key = %s",
        (run.pk, node),
    ).fetchall()
    ends = [(start, 1) for start, _ in rows] + [(start + took, -1) for start, took in rows]
    current = most = 0
    for _, change in sorted(ends):
        current += change
        most = max(most, current)
    return most


@for_each("limit", range(1, 101))
def test_division_covers_every_round_once_and_keeps_to_the_limit(limit: int) -> None:
    for count in (1, 2, 7, 200, 1000):
        division = divide_rounds(count, limit)

        assert [index for each in division.ranges for index in each] == list(range(count))
        assert 0.8 * limit <= division.at_once * division.limit <= limit
        assert max(map(len, division.ranges)) <= 100


def test_two_workers_share_the_rounds_and_the_run_shows_them_as_its_own(
    cluster: Cluster, cast: Cast, make: Make, ledger: FakeOpenAI, gate: Event
) -> None:
    answer_from_now_on(ledger, lambda request: Answer(f"<{request.last_message}>", gate=gate))
    cluster.start("one", threads=1)  # has room for the run alone, which executes one range in it
    made = make(rounds_of_two(24, parallel_nums=4, **SPREAD))
    run = start_run(cast.alice.principal, workflow=made)
    cluster.until(lambda: ledger.requests)
    cluster.start("two")
    cluster.until(lambda: len(ledger.requests) == 4)
    workers = {worker for _, _, worker, _ in ranges(cluster, run) if worker}

    gate.set()
    row = cluster.until_ended(run)

    assert row["status"] == "succeeded"
    assert cluster.row(run)["outputs"] == {"o": [f"<second item{n}>" for n in range(24)]}
    assert len(workers) == 2
    assert len(ranges(cluster, run)) == 12
    assert steps(cluster, run) == Counter(
        [("start", ()), ("it", ()), ("end", ())]
        + [(node, (n,)) for node in ("begin", "first", "second") for n in range(24)]
    )
    assert count_at_once(cluster, run, "first") == 4
    check(cluster, run)
    told = Counter(name for _seq, name, _data in cluster.events(run))
    assert told["iteration_started"] == told["iteration_completed"] == 1
    assert told["iteration_next"] == 24
    (ended,) = [d for _, name, d in cluster.events(run) if name == "iteration_completed"]
    assert (ended["count"], ended["failed"]) == (24, 0)
    with tenant([run.team_id]):
        assert [row.pk for row in selectors.list_runs(cast.alice.principal)] == [run.pk]


def _count_workers(cluster: Cluster) -> int:
    rows = cluster.db.execute("select count(*) from workflows_worker").fetchone()
    return int(rows[0]) if rows else 0


@pytest.mark.parametrize("victim", ["run", "range"])
def test_killed_worker_repeats_no_finished_round(
    cluster: Cluster, cast: Cast, make: Make, ledger: FakeOpenAI, gate: Event, victim: str
) -> None:
    def reply(request: Request) -> str:
        if request.last_message in ("second item1", "second item3"):
            gate.wait(60)
        return "ok"

    answer_from_now_on(ledger, reply)
    cluster.start("run", threads=1)  # has room for the run alone, which executes one range in it
    cluster.until(lambda: _count_workers(cluster) == 1)
    run = start_run(
        cast.alice.principal, workflow=make(rounds_of_two(12, parallel_nums=2, **SPREAD))
    )
    cluster.until(lambda: asked(ledger, "second item1"))
    cluster.start("range")
    cluster.until(lambda: asked(ledger, "second item3"))
    cluster.until(lambda: {("first", (1,)), ("first", (3,))} <= _list_all_steps(cluster, run))
    holders = {"run": cluster.row(run)["worker"], "range": ranges(cluster, run)[1][2]}

    cluster.kill(victim)
    before = _list_all_steps(cluster, run)
    cluster.db.execute(
        "update workflows_run set lease_until = now() where status = 'running' and worker = %s",
        (holders[victim],),
    )
    gate.set()
    cluster.start("three")
    row = cluster.until_ended(run)

    assert holders["run"] != holders["range"]
    assert (row["status"], row["outputs"]) == ("succeeded", {"o": ["ok"] * 12})
    assert {("second", (0,)), ("second", (2,))} <= before
    for node, rounds in before:
        if node in ("first", "second"):
            assert asked(ledger, f"{node} item{rounds[0]}") == 1
    assert row["attempt"] == (2 if victim == "run" else 1)
    check(cluster, run)
    begun = [data["index"] for _seq, name, data in cluster.events(run) if name == "iteration_next"]
    assert set(begun) == set(range(12))


def _list_all_steps(cluster: Cluster, run: Run) -> set[tuple[str, tuple[int, ...]]]:
    """The finished steps of the run and of its ranges."""
    rows = cluster.db.execute(
        "select node_key, rounds from workflows_step where status = 'succeeded' and (run_id = %s"
        " or run_id in (select id from workflows_run where parent_id = %s))",
        (run.pk, run.pk),
    ).fetchall()
    return {(node, tuple(rounds)) for node, rounds in rows}


@pytest.mark.timed
def test_cancel_stops_every_range_within_two_seconds(
    cluster: Cluster, cast: Cast, make: Make, ledger: FakeOpenAI, held: Answer
) -> None:
    answer_from_now_on(ledger, held)
    cluster.start("one")
    cluster.start("two")
    made = make(rounds_of_two(20, parallel_nums=4, **SPREAD))
    run = start_run(cast.alice.principal, workflow=made)
    cluster.until(lambda: len(ledger.requests) >= 4)

    with tenant([run.team_id]):
        cancel_run(cast.alice.principal, run)
    row = cluster.until_ended(run)

    assert row["finished_at"] - row["cancel_requested_at"] < timedelta(seconds=20)  # ten times
    assert row["status"] == "stopped"
    cluster.until(lambda: {status for _, status, _, _ in ranges(cluster, run)} == {"stopped"})
    stopped = cluster.db.execute(
        "select count(*) from workflows_step"
        " where run_id = %s and node_key = 'first' and status = 'stopped'",
        (run.pk,),
    ).fetchone()
    assert stopped == (4,)
    check_sequence(cluster, run)


def check_sequence(cluster: Cluster, run: Run) -> None:
    events = cluster.events(run)
    assert [seq for seq, _name, _data in events] == list(range(1, len(events) + 1))
    assert events[-1][1] == "run_finished"


def test_failed_round_ends_the_iteration_and_stops_the_others(
    cluster: Cluster, cast: Cast, make: Make, ledger: FakeOpenAI, held: Answer
) -> None:
    """The others never end by themselves."""
    answer_from_now_on(
        ledger,
        lambda request: Failure(400) if request.last_message == "first item0" else held,
    )
    cluster.start("one")
    cluster.start("two")
    made = make(rounds_of_two(20, parallel_nums=4, **SPREAD))
    row = cluster.until_ended(start_run(cast.alice.principal, workflow=made))

    assert (row["status"], row["error_node"]) == ("failed", "it")
