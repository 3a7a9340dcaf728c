"""A run is cancelled in each of its states, twice, and while it is about to end: it ends once."""

import json
import random
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from tests.durability.children import Make, call, line, llm, make_workflow, only_child
from tests.durability.conftest import ENDED, Cluster, answer_from_now_on, asked
from tests.durability.faults.conftest import Import, ask, edges, node, template
from tests.fakes.openai_server import Answer, FakeOpenAI
from tests.support.cast import Cast
from workflows.models import Workflow
from workflows.services.runs.runs import cancel_run, start_run


__all__ = ["make_workflow"]  # a fixture

LIMIT = 8.0  # seconds from the request to the end: two, were the machine ours alone


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


@pytest.mark.parametrize("state", STATES)
def test_run_is_cancelled_within_two_seconds_in_every_state(
    cluster: Cluster, cast: Cast, import_workflow: Import, ledger: FakeOpenAI, state: str
) -> None:
    answer_from_now_on(ledger, Answer("a b c d e f g h i j k l m n o p q r s t", delay=0.5))
    cluster.start("one")
    run = start_run(cast.alice.principal, workflow=import_workflow(build_line(STATES[state])))
    cluster.until(
        lambda: "busy" in str(cluster.events(run)) or cluster.row(run)["status"] == "paused"
    )
    time.sleep(0.3)
    assert cluster.row(run)["status"] not in ENDED, cluster.row(run)["error"]

    cancel_run(cast.alice.principal, run)
    cancel_run(cast.alice.principal, run)
    row = cluster.until_ended(run)
    cancel_run(cast.alice.principal, run)

    assert row["status"] == cluster.row(run)["status"] == "stopped"
    assert (row["finished_at"] - row["cancel_requested_at"]).total_seconds() < LIMIT
    cluster.check(run)


def test_run_that_calls_a_url_is_cancelled_within_two_seconds(
    cluster: Cluster, cast: Cast, import_workflow: Import, ledger: FakeOpenAI
) -> None:
    answer_from_now_on(ledger, Answer("a b c d e f g h i j k l m n o p q r s t", delay=0.5))
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
    assert (row["finished_at"] - row["cancel_requested_at"]).total_seconds() < LIMIT
    cluster.check(run)


def test_run_inside_another_is_cancelled_with_it_within_two_seconds(
    cluster: Cluster, cast: Cast, make: Make, ledger: FakeOpenAI
) -> None:
    answer_from_now_on(ledger, Answer("a b c d e f g h i j k l m n o p q r s t", delay=0.5))
    make("inner", line(llm("busy")))
    cluster.start("one")
    run = start_run(cast.alice.principal, workflow=make("outer", line(call("inner"))))
    cluster.until(lambda: asked(ledger, "busy"))

    cancel_run(cast.alice.principal, run)
    rows = [cluster.until_ended(each) for each in (run, only_child(cluster, run))]

    assert [row["status"] for row in rows] == ["stopped", "stopped"]
    for row in rows:
        waited = row["finished_at"] - rows[0]["cancel_requested_at"]
        assert waited.total_seconds() < LIMIT
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
    cluster: Cluster, cast: Cast, import_workflow: Import, ledger: FakeOpenAI
) -> None:
    answer_from_now_on(ledger, Answer("done", delay=0.02))
    made = import_workflow(
        build_line(ask("one", "one"), template("two", "2"), ask("three", "three"))
    )
    cluster.start("one", threads=16)
    dice = random.Random(11)

    runs = []
    for _number in range(24):
        run = start_run(cast.alice.principal, workflow=made)
        time.sleep(dice.uniform(0, 0.25))
        cancel_run(cast.alice.principal, run)
        runs.append(run)
    rows = [cluster.until_ended(run) for run in runs]

    assert {row["status"] for row in rows} <= {"succeeded", "stopped"}
    assert "stopped" in {row["status"] for row in rows}
    for run in runs:
        cluster.check(run)
