"""Workers whose clocks are ten minutes apart: leases follow the database's clock alone."""

from collections.abc import Callable
from threading import Event

import pytest

from tests.durability.conftest import Cluster, answer_from_now_on, asked
from tests.durability.faults.conftest import start_with_fault
from tests.fakes.openai_server import Answer, FakeOpenAI
from tests.support.cast import Cast
from workflows.models import Workflow
from workflows.services.runs.runs import start_run


SKEW = 600  # seconds by which each of the clocks is wrong


def list_workers(cluster: Cluster) -> set[object]:
    """Return the workers that execute a run now."""
    query = "select distinct worker from workflows_run where status = 'running'"
    return {worker for (worker,) in cluster.db.execute(query)}


@pytest.mark.slow
def test_workers_with_wrong_clocks_neither_steal_nor_abandon_runs(
    cluster: Cluster,
    cast: Cast,
    workflow: Callable[..., Workflow],
    ledger: FakeOpenAI,
    held: Answer,
    gate: Event,
) -> None:
    answer_from_now_on(ledger, held)
    made = workflow("llm", "template-transform", "memory-store")
    start_with_fault(cluster, "fast", threads=2, skew=SKEW)
    start_with_fault(cluster, "slow", threads=2, skew=-SKEW)

    runs = [start_run(cast.alice.principal, workflow=made) for _number in range(6)]
    # Each has room for two of the six, which don't end before.
    cluster.until(lambda: len(list_workers(cluster)) == 2)
    gate.set()
    rows = [cluster.until_ended(run) for run in runs]

    assert [(row["status"], row["attempt"]) for row in rows] == [("succeeded", 1)] * 6
    assert asked(ledger, "llm1") == 6
    for row in rows:
        assert 0 <= (row["finished_at"] - row["started_at"]).total_seconds() < SKEW
    for run in runs:
        cluster.check(run)


def test_dead_worker_with_a_fast_clock_is_succeeded_by_one_with_a_slow_clock(
    cluster: Cluster,
    cast: Cast,
    workflow: Callable[..., Workflow],
    ledger: FakeOpenAI,
    held: Answer,
) -> None:
    answer_from_now_on(ledger, held)
    start_with_fault(cluster, "fast", skew=SKEW)
    run = start_run(cast.alice.principal, workflow=workflow("llm"))
    cluster.until(lambda: asked(ledger, "llm1"))
    cluster.kill("fast")
    cluster.expire_leases()

    answer_from_now_on(ledger, "done")
    start_with_fault(cluster, "slow", skew=-SKEW)
    row = cluster.until_ended(run)

    assert (row["status"], row["attempt"]) == ("succeeded", 2)
    cluster.check(run)
