"""Child runs through real workers: killed, stopped, nested, and many at once."""

from typing import Any

from accounts.tenancy import tenant
from tests.durability.children import Make, call, children, line, llm, only_child
from tests.durability.children import make_workflow as make_workflow
from tests.durability.conftest import ENDED, Cluster, answer_from_now_on, asked
from tests.fakes.openai_server import Answer, Failure, FakeOpenAI
from tests.support.cast import Cast
from workflows.models import Run
from workflows.services.runs.runs import cancel_run, start_run


def test_worker_with_one_slot_runs_three_levels(
    cluster: Cluster, cast: Cast, make: Make, ledger: FakeOpenAI
) -> None:
    answer_from_now_on(ledger, "done")
    make("inner", line(llm("deep")))
    make("middle", line(call("inner")))
    outer = make("outer", line(call("middle"), llm("after")))
    cluster.start("one", threads=1)

    run = start_run(cast.alice.principal, workflow=outer)
    row = cluster.until_ended(run)

    assert (row["status"], row["outputs"]) == ("succeeded", {"text": "done"})
    middle = only_child(cluster, run)
    inner = only_child(cluster, middle)
    rows = [cluster.row(each) for each in (run, middle, inner)]
    assert len({each["subject"] for each in rows}) == 1
    assert len({each["actor"] for each in rows}) == 1
    assert len({str(each["started_by_id"]) for each in rows}) == 1
    # The tokens of a child are its parent's, too.
    assert rows[2]["prompt_tokens"] == rows[1]["prompt_tokens"] > 0
    assert rows[0]["prompt_tokens"] == 2 * rows[1]["prompt_tokens"]
    applications = [each["system"]["app_id"] for each in rows]
    assert applications == [str(each["workflow_id"]) for each in rows]
    assert len(set(applications)) == 3
    for each in (run, middle, inner):
        cluster.check(each)
    assert [node for node, _status, _attempt in cluster.steps(inner)] == ["start", "n1", "end"]


def test_many_parents_on_one_slot_do_not_wait_for_each_other(
    cluster: Cluster, cast: Cast, make: Make, ledger: FakeOpenAI
) -> None:
    answer_from_now_on(ledger, "done")
    make("inner", line(llm("deep")))
    outer = make("outer", line(call("inner")))
    cluster.start("one", threads=1)

    runs = [start_run(cast.alice.principal, workflow=outer) for _ in range(6)]

    assert {cluster.until_ended(run)["status"] for run in runs} == {"succeeded"}
    assert asked(ledger, "deep") == 6


def test_killed_worker_loses_neither_parent_nor_child(
    cluster: Cluster, cast: Cast, make: Make, ledger: FakeOpenAI, held: Answer
) -> None:
    answer_from_now_on(ledger, lambda request: held if request.last_message == "slow" else "done")
    make("inner", line(llm("first"), llm("slow")))
    outer = make("outer", line(llm("before"), call("inner")))
    cluster.start("one", threads=1)
    run = start_run(cast.alice.principal, workflow=outer)
    cluster.until(lambda: asked(ledger, "slow"))

    cluster.kill("one")
    cluster.expire_leases()
    answer_from_now_on(ledger, "done")
    cluster.start("two", threads=1)
    row = cluster.until_ended(run)

    child = only_child(cluster, run)
    assert (row["status"], row["outputs"]) == ("succeeded", {"text": "done"})
    assert cluster.row(child)["status"] == "succeeded"
    assert (asked(ledger, "before"), asked(ledger, "first"), asked(ledger, "slow")) == (1, 1, 2)
    cluster.check(run)
    cluster.check(child)


def test_two_workers_share_a_family_after_a_kill(
    cluster: Cluster, cast: Cast, make: Make, ledger: FakeOpenAI, held: Answer
) -> None:
    """Whichever of the two gets the child, the other one's parent waits for it."""
    answer_from_now_on(ledger, lambda request: held if request.last_message == "slow" else "done")
    make("inner", line(llm("slow")))
    outer = make("outer", line(call("inner")))
    cluster.start("one")
    runs = [start_run(cast.alice.principal, workflow=outer) for _ in range(4)]
    cluster.until(lambda: asked(ledger, "slow") == 4)

    cluster.kill("one")
    cluster.expire_leases()
    answer_from_now_on(ledger, Answer("done", delay=0.3))
    cluster.start("two")
    cluster.start("three")
    rows = [cluster.until_ended(run) for run in runs]

    assert {row["status"] for row in rows} == {"succeeded"}
    assert asked(ledger, "slow") == 8
    for run in runs:
        cluster.check(only_child(cluster, run))


def test_child_that_ended_before_the_kill_is_not_run_again(
    cluster: Cluster, cast: Cast, make: Make, ledger: FakeOpenAI, held: Answer
) -> None:
    answer_from_now_on(ledger, lambda request: held if request.last_message == "slow" else "done")
    make("inner", line(llm("quick")))
    outer = make("outer", line(call("inner"), llm("slow")))
    cluster.start("one")
    run = start_run(cast.alice.principal, workflow=outer)
    cluster.until(lambda: asked(ledger, "slow"))
    # As if the worker had died between the child's end and the record of its parent's step.
    cluster.kill("one")
    cluster.db.execute(
        "delete from workflows_step where run_id = %s and node_key = 'n1'", (run.pk,)
    )
    cluster.expire_leases()
    answer_from_now_on(ledger, "done")
    cluster.start("two")

    assert cluster.until_ended(run)["status"] == "succeeded"
    assert asked(ledger, "quick") == 1
    assert len(children(cluster, run)) == 1


def test_stopping_the_parent_stops_all_below_it(
    cluster: Cluster, cast: Cast, make: Make, ledger: FakeOpenAI, held: Answer
) -> None:
    answer_from_now_on(ledger, held)
    make("inner", line(llm("slow")))
    make("middle", line(call("inner")))
    outer = make("outer", line(call("middle")))
    cluster.start("one")
    run = start_run(cast.alice.principal, workflow=outer)
    cluster.until(lambda: asked(ledger, "slow"))
    middle = only_child(cluster, run)
    inner = only_child(cluster, middle)

    cancel_run(cast.alice.principal, run)
    rows = [cluster.until_ended(each) for each in (run, middle, inner)]

    assert [row["status"] for row in rows] == ["stopped"] * 3
    for each in (run, middle, inner):
        cluster.check(each)


def test_stopped_child_fails_its_parent_with_the_reason(
    cluster: Cluster, cast: Cast, make: Make, ledger: FakeOpenAI, held: Answer
) -> None:
    answer_from_now_on(ledger, held)
    make("inner", line(llm("slow")))
    outer = make("outer", line(call("inner")))
    cluster.start("one")
    run = start_run(cast.alice.principal, workflow=outer)
    cluster.until(lambda: asked(ledger, "slow"))
    child = only_child(cluster, run)
    with tenant([cast.team_a.pk]):
        found = Run.objects.unscoped().get(pk=child.pk)

    cancel_run(cast.alice.principal, found)
    row = cluster.until_ended(run)

    assert (row["status"], row["error"]) == ("failed", "inner stopped: The run was stopped.")
    assert row["error_node"] == "n1"


def test_step_that_takes_too_long_stops_its_child(
    cluster: Cluster, cast: Cast, make: Make, ledger: FakeOpenAI, held: Answer
) -> None:
    answer_from_now_on(ledger, lambda request: held if request.last_message == "slow" else "done")
    make("inner", line(llm("slow")))
    # Long enough for the child to begin on a busy machine.
    late: dict[str, Any] = {"timeout_secs": 5, "error_strategy": {"type": "fail-branch"}}
    document = line(call("inner", **late), llm("after"))
    document["edges"][1]["sourceHandle"] = "fail-branch"
    cluster.start("one")

    run = start_run(cast.alice.principal, workflow=make("outer", document))
    row = cluster.until_ended(run)

    assert row["status"] == "partial-succeeded"
    assert cluster.until_ended(only_child(cluster, run))["status"] == "stopped"


def test_retry_runs_a_new_child_and_a_later_attempt_finds_both(
    cluster: Cluster, cast: Cast, make: Make, ledger: FakeOpenAI, held: Answer
) -> None:
    replies: list[Answer | Failure] = [held, Failure(400)]
    answer_from_now_on(ledger, lambda request: replies.pop() if replies else "done")
    make("inner", line(llm("once")))
    retries: dict[str, Any] = {"retry_config": {"max_retries": 2, "retry_interval": 1}}
    outer = make("outer", line(call("inner", **retries)))
    cluster.start("one")
    run = start_run(cast.alice.principal, workflow=outer)
    cluster.until(lambda: asked(ledger, "once") == 2)

    cluster.kill("one")
    cluster.expire_leases()
    cluster.start("two")
    row = cluster.until_ended(run)

    assert row["outputs"] == {"text": "done"}
    statuses = [cluster.row(child)["status"] for child in children(cluster, run)]
    assert statuses == ["failed", "succeeded"]


def test_families_leave_no_run_behind(
    cluster: Cluster, cast: Cast, make: Make, ledger: FakeOpenAI
) -> None:
    """Parents and children that end, fail and are stopped all at once, on two workers."""
    answer_from_now_on(
        ledger,
        lambda request: (
            Failure(400) if request.last_message == "bad" else Answer("done", delay=0.05)
        ),
    )
    make("good", line(llm("good")))
    make("bad", line(llm("bad")))
    good, bad = make("outer", line(call("good"))), make("other", line(call("bad")))
    cluster.start("one", threads=2)
    cluster.start("two", threads=2)

    runs = [
        start_run(cast.alice.principal, workflow=workflow)
        for _ in range(6)
        for workflow in (good, bad)
    ]
    for run in runs[::4]:
        cancel_run(cast.alice.principal, run)
    rows = [cluster.until_ended(run) for run in runs]

    assert {row["status"] for row in rows} <= {"succeeded", "failed", "stopped"}
    open_runs = "select id from workflows_run where not (status = any(%s))"
    cluster.until(lambda: not cluster.db.execute(open_runs, (list(ENDED),)).fetchall())
