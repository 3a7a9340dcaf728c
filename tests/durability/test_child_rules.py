"""What child runs wait for, may run, remember and refuse, through real workers."""

from collections.abc import Mapping
from threading import Event
from typing import Any

import pytest

from accounts.tenancy import tenant
from tests.durability.children import (
    RECALL,
    STORE,
    Make,
    answer,
    ask,
    beside,
    call,
    get_error,
    line,
    llm,
    only_child,
    until_paused,
)
from tests.durability.children import make_workflow as make_workflow
from tests.durability.conftest import Cluster, answer_from_now_on, asked
from tests.fakes.openai_server import Answer, FakeOpenAI
from tests.support.cast import Cast, Person
from workflows.models import Run, Workflow
from workflows.services import publishing
from workflows.services.catalog import importing
from workflows.services.debugging.options import RunOptions
from workflows.services.debugging.start import start_debug_run
from workflows.services.runs.runs import cancel_run, start_run


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
    row = cluster.until_ended(run)

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
    rows = [cluster.until_ended(each) for each in (run, child)]

    ends = {"parent": ["stopped", "stopped"], "child": ["failed", "stopped"]}
    assert [row["status"] for row in rows] == ends[stopped]
    cluster.check(run)
    cluster.check(child)


def test_child_that_ends_before_its_parent_pauses_is_not_lost(
    cluster: Cluster, cast: Cast, make: Make, ledger: FakeOpenAI, held: Answer, gate: Event
) -> None:
    answer_from_now_on(ledger, held)  # keeps the parent running after its step began to wait
    make("inner", line(ask(), result=("n1", "name")))
    outer = make("outer", beside(line(call("inner")), llm("slow")))
    cluster.start("one")
    run = start_run(cast.alice.principal, workflow=outer)
    child = only_child(cluster, run)
    until_paused(cluster, child)

    answer(cast, child, name="Mia")
    cluster.until_ended(child)
    assert cluster.row(run)["status"] == "running"

    gate.set()
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


@pytest.fixture
def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Publishing checks no calls, as if the called workflows had changed since: the run has to check them, too."""
    monkeypatch.setattr(publishing, "find_call_problems", lambda team_id, document: [])


@pytest.mark.usefixtures("unchecked")
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
        name: get_error(cluster, cast.alice, make(f"to {name}", line(call(reference))))
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
    assert get_error(cluster, cast.alice, b).endswith("b can't run inside itself: b → a → b")
    assert not asked(ledger, "private")


def test_child_keeps_the_version_with_which_it_began(
    cluster: Cluster, cast: Cast, make: Make, ledger: FakeOpenAI, held: Answer
) -> None:
    answer_from_now_on(ledger, lambda request: held if request.last_message == "old" else "done")
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


@pytest.mark.usefixtures("unchecked")
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
