"""A run is cancelled in each of its states, twice, and while it is about to end: it ends once."""

import json
import random
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from itertools import pairwise
from typing import Any

import psutil
import pytest

from tests.durability.children import Make, call, line, llm, make_workflow, only_child
from tests.durability.conftest import ENDED, Cluster, answer_from_now_on, asked
from tests.durability.faults.conftest import Import, ask, edges, node, template
from tests.fakes.openai_server import Answer, FakeOpenAI
from tests.support.cast import Cast
from workflows.models import Run, Workflow
from workflows.services.runs.runs import cancel_run, start_run


__all__ = ["make_workflow"]  # a fixture

LIMIT = timedelta(seconds=20)  # from the request to the end: ten times what is promised


def build_line(*middle: dict[str, object]) -> dict[str, object]:
    names = ["start", *(str(each["id"]) for each in middle), "end"]
    return {
        "version": "0.1.0",
        "nodes": [node("start", "start", variables=[]), *middle, node("end", "end", outputs=[])],
        "edges": edges(*(f"{a} {b}" for a, b in pairwise(names))),
    }


ENDLESS: dict[str, Any] = {"code_language": "python3", "variables": [], "outputs": {"o": {"type": "number"}},
           "code": "def main():\n    n = 0\n    while True:\n        n += 1\n    return {'o': n}"}  # fmt: skip
STATES = {
    "calling a model": ask("busy", "busy"),
    "running code": node("busy", "code", **ENDLESS),
    "sleeping in the worker": node("busy", "delay", amount=5, unit="seconds"),
    "sleeping": node("busy", "delay", seconds=600),
    "waiting for a person": node("busy", "human-input", form_content="Yes?", inputs=[], user_actions=[
        {"id": "yes", "title": "Yes"}], timeout=1, timeout_unit="day"),
}  # fmt: skip


def has_begun(cluster: Cluster, run: Run, state: str) -> bool:
    """Return whether the run is in this state."""
    if cluster.row(run)["status"] == "paused":
        return True
    is_busy = "busy" in str(cluster.events(run))
    return is_busy and (state != "running code" or has_computing_process(cluster))


def has_computing_process(cluster: Cluster) -> bool:
    """Return whether a process below the worker has something to compute, as the endless code has."""
    worker = psutil.Process(cluster.processes["one"].pid)
    for process in worker.children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            if process.status() == psutil.STATUS_RUNNING:
                return True
    return False


@pytest.mark.timed
@pytest.mark.parametrize("state", STATES)
def test_run_is_cancelled_within_two_seconds_in_every_state(
    cluster: Cluster,
    cast: Cast,
    import_workflow: Import,
    ledger: FakeOpenAI,
    held: Answer,
    state: str,
) -> None:
    answer_from_now_on(ledger, held)
    cluster.start("one")
    run = start_run(cast.alice.principal, workflow=import_workflow(build_line(STATES[state])))
    cluster.until(lambda: has_begun(cluster, run, state))
    assert cluster.row(run)["status"] not in ENDED, cluster.row(run)["error"]

    cancel_run(cast.alice.principal, run)
    cancel_run(cast.alice.principal, run)
    row = cluster.until_ended(run)
    cancel_run(cast.alice.principal, run)

    assert row["status"] == cluster.row(run)["status"] == "stopped"
    assert row["finished_at"] - row["cancel_requested_at"] < LIMIT
    cluster.check(run)


@pytest.mark.timed
def test_run_that_calls_a_url_is_cancelled_within_two_seconds(
    cluster: Cluster, cast: Cast, import_workflow: Import, ledger: FakeOpenAI, held: Answer
) -> None:
    answer_from_now_on(ledger, held)
    question = {"stream": True, "model": "m", "messages": [{"role": "user", "content": "busy"}]}
    body = {"type": "json", "data": [{"type": "text", "value": json.dumps(question)}]}
    request = node("busy", "http-request", method="post", url=f"{ledger.base_url}/chat/completions",
                headers="content-type: application/json", body=body)  # fmt: skip
    cluster.start("one")
    run = start_run(cast.alice.principal, workflow=import_workflow(build_line(request)))
    cluster.until(lambda: asked(ledger, "busy"))

    cancel_run(cast.alice.principal, run)
    row = cluster.until_ended(run)

    assert row["status"] == "stopped"
    assert row["finished_at"] - row["cancel_requested_at"] < LIMIT
    cluster.check(run)


@pytest.mark.timed
def test_run_inside_another_is_cancelled_with_it_within_two_seconds(
    cluster: Cluster, cast: Cast, make: Make, ledger: FakeOpenAI, held: Answer
) -> None:
    answer_from_now_on(ledger, held)
    make("inner", line(llm("busy")))
    cluster.start("one")
    run = start_run(cast.alice.principal, workflow=make("outer", line(call("inner"))))
    cluster.until(lambda: asked(ledger, "busy"))

    cancel_run(cast.alice.principal, run)
    rows = [cluster.until_ended(each) for each in (run, only_child(cluster, run))]

    assert [row["status"] for row in rows] == ["stopped", "stopped"]
    for row in rows:
        assert row["finished_at"] - rows[0]["cancel_requested_at"] < LIMIT
    cluster.check(run)


def test_queued_run_is_cancelled_at_once_and_never_starts(
    cluster: Cluster, cast: Cast, workflow: Callable[..., Workflow], ledger: FakeOpenAI
) -> None:
    made = workflow("llm")
    run = start_run(cast.alice.principal, workflow=made)

    cancel_run(cast.alice.principal, run)
    cluster.start("one")
    later = cluster.until_ended(start_run(cast.alice.principal, workflow=made))

    assert (cluster.row(run)["status"], later["status"]) == ("stopped", "succeeded")
    assert asked(ledger, "llm1") == 1
    cluster.check(run)


def test_cancelling_runs_that_are_about_to_end_leaves_one_end_each(
    cluster: Cluster,
    cast: Cast,
    import_workflow: Import,
    ledger: FakeOpenAI,
    held: Answer,
) -> None:
    """Each is cancelled when it has some of its steps; the first one in a call that never ends."""
    answer_from_now_on(ledger, held)
    middle = ask("one", "one"), template("two", "2"), ask("three", "three")
    made = import_workflow(build_line(*middle))
    cluster.start("one", threads=16)
    dice = random.Random(11)
    first = start_run(cast.alice.principal, workflow=made)
    cluster.until(lambda: asked(ledger, "one"))
    cancel_run(cast.alice.principal, first)

    answer_from_now_on(ledger, Answer("done"))
    runs = [first]
    for _number in range(23):
        run = start_run(cast.alice.principal, workflow=made)
        count = dice.randint(0, len(middle) + 2)
        cluster.until(lambda run=run, count=count: len(cluster.steps(run)) >= count)
        cancel_run(cast.alice.principal, run)
        runs.append(run)
    rows = [cluster.until_ended(run) for run in runs]

    assert {row["status"] for row in rows} <= {"succeeded", "stopped"}
    assert rows[0]["status"] == "stopped"
    for run in runs:
        cluster.check(run)
