"""What a run that has ended was about, as who curates it is told."""

from typing import Any

import pytest
from django.utils import timezone

from accounts.tenancy import tenant
from memory.models import Curation
from memory.public import LearningRule, WorkStatus, set_learning_rule
from tests.factories.workflows import make_run, make_workflow
from tests.memory.services.conftest import at_door
from tests.support.cast import Person
from workflows.execution.claims import Claim
from workflows.execution.curation.run_summary import _plan, summarize_run
from workflows.models import Run, Step


pytestmark = pytest.mark.django_db


def gathered(
    person: Person,
    *steps: dict[str, Any],
    learning: LearningRule,
    source: Any = None,
    **run: Any,
) -> Any:
    workflow = make_workflow(person, name="Sorter", source=source)
    made = make_run(person, workflow, finished_at=timezone.now(), **{"status": "succeeded", **run})
    with tenant([person.team.pk]):
        for number, step in enumerate(steps):
            given = {"team": person.team, "run": made, "node_key": f"n{number}"}
            Step.objects.create(**given, **step)
    return summarize_run(person.team.pk, str(made.pk), learning)


EXTRACTIVE = LearningRule(True)


def test_task_is_what_was_given_and_each_message_of_a_list_is_read_alone(alice: Person) -> None:
    found = gathered(
        alice,
        learning=EXTRACTIVE,
        inputs={"title": "Sort", "size": 3},
        outputs={"said": ["Hello", {"role": "user"}, " "], "text": "Done", "n": None},
    )

    assert (found.work.task, found.work.status, found.work.language) == (
        "Sort",
        WorkStatus.SUCCEEDED,
        "en",
    )
    assert found.work.outputs == ("Hello", '{"role": "user"}', "Done")
    assert (found.ask, found.work.source.rule) == (None, "curation")


def test_failure_brings_its_errors_each_once_and_chinese_is_heard(alice: Person) -> None:
    found = gathered(
        alice,
        {"kind": "code", "status": "failed", "error": "no disk"},
        learning=EXTRACTIVE,
        status="failed",
        error="no disk",
        system={"query": "排序这个列表"},
    )

    assert (found.work.task, found.work.language) == ("排序这个列表", "zh")
    assert (found.work.status, found.work.errors) == (WorkStatus.FAILED, ("no disk",))


def test_what_memory_said_in_it_is_known_already(alice: Person) -> None:
    found = gathered(
        alice,
        {"kind": "memory-recall", "status": "succeeded", "outputs": {"results": ["A cat"]}},
        {"kind": "template-transform", "status": "succeeded", "outputs": {"output": "new"}},
        learning=EXTRACTIVE,
    )

    assert "A cat" in found.work.recalled_texts
    assert "new" not in found.work.recalled_texts


def build_called(root: str) -> dict[str, Any]:
    """A workflow that does something else than what it was called with, whatever starts it."""
    nodes = [
        {"id": "n0", "data": {"type": root, "title": "Start", "variables": []}},
        {"id": "n1", "data": {"type": "end", "title": "End", "outputs": []}},
    ]
    graph = {"nodes": nodes, "edges": [{"id": "e", "source": "n0", "target": "n1"}]}
    return {"kind": "app", "version": "0.6.0", "app": {"name": "Called", "mode": "workflow"},
            "workflow": {"graph": graph}}  # fmt: skip


@pytest.mark.parametrize(("root", "expected"), [("trigger-webhook", True), ("start", False)])
def test_task_that_a_webhook_brought_is_from_outside(
    alice: Person, root: str, expected: bool
) -> None:
    steps = [{"kind": root, "status": "succeeded"}, {"kind": "end", "status": "succeeded"}]
    inputs = {"title": "Invoices go to Max"}

    told = gathered(alice, *steps, learning=EXTRACTIVE, source=build_called(root), inputs=inputs)

    assert (told.work.task, told.work.is_untrusted) == ("Invoices go to Max", expected)


def test_model_is_asked_only_where_one_is_named_and_the_run_was_not_offline(alice: Person) -> None:
    named = LearningRule(True, provider="ledger", model="small")

    assert gathered(alice, learning=named).model == "ledger/small"
    assert gathered(alice, learning=named).ask is not None
    assert gathered(alice, learning=named, offline=True).ask is None


@pytest.mark.parametrize(
    ("step", "is_planned"),
    [
        ({"kind": "llm", "status": "failed", "error_type": "ModelNeeded"}, False),
        ({"kind": "llm", "status": "exception", "error_type": "ModelNeeded"}, False),
        ({"kind": "llm", "status": "failed", "error_type": "ModelFailed"}, True),
    ],
)
def test_run_that_lacked_a_model_teaches_nothing(
    alice: Person, step: dict[str, Any], is_planned: bool
) -> None:
    workflow = make_workflow(alice)
    set_learning_rule(at_door(alice), app_id=str(workflow.pk), learning=EXTRACTIVE)
    run = make_run(alice, workflow, status="failed", finished_at=timezone.now())
    with tenant([alice.team.pk]):
        Step.objects.create(team=alice.team, run=run, node_key="llm", **step)
        row = Run.objects.unscoped().filter(pk=run.pk).values().get()

    _plan(Claim(run.pk, alice.team.pk, 1, 0, 0.0, row))

    with tenant([alice.team.pk]):
        assert Curation.objects.unscoped().exists() is is_planned
