"""Workflows that run other workflows, through real workers: killed, stopped, nested, refused."""

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import pytest

from accounts.tenancy import tenant
from tests.durability.conftest import ENDED, Cluster, answer_from_now_on, asked
from tests.fakes.openai_server import Answer, Failure, FakeOpenAI
from tests.support.cast import Cast, Person
from workflows.models import Run, Workflow
from workflows.services.catalog import importing
from workflows.services.credentials import create_provider
from workflows.services.debugging.options import RunOptions
from workflows.services.debugging.start import start_debug_run
from workflows.services.publishing import publish
from workflows.services.runs import waits
from workflows.services.runs.runs import cancel_run, start_run


SLOW = Answer("one two three four five six seven eight", delay=0.4)
Make = Callable[..., Workflow]


def llm(name: str) -> dict[str, Any]:
    return {
        "type": "llm",
        "title": name,
        "model": {"provider": "ledger", "name": "small", "mode": "chat"},
        "prompt_template": [{"role": "user", "text": name}],
    }


def call(slug: str, output: str = "text", **settings: Any) -> dict[str, Any]:
    return {
        "type": "sub-workflow",
        "title": slug,
        "workflow": slug,
        "outputs": [{"variable": output, "value_type": "string"}],
        **settings,
    }


def line(
    *nodes: dict[str, Any], result: tuple[str, str] | None = None, **fields: str
) -> dict[str, Any]:
    """start → the nodes n1, n2, … → the end; its output ``text`` is that of the last node."""
    ids = [f"n{number}" for number in range(1, len(nodes) + 1)]
    variables = [{"variable": name, "type": type_} for name, type_ in fields.items()]
    outputs = [{"variable": "text", "value_selector": list(result or (ids[-1], "text"))}]
    path = ["start", *ids, "end"]
    return {
        "version": "0.1.0",
        "nodes": [
            {"id": "start", "data": {"type": "start", "title": "Start", "variables": variables}},
            *({"id": id_, "data": data} for id_, data in zip(ids, nodes, strict=True)),
            {"id": "end", "data": {"type": "end", "title": "End", "outputs": outputs}},
        ],
        "edges": [
            {"id": f"{source}-{target}", "source": source, "target": target}
            for source, target in pairwise(path)
        ],
    }


@pytest.fixture
def make(cluster: Cluster, cast: Cast, ledger: FakeOpenAI) -> Make:
    """A published workflow of alice's team; its models are the ledger's."""
    create_provider(
        cast.alice.principal,
        team_id=cast.team_a.pk,
        name="ledger",
        base_url=ledger.base_url,
        secret="sk-ledger-0123456789",
    )

    def build(name: str, document: dict[str, Any], *, person: Person = cast.alice) -> Workflow:
        team_id = next(iter(person.principal.team_ids))
        workflow = importing.import_document(
            person.principal, team_id=team_id, source=document, name=name
        ).workflow
        publish(person.principal, workflow=workflow)
        return workflow

    return build


def children(cluster: Cluster, parent: Any) -> list[Run]:
    rows = cluster.db.execute(
        "select id, team_id from workflows_run where parent_id = %s order by id",
        (getattr(parent, "pk", parent),),
    ).fetchall()
    return [Run(id=row[0], team_id=row[1]) for row in rows]


def only_child(cluster: Cluster, parent: Run) -> Run:
    (child,) = cluster.until(lambda: children(cluster, parent))
    return child


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
    cluster: Cluster, cast: Cast, make: Make, ledger: FakeOpenAI
) -> None:
    answer_from_now_on(ledger, lambda request: SLOW if request.last_message == "slow" else "done")
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
    cluster: Cluster, cast: Cast, make: Make, ledger: FakeOpenAI
) -> None:
    """Whichever of the two gets the child, the other one's parent waits for it."""
    answer_from_now_on(ledger, lambda request: SLOW if request.last_message == "slow" else "done")
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
    cluster: Cluster, cast: Cast, make: Make, ledger: FakeOpenAI
) -> None:
    answer_from_now_on(ledger, lambda request: SLOW if request.last_message == "slow" else "done")
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
    cluster: Cluster, cast: Cast, make: Make, ledger: FakeOpenAI
) -> None:
    answer_from_now_on(ledger, Answer("a b c d e f g h i j k l m n o p", delay=0.5))
    make("inner", line(llm("slow")))
    make("middle", line(call("inner")))
    outer = make("outer", line(call("middle")))
    cluster.start("one")
    run = start_run(cast.alice.principal, workflow=outer)
    cluster.until(lambda: asked(ledger, "slow"))
    middle = only_child(cluster, run)
    inner = only_child(cluster, middle)

    cancel_run(cast.alice.principal, run)
    rows = [cluster.until_ended(each, seconds=10) for each in (run, middle, inner)]

    assert [row["status"] for row in rows] == ["stopped"] * 3
    for each in (run, middle, inner):
        cluster.check(each)


def test_stopped_child_fails_its_parent_with_the_reason(
    cluster: Cluster, cast: Cast, make: Make, ledger: FakeOpenAI
) -> None:
    answer_from_now_on(ledger, Answer("a b c d e f g h i j k l m n o p", delay=0.5))
    make("inner", line(llm("slow")))
    outer = make("outer", line(call("inner")))
    cluster.start("one")
    run = start_run(cast.alice.principal, workflow=outer)
    cluster.until(lambda: asked(ledger, "slow"))
    child = only_child(cluster, run)
    with tenant([cast.team_a.pk]):
        found = Run.objects.unscoped().get(pk=child.pk)

    cancel_run(cast.alice.principal, found)
    row = cluster.until_ended(run, seconds=10)

    assert (row["status"], row["error"]) == ("failed", "inner stopped: The run was stopped.")
    assert row["error_node"] == "n1"


def test_step_that_takes_too_long_stops_its_child(
    cluster: Cluster, cast: Cast, make: Make, ledger: FakeOpenAI
) -> None:
    slow = Answer("a b c d e f g h i j k l m n o p", delay=0.5)
    answer_from_now_on(ledger, lambda request: slow if request.last_message == "slow" else "done")
    make("inner", line(llm("slow")))
    late = {"timeout_secs": 1, "error_strategy": {"type": "fail-branch"}}
    document = line(call("inner", **late), llm("after"))
    document["edges"][1]["sourceHandle"] = "fail-branch"
    cluster.start("one")

    run = start_run(cast.alice.principal, workflow=make("outer", document))
    row = cluster.until_ended(run)

    assert row["status"] == "partial-succeeded"
    assert cluster.until_ended(only_child(cluster, run), seconds=5)["status"] == "stopped"


def test_retry_runs_a_new_child_and_a_later_attempt_finds_both(
    cluster: Cluster, cast: Cast, make: Make, ledger: FakeOpenAI
) -> None:
    replies = iter([Failure(400), SLOW])
    answer_from_now_on(ledger, lambda request: next(replies, "done"))
    make("inner", line(llm("once")))
    retries = {"retry_config": {"max_retries": 2, "retry_interval": 1}}
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


def ask() -> dict[str, Any]:
    return {
        "type": "human-input",
        "title": "Ask",
        "form_content": "Your name? {{#$output.name#}}",
        "inputs": [{"type": "text-input", "output_variable_name": "name"}],
        "user_actions": [{"id": "source", "title": "Send"}],
    }


def answer(cast: Cast, run: Run, **values: str) -> None:
    with tenant([run.team_id]):
        found = Run.objects.unscoped().get(pk=run.pk)
        wait = waits.list_waits(cast.alice.principal, found).get(answered_at=None)
        waits.answer_wait(
            cast.alice.principal, found, wait_id=wait.pk, values=values, action="source"
        )


def until_paused(cluster: Cluster, *runs: Run) -> None:
    for run in runs:
        cluster.until(lambda run=run: cluster.row(run)["status"] == "paused")


def test_question_of_a_grandchild_frees_the_worker_and_its_answer_continues_all(
    cluster: Cluster, cast: Cast, make: Make, ledger: FakeOpenAI
) -> None:
    answer_from_now_on(ledger, "done")
    make("inner", line(ask(), ask(), result=("n2", "name")))
    make("middle", line(call("inner"), result=("n1", "text")))
    outer = make("outer", line(llm("before"), call("middle"), result=("n2", "text")))
    cluster.start("one", threads=1)
    run = start_run(cast.alice.principal, workflow=outer)
    middle = only_child(cluster, run)
    inner = only_child(cluster, middle)
    until_paused(cluster, inner, middle, run)
    assert [cluster.row(each)["pause"]["reason"] for each in (run, middle, inner)] == [
        "child",
        "child",
        "input",
    ]

    answer(cast, inner, name="Mia")
    cluster.until(lambda: cluster.row(inner)["attempt"] == 2)
    until_paused(cluster, inner)
    assert cluster.row(run)["status"] == "paused"  # only the child's end wakes it
    cluster.kill("one")
    cluster.start("two", threads=1)
    answer(cast, inner, name="Lee")
    row = cluster.until_ended(run, seconds=20)

    assert (row["status"], row["outputs"]) == ("succeeded", {"text": "Lee"})
    assert asked(ledger, "before") == 1
    assert row["attempt"] == 2
    for each in (run, middle, inner):
        cluster.check(each)


@pytest.mark.parametrize("stopped", ["parent", "child"])
def test_stop_of_one_that_waits_ends_the_other(
    cluster: Cluster, cast: Cast, make: Make, stopped: str
) -> None:
    make("inner", line(ask(), result=("n1", "name")))
    outer = make("outer", line(call("inner")))
    cluster.start("one")
    run = start_run(cast.alice.principal, workflow=outer)
    child = only_child(cluster, run)
    until_paused(cluster, child, run)
    with tenant([run.team_id]):
        found = Run.objects.unscoped().get(pk=(run if stopped == "parent" else child).pk)

    cancel_run(cast.alice.principal, found)
    rows = [cluster.until_ended(each, seconds=10) for each in (run, child)]

    ends = {"parent": ["stopped", "stopped"], "child": ["failed", "stopped"]}
    assert [row["status"] for row in rows] == ends[stopped]
    cluster.check(run)
    cluster.check(child)


def beside(document: dict[str, Any], node: dict[str, Any]) -> dict[str, Any]:
    """The document with a second branch."""
    document["nodes"].append({"id": "beside", "data": node})
    document["edges"] += [
        {"id": "in", "source": "start", "target": "beside"},
        {"id": "out", "source": "beside", "target": "end"},
    ]
    return document


def test_child_that_ends_before_its_parent_pauses_is_not_lost(
    cluster: Cluster, cast: Cast, make: Make, ledger: FakeOpenAI
) -> None:
    answer_from_now_on(ledger, SLOW)  # keeps the parent running after its step began to wait
    make("inner", line(ask(), result=("n1", "name")))
    outer = make("outer", beside(line(call("inner")), llm("slow")))
    cluster.start("one")
    run = start_run(cast.alice.principal, workflow=outer)
    child = only_child(cluster, run)
    until_paused(cluster, child)

    answer(cast, child, name="Mia")
    cluster.until_ended(child)
    assert cluster.row(run)["status"] == "running"

    assert cluster.until_ended(run)["outputs"] == {"text": "Mia"}
    assert asked(ledger, "slow") == 1


def test_parent_waits_for_a_time_and_for_its_child(
    cluster: Cluster, cast: Cast, make: Make
) -> None:
    make("inner", line(ask(), result=("n1", "name")))
    delay = {"type": "delay", "title": "Delay", "amount": 1, "unit": "seconds"}
    outer = make("outer", beside(line(call("inner")), delay))
    cluster.start("one")
    run = start_run(cast.alice.principal, workflow=outer)
    child = only_child(cluster, run)
    cluster.until(lambda: "beside" in [node for node, _status, _attempt in cluster.steps(run)])
    until_paused(cluster, run)

    answer(cast, child, name="Mia")

    assert cluster.until_ended(run)["outputs"] == {"text": "Mia"}


def _error(cluster: Cluster, person: Person, workflow: Workflow) -> str:
    row = cluster.until_ended(start_run(person.principal, workflow=workflow))
    assert row["status"] == "failed"
    return str(row["error"])


def test_what_may_not_run_is_refused_without_saying_too_much(
    cluster: Cluster, cast: Cast, make: Make, ledger: FakeOpenAI
) -> None:
    carols = make("carols", line(llm("private")), person=cast.carol)
    draft = importing.import_document(
        cast.alice.principal, team_id=cast.team_a.pk, source=line(llm("x")), name="draft"
    ).workflow
    make("a", line(call("b")))
    b = make("b", line(call("a")))
    cluster.start("one")

    errors: Mapping[str, str] = {
        name: _error(cluster, cast.alice, make(f"to {name}", line(call(reference))))
        for name, reference in {
            "nothing": "nothing",
            "no id": "0190c5a0-0000-7000-8000-000000000000",
            "another team's": str(carols.pk),
            "another team's slug": carols.slug,
            "a draft": draft.slug,
        }.items()
    }

    assert errors == {
        "nothing": "There is no workflow 'nothing' that this run may use",
        "no id": "There is no workflow '0190c5a0-0000-7000-8000-000000000000' that this run may use",
        "another team's": f"There is no workflow '{carols.pk}' that this run may use",
        "another team's slug": "There is no workflow 'carols' that this run may use",
        "a draft": "The workflow draft is not published",
    }
    assert _error(cluster, cast.alice, b).endswith("b can't run inside itself: b → a → b")
    assert not asked(ledger, "private")


def test_child_keeps_the_version_with_which_it_began(
    cluster: Cluster, cast: Cast, make: Make, ledger: FakeOpenAI
) -> None:
    answer_from_now_on(ledger, lambda request: SLOW if request.last_message == "old" else "done")
    inner = make("inner", line(llm("old")))
    outer = make("outer", line(call("inner")))
    cluster.start("one")
    run = start_run(cast.alice.principal, workflow=outer)
    cluster.until(lambda: asked(ledger, "old"))

    cluster.kill("one")
    with tenant([cast.team_a.pk]):  # no version is published any more
        Workflow.objects.unscoped().filter(pk=inner.pk).update(published_version=None)
    cluster.expire_leases()
    answer_from_now_on(ledger, "done")
    cluster.start("two")

    assert cluster.until_ended(run)["status"] == "succeeded"
    assert asked(ledger, "old") == 2


STORE = {
    "type": "memory-store",
    "title": "Remember",
    "scope": "user",
    "key": "drink",
    "value_selector": ["start", "drink"],
}
RECALL = {
    "type": "memory-recall",
    "title": "Recall",
    "scope": "user",
    "query_selector": ["start", "drink"],
}


def test_child_reads_the_memory_of_its_person_alone(
    cluster: Cluster, cast: Cast, make: Make
) -> None:
    bob = cast.people["bob"]
    store = make("store", line(STORE, result=("n1", "key"), drink="string"))
    make("recall", line(RECALL, result=("n1", "results"), drink="string"))
    # The caller may name anybody in the inputs: they do not decide whose memory is read.
    inputs = {"drink": "{{#start.drink#}}", "user_id": "x"}
    recall = make(
        "outer", line(call("recall", inputs={"drink": "{{#start.drink#}}"}), drink="string")
    )
    rude = make("rude", line(call("recall", inputs=inputs), drink="string"))
    cluster.start("one")
    for person, drink in ((cast.alice, "green tea"), (bob, "black coffee")):
        cluster.until_ended(start_run(person.principal, workflow=store, inputs={"drink": drink}))

    def recalled(person: Person, subject: str | None = None) -> list[Any]:
        run = start_run(
            person.principal, workflow=recall, inputs={"drink": "tea coffee"}, subject=subject
        )
        row = cluster.until_ended(run)
        assert row["status"] == "succeeded", row["error"]
        return [entry["value"] for entry in row["outputs"]["text"]]

    assert recalled(cast.alice) == ["green tea"]
    assert recalled(bob) == ["black coffee"]
    assert recalled(cast.alice, "mia") == []  # a test user of alice's
    row = cluster.until_ended(
        start_run(cast.alice.principal, workflow=rude, inputs={"drink": "tea"})
    )
    assert row["error"] == "user_id is not an input of recall"


def test_dry_run_of_the_parent_is_one_of_the_child(
    cluster: Cluster, cast: Cast, make: Make
) -> None:
    make("store", line(STORE, result=("n1", "key"), drink="string"))
    make("recall", line(RECALL, result=("n1", "results"), drink="string"))
    outer = make("outer", line(call("store", inputs={"drink": "tea"})))
    recall = make("reader", line(call("recall", inputs={"drink": "tea"})))
    cluster.start("one")

    run = start_debug_run(
        cast.alice.principal, workflow=outer, options=RunOptions(memory="sandbox")
    )
    assert cluster.until_ended(run)["status"] == "succeeded"

    row = cluster.until_ended(start_run(cast.alice.principal, workflow=recall))
    assert (row["status"], row["outputs"]) == ("succeeded", {"text": []})


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
    cluster.until(
        lambda: cluster.db.execute(
            "select count(*) = 0 from workflows_run where not (status = any(%s))", (list(ENDED),)
        ).fetchone()[0]
    )
