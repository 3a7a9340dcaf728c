"""A worker that dies around each commit of a run, or loses the reply to it: nothing is lost or done twice."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.durability.conftest import ENDED, Cluster, answer_from_now_on, asked
from tests.durability.faults.conftest import (
    TWELVE_CALLS,
    TWELVE_OUTPUTS,
    Import,
    start_with_fault,
    twelve_nodes,
)
from tests.fakes.openai_server import FakeOpenAI
from tests.support.cast import Cast
from workflows.models import Run
from workflows.services.runs.runs import start_run


AT_ONCE = 2  # model calls that are under way together, in the two branches


def run_with_fault(
    cluster: Cluster, run: Run, ledger: FakeOpenAI, *, at: int, when: str, marker: Path
) -> bool:
    """Execute the run with a fault at this commit. Return False if it had fewer commits."""
    start_with_fault(cluster, "faulty", at=at, when=when, marker=str(marker))
    faulty = cluster.processes["faulty"]
    cluster.until(lambda: faulty.poll() is not None or cluster.row(run)["status"] in ENDED)
    if faulty.poll() is not None:
        cluster.expire_leases()
        cluster.start("heir")
    row = cluster.until_ended(run)
    for name in ("faulty", "heir"):
        if name in cluster.processes:
            cluster.kill(name)

    assert (row["status"], row["error"], row["outputs"]) == ("succeeded", "", TWELVE_OUTPUTS)
    times = {name: asked(ledger, name) for name in TWELVE_CALLS}
    assert min(times.values()) == 1
    assert sum(times.values()) <= len(TWELVE_CALLS) + (AT_ONCE if when != "reply" else 0), times
    assert asked(ledger, "never") == 0
    check_rows(cluster, run)
    return marker.exists()


def check_rows(cluster: Cluster, run: Run) -> None:
    """One result for each node and round, and a sequence of events without gaps that ends once."""
    steps = cluster.db.execute(
        "select node_key, rounds::text from workflows_step where run_id = %s and status <> 'running'",
        (run.pk,),
    ).fetchall()
    assert set(Counter(steps).values()) == {1}
    events = cluster.events(run)
    assert [seq for seq, _name, _data in events] == list(range(1, len(events) + 1))
    assert [name for _seq, name, _data in events].count("run_finished") == 1
    row = cluster.row(run)
    assert (events[-1][1], row["last_seq"], row["lease_until"]) == (
        "run_finished",
        len(events),
        None,
    )


def run_points(
    cluster: Cluster,
    cast: Cast,
    make: Import,
    ledger: FakeOpenAI,
    folder: Path,
    when: str,
    points: Iterable[int],
) -> int:
    """Put a fault at these commits of one run each, up to the last there is; return how many of them there were."""
    answer_from_now_on(ledger, "done")
    workflow = make(twelve_nodes())
    count = 0
    for at in points:
        ledger.requests.clear()
        run = start_run(cast.alice.principal, workflow=workflow)
        marker = folder / f"{when}-{at}"
        if not run_with_fault(cluster, run, ledger, at=at, when=when, marker=marker):
            break
        count += 1
    return count


@pytest.mark.parametrize(("when", "points"), [("before", (4,)), ("after", (1, 4)), ("reply", (4,))])
def test_fault_at_some_commits_loses_and_repeats_nothing(
    cluster: Cluster,
    cast: Cast,
    import_workflow: Import,
    ledger: FakeOpenAI,
    tmp_path: Path,
    when: str,
    points: tuple[int, ...],
) -> None:
    """The first commit, and one while both branches are under way."""
    count = run_points(cluster, cast, import_workflow, ledger, tmp_path, when, points)

    assert count == len(points)


@pytest.mark.nightly
@pytest.mark.parametrize("when", ["before", "after", "reply"])
def test_fault_at_every_commit_loses_and_repeats_nothing(
    cluster: Cluster,
    cast: Cast,
    import_workflow: Import,
    ledger: FakeOpenAI,
    tmp_path: Path,
    when: str,
) -> None:
    count = run_points(cluster, cast, import_workflow, ledger, tmp_path, when, range(1, 100))

    assert 6 <= count < 99
