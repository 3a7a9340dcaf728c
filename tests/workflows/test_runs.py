"""Starting and stopping runs: what is checked, what is written, and for whom."""

from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest

from accounts.errors import NotAllowed, NotFound
from accounts.personas import make_persona_id
from accounts.principals import KeyPrincipal
from accounts.tenancy import tenant
from tests.factories.workflows import document, make_version, make_workflow
from tests.support.cast import Cast
from workflows.engine.errors import InputRejected
from workflows.engine.runtime.partial_runs import Extent, Part
from workflows.errors import InvalidValue, NotPublished
from workflows.models import Run, RunEvent, Workflow
from workflows.models.documents import from_json
from workflows.services.debugging.options import RunOptions
from workflows.services.debugging.start import start_debug_run
from workflows.services.editor.snapshots import take_snapshot
from workflows.services.runs.runs import cancel_run, start_run
from workflows.services.samples.samples import copy_sample


pytestmark = pytest.mark.django_db


def fresh(workflow: Workflow) -> Workflow:
    with tenant([workflow.team_id]):
        return Workflow.objects.unscoped().get(pk=workflow.pk)


def test_started_run_is_queued_for_its_starter(cast: Cast) -> None:
    workflow = make_workflow(cast.alice)

    run = start_run(cast.alice.principal, workflow=workflow, inputs={"text": "hi", "more": 1})

    assert run.status == "queued"
    assert run.inputs == {"text": "hi"}
    assert run.subject == run.system["user_id"] == str(cast.alice.user.pk)
    assert run.subject_user_id == run.started_by_id == cast.alice.user.pk
    assert run.system["workflow_run_id"] == str(run.pk)
    assert run.version is None


@pytest.mark.parametrize(
    ("query", "inputs", "summary"),
    [
        ("Order tea", {"text": "hi"}, "Order tea"),
        (None, {"count": 3, "text": "hi"}, "hi"),
        (" ", {"nothing": "", "lines": ["茶"], "count": 3}, 'lines: ["茶"]'),
        (None, {"count": 0}, "count: 0"),
    ],
)
def test_run_is_recognized_by_its_texts_else_by_its_first_input(
    query: str | None, inputs: dict[str, Any], summary: str
) -> None:
    assert Run(system={"query": query}, inputs=inputs).summary == summary


def test_run_without_inputs_is_recognized_by_its_time() -> None:
    run = Run(system={}, inputs={"text": ""}, created_at=datetime(2026, 3, 4, 20, 37, tzinfo=UTC))

    assert run.summary == "Run of Mar 4, 2026, 8:37 PM"


def test_published_version_is_what_runs_unless_the_draft_is_asked_for(cast: Cast) -> None:
    workflow = make_workflow(cast.alice)
    version = make_version(cast.alice, workflow)

    published = start_run(cast.alice.principal, workflow=fresh(workflow), inputs={"text": "x"})
    draft = start_run(
        cast.alice.principal, workflow=fresh(workflow), inputs={"text": "x"}, version="draft"
    )

    assert published.version_id == version.pk
    assert draft.version_id is None


def test_input_of_the_wrong_type_is_refused_by_name(cast: Cast) -> None:
    workflow = make_workflow(cast.alice, source=document("Echo", required=True))

    with pytest.raises(InputRejected) as refused:
        start_run(cast.alice.principal, workflow=workflow, inputs={})

    assert [problem.field for problem in refused.value.problems] == ["text"]
    with tenant([workflow.team_id]):
        assert not Run.objects.unscoped().exists()


def test_stranger_may_not_start_a_run(cast: Cast) -> None:
    workflow = make_workflow(cast.alice)

    with pytest.raises(NotAllowed):
        start_run(cast.carol.principal, workflow=workflow, inputs={"text": "x"})


def test_unpublished_workflow_has_no_published_version_to_run(cast: Cast) -> None:
    workflow = make_workflow(cast.alice)

    with pytest.raises(NotPublished):
        start_run(
            cast.alice.principal, workflow=workflow, inputs={"text": "x"}, version="published"
        )


def test_account_of_somebody_else_can_not_be_named_as_the_person(cast: Cast) -> None:
    workflow = make_workflow(cast.alice)

    with pytest.raises(NotFound):
        start_run(
            cast.bob.principal,
            workflow=workflow,
            inputs={"text": "x"},
            subject=str(cast.alice.user.pk),
        )


@pytest.mark.parametrize("subject", ["", " ", "a\x00", "x" * 81, ":" * 27])
def test_person_with_an_odd_id_is_refused(cast: Cast, subject: str) -> None:
    workflow = make_workflow(cast.alice)

    with pytest.raises(InvalidValue):
        start_run(cast.alice.principal, workflow=workflow, inputs={"text": "x"}, subject=subject)


def test_outside_person_of_a_member_is_played_by_that_member(cast: Cast) -> None:
    workflow = make_workflow(cast.alice)

    for subject in ("customer-7", str(uuid4())):
        run = start_run(
            cast.alice.principal, workflow=workflow, inputs={"text": "x"}, subject=subject
        )

        assert (run.subject, run.subject_user_id) == (f"{subject}@{cast.alice.user.pk}", None)
        assert run.person == subject


def test_outside_person_of_a_key_is_as_named_and_never_a_members_test_person(
    cast: Cast, api_key: Any
) -> None:
    workflow, key = make_workflow(cast.alice), KeyPrincipal(api_key(cast.alice).key)

    run = start_run(key, workflow=workflow, inputs={"text": "x"}, subject="customer-7")

    assert (run.subject, run.subject_user_id) == ("customer-7", None)
    for principal in (key, cast.bob.principal):
        with pytest.raises(NotFound):
            start_run(
                principal,
                workflow=workflow,
                inputs={"text": "x"},
                subject=make_persona_id("ben", cast.alice.user.pk),
            )


def test_queued_run_is_stopped_at_once_and_only_once(cast: Cast) -> None:
    run = start_run(cast.alice.principal, workflow=make_workflow(cast.alice), inputs={"text": "x"})

    stopped = cancel_run(cast.alice.principal, run)
    again = cancel_run(cast.alice.principal, run)

    assert (stopped.status, again.status) == ("stopped", "stopped")
    with tenant([run.team_id]):
        events = RunEvent.objects.unscoped().filter(run=run).values_list("seq", "name")
        assert list(events) == [(1, "run_finished")]


def test_wake_up_that_nobody_hears_loses_no_run(
    cast: Cast, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise ConnectionRefusedError

    monkeypatch.setattr("workflows.tasks.advance_run.apply_async", refuse)

    with django_capture_on_commit_callbacks(execute=True) as told:
        run = start_run(
            cast.alice.principal, workflow=make_workflow(cast.alice), inputs={"text": "x"}
        )

    assert told
    assert run.status == "queued"


def test_workflow_that_remembers_by_conversation_is_given_a_new_one(cast: Cast) -> None:
    workflow = copy_sample(cast.alice.principal, team_id=cast.team_a.pk, slug="exchange")

    first = start_run(cast.alice.principal, workflow=workflow, inputs={"query": "x"})
    second = start_run(cast.alice.principal, workflow=workflow, inputs={"query": "x"})

    keys = [run.conversation.key for run in (first, second) if run.conversation]
    assert [run.system["conversation_id"] for run in (first, second)] == keys
    assert len(set(keys)) == 2


def test_workflow_that_does_not_is_given_none(cast: Cast) -> None:
    run = start_run(cast.alice.principal, workflow=make_workflow(cast.alice), inputs={"text": "x"})

    assert run.conversation is None


def test_turn_counts_the_turns_before_it(cast: Cast) -> None:
    chat = copy_sample(cast.alice.principal, team_id=cast.team_a.pk, slug="chatbot")
    principal = cast.alice.principal

    stored = [start_run(principal, workflow=chat, query="Hi", conversation="c1") for _ in range(3)]
    node = from_json(take_snapshot(chat).document).nodes[0].id
    options = RunOptions(part=Part(Extent.UNTIL, (node,)))
    part = start_debug_run(principal, workflow=chat, options=options, query="Hi", conversation="c1")

    counts = [run.system["dialogue_count"] for run in (*stored, part)]
    assert counts == [0, 1, 2, 3]
