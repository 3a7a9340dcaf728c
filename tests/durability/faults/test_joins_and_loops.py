"""Branches that end at once, and a loop whose worker dies in the middle."""

from datetime import timedelta
from typing import Any

import pytest

from tests.durability.conftest import Cluster, answer_from_now_on, asked
from tests.durability.faults.conftest import Import, ask, edges, node, template
from tests.fakes.openai_server import Answer, FakeOpenAI
from tests.support.cast import Cast
from workflows.models import Run
from workflows.services.runs.runs import start_run


def diamond() -> dict[str, object]:
    return {
        "version": "0.1.0",
        "nodes": [
            node("start", "start", variables=[]),
            ask("left", "left"),
            ask("right", "right"),
            template("join", "{{ a }}{{ b }}", ("a", ["left", "text"]), ("b", ["right", "text"])),
            ask("after", "after"),
            node("end", "end", outputs=[{"variable": "o", "value_selector": ["join", "output"]}]),
        ],
        "edges": edges("start left", "start right", "left join", "right join", "join after", "after end"),
    }  # fmt: skip


def join_many_times(
    cluster: Cluster, cast: Cast, make: Import, ledger: FakeOpenAI, count: int
) -> None:
    answer_from_now_on(ledger, "x")
    made = make(diamond())
    cluster.start("one", threads=16)
    cluster.start("two", threads=16)
    runs = [start_run(cast.alice.principal, workflow=made) for _number in range(count)]

    rows = [cluster.until_ended(run, 300) for run in runs]

    assert {(row["status"], str(row["outputs"])) for row in rows} == {("succeeded", "{'o': 'xx'}")}
    assert asked(ledger, "after") == count
    joins = cluster.db.execute(
        "select count(*), count(distinct run_id) from workflows_step where node_key = 'join' and run_id = any(%s)",
        ([run.pk for run in runs],),
    ).fetchone()
    assert joins == (count, count)


def test_join_of_branches_that_end_at_once_runs_once(
    cluster: Cluster, cast: Cast, import_workflow: Import, ledger: FakeOpenAI
) -> None:
    join_many_times(cluster, cast, import_workflow, ledger, 60)


@pytest.mark.nightly
def test_join_of_branches_that_end_at_once_runs_once_in_a_thousand_runs(
    cluster: Cluster, cast: Cast, import_workflow: Import, ledger: FakeOpenAI
) -> None:
    join_many_times(cluster, cast, import_workflow, ledger, 1000)


def counting_loop(rounds: int) -> dict[str, object]:
    done = {"variable_selector": ["again", "n"], "comparison_operator": "≥", "value": str(rounds)}
    return {
        "version": "0.1.0",
        "nodes": [
            node("start", "start", variables=[]),
            node("again", "loop", loop_count=100, start_node_id="begin", break_conditions=[done],
                 loop_variables=[{"label": "n", "var_type": "number", "value_type": "constant",
                                  "value": 0}]),
            node("begin", "loop-start", "again"),
            ask("inner", "round {{#again.n#}}", "again"),
            node("count", "assigner", "again", version="2", items=[
                {"variable_selector": ["again", "n"], "input_type": "constant",
                 "operation": "+=", "value": 1}]),
            node("end", "end", outputs=[{"variable": "n", "value_selector": ["again", "n"]}]),
        ],
        "edges": edges("start again", "begin inner", "inner count", "again end"),
    }  # fmt: skip


def test_loop_killed_in_a_round_goes_on_in_it(
    cluster: Cluster, cast: Cast, import_workflow: Import, ledger: FakeOpenAI, held: Answer
) -> None:
    answer_from_now_on(
        ledger, lambda request: held if request.last_message == "round 13" else "done"
    )
    cluster.start("one")
    run = start_run(cast.alice.principal, workflow=import_workflow(counting_loop(20)))
    cluster.until(lambda: asked(ledger, "round 13"))

    cluster.kill("one")
    cluster.expire_leases()
    answer_from_now_on(ledger, "done")
    cluster.start("two")
    row = cluster.until_ended(run)

    assert (row["status"], row["outputs"]) == ("succeeded", {"n": 20})
    times = [asked(ledger, f"round {number}") for number in range(20)]
    assert times == [1] * 13 + [2] + [1] * 6


@pytest.mark.timed
def test_long_loop_costs_the_same_in_every_round(
    cluster: Cluster, cast: Cast, import_workflow: Import, ledger: FakeOpenAI
) -> None:
    tree = counting_loop(1000)
    tree["nodes"][1]["data"]["loop_count"] = 1000  # type: ignore[index]
    tree["nodes"][3] = template("inner", "{{ n }}", ("n", ["again", "n"]), parent="again")  # type: ignore[index]
    cluster.environment["RUN_MAX_STEPS"] = "10000"
    cluster.start("one")
    run = start_run(cast.alice.principal, workflow=import_workflow(tree))

    row = cluster.until_ended(run)

    assert (row["status"], row["outputs"]) == ("succeeded", {"n": 1000})
    early, late = (measure_round(cluster, run, first) for first in (0, 800))
    assert late < 4 * early, (early, late)


def measure_round(cluster: Cluster, run: Run, first: int) -> timedelta:
    """Return how long a round took, of two hundred from this one on the one in the middle."""
    row: Any = cluster.db.execute(
        "select percentile_cont(0.5) within group (order by took) from ("
        " select started_at - lag(started_at) over (order by rounds[1]) as took from workflows_step"
        " where run_id = %s and node_key = 'inner' and rounds[1] between %s and %s) as spans",
        (run.pk, first, first + 200),
    ).fetchone()
    took: timedelta = row[0]
    return took
