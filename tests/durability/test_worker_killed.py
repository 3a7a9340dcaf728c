"""kill -9 of the worker: the run finishes elsewhere, and nothing that was finished is done again."""

import signal
from collections.abc import Callable
from datetime import timedelta
from threading import Event
from typing import Any

import pytest

from tests.durability.conftest import Cluster, answer_from_now_on, asked
from tests.fakes.openai_server import Answer, FakeOpenAI
from tests.support.cast import Cast
from workflows.execution.claims import LEASE
from workflows.execution.worker import RECOVERY_INTERVAL
from workflows.models import Run, Workflow
from workflows.services.runs.runs import start_run


def test_killed_mid_stream_finishes_elsewhere_without_repeating_finished_nodes(
    cluster: Cluster,
    cast: Cast,
    workflow: Callable[..., Workflow],
    ledger: FakeOpenAI,
    held: Answer,
) -> None:
    answer_from_now_on(ledger, lambda request: held if request.last_message == "llm3" else "done")
    cluster.start("one")
    run = start_run(cast.alice.principal, workflow=workflow("llm", "template-transform", "llm"))
    cluster.until(lambda: asked(ledger, "llm3"))

    cluster.kill("one")
    cluster.expire_leases()
    answer_from_now_on(ledger, "done")
    cluster.start("two")
    row = cluster.until_ended(run)

    assert row["status"] == "succeeded"
    assert row["outputs"] == {
        "llm1": "done",
        "template-transform2": "template-transform2",
        "llm3": "done",
    }
    assert (row["attempt"], row["kill_count"]) == (2, 1)
    assert asked(ledger, "llm1") == 1
    assert asked(ledger, "llm3") == 2
    cluster.check(run)
    retried = [data for _, name, data in cluster.events(run) if data.get("status") == "retrying"]
    assert [data["node"] for data in retried] == ["llm3"]


def test_killed_between_nodes_goes_on_where_it_was(
    cluster: Cluster,
    cast: Cast,
    workflow: Callable[..., Workflow],
    ledger: FakeOpenAI,
    held: Answer,
) -> None:
    answer_from_now_on(
        ledger, lambda request: held if request.last_message == "llm8" else Answer("done")
    )
    cluster.start("one")
    run = start_run(cast.alice.principal, workflow=workflow(*["llm"] * 8))
    cluster.until(lambda: len(cluster.steps(run)) >= 4)

    cluster.kill("one")  # somewhere before the end of the eighth
    answer_from_now_on(ledger, "done")
    finished = {node for node, _status, _attempt in cluster.steps(run)}
    cluster.expire_leases()
    cluster.start("two")
    row = cluster.until_ended(run)

    assert row["status"] == "succeeded"
    assert {f"llm{n}": asked(ledger, f"llm{n}") for n in range(1, 9) if f"llm{n}" in finished} == {
        node: 1 for node in finished if node.startswith("llm")
    }
    assert max(asked(ledger, f"llm{n}") for n in range(1, 9)) <= 2
    cluster.check(run)


def test_asked_to_stop_hands_its_run_over_within_seconds(
    cluster: Cluster,
    cast: Cast,
    workflow: Callable[..., Workflow],
    ledger: FakeOpenAI,
    held: Answer,
) -> None:
    """The answer never ends, so that the run ends only if the worker doesn't wait for it."""
    answer_from_now_on(ledger, held)
    cluster.start("one")
    run = start_run(cast.alice.principal, workflow=workflow("llm"))
    cluster.until(lambda: asked(ledger, "llm1"))

    answer_from_now_on(ledger, "done")
    cluster.signal(signal.SIGTERM, "one")
    cluster.start("two")
    row = cluster.until_ended(run)

    assert row["status"] == "succeeded"
    assert row["kill_count"] == 0
    cluster.check(run)


def test_frozen_worker_that_wakes_again_can_write_nothing(
    cluster: Cluster,
    cast: Cast,
    workflow: Callable[..., Workflow],
    ledger: FakeOpenAI,
    gate: Event,
) -> None:
    answer_from_now_on(ledger, Answer("from the frozen one", gate=gate))
    cluster.start("one")
    run = start_run(cast.alice.principal, workflow=workflow("llm", "llm"))
    cluster.until(lambda: asked(ledger, "llm1"))
    cluster.signal(signal.SIGSTOP, "one")
    cluster.expire_leases()
    answer_from_now_on(ledger, "from the other")
    cluster.start("two")
    row = cluster.until_ended(run)
    before = cluster.events(run)

    gate.set()
    cluster.signal(signal.SIGCONT, "one")
    cluster.until(lambda: cluster.count_said("journal_lost") or cluster.count_said("run_lost"))

    assert (
        cluster.row(run)["outputs"]
        == row["outputs"]
        == {"llm1": "from the other", "llm2": "from the other"}
    )
    assert cluster.events(run) == before
    cluster.check(run)


@pytest.mark.slow
def test_real_lease_runs_out_and_the_run_resumes_within_twenty_seconds(
    cluster: Cluster,
    cast: Cast,
    workflow: Callable[..., Workflow],
    ledger: FakeOpenAI,
    held: Answer,
) -> None:
    answer_from_now_on(ledger, held)
    cluster.start("one")
    cluster.start("two")
    run = start_run(cast.alice.principal, workflow=workflow("llm"))
    holder = cluster.until(lambda: cluster.row(run)["worker"])
    cluster.until(lambda: asked(ledger, "llm1"))

    pids = {str(process.pid): name for name, process in cluster.processes.items()}
    cluster.kill(pids[holder.split(":")[1]])
    left = read_lease(cluster, run)
    answer_from_now_on(ledger, "done")
    row = cluster.until_ended(run)

    assert (row["status"], row["attempt"]) == ("succeeded", 2)
    # The database counts the lease, and the other worker looks for its end every second.
    assert left <= LEASE
    assert LEASE + 2 * timedelta(seconds=RECOVERY_INTERVAL) < timedelta(seconds=20)
    cluster.check(run)


def read_lease(cluster: Cluster, run: Run) -> timedelta:
    """Return how long the lease of the run still is, by the clock of the database."""
    query = "select lease_until - clock_timestamp() from workflows_run where id = %s"
    row: Any = cluster.db.execute(query, (run.pk,)).fetchone()
    left: timedelta = row[0]
    return left
