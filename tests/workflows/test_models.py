"""What the tables themselves promise, and who sees a person's runs and conversations."""

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from accounts.errors import NotAllowed, NotFound
from accounts.tenancy import tenant
from tests.factories.workflows import (
    make_conversation,
    make_message,
    make_run,
    make_workflow,
    within,
)
from workflows import permissions, selectors
from workflows.models import Conversation, Message, Run, Step, Variable
from workflows.services.chat import conversations


pytestmark = pytest.mark.django_db


def seen_by(person, run):
    """By the queryset and by the one-row question, which must agree."""
    with tenant([run.team_id]):
        listed = Run.objects.visible_to(person.principal).filter(pk=run.pk).exists()
        row = Run.objects.unscoped().select_related("api_key").get(pk=run.pk)
        assert permissions.may_view_run(person.principal, row) == listed
    return listed


def test_run_is_seen_by_who_started_it_and_by_nobody_else_on_the_team(cast):
    run = make_run(cast.bob, make_workflow(cast.alice))

    assert {name: seen_by(person, run) for name, person in cast.people.items()} == {
        "alice": False,
        "ada": False,
        "bob": True,
        "vic": False,
        "carol": False,
    }


def test_run_for_an_account_is_seen_by_that_account(cast):
    run = make_run(cast.bob, make_workflow(cast.alice), subject_user=cast.vic.user)

    assert [n for n, p in cast.people.items() if seen_by(p, run)] == ["bob", "vic"]


def test_run_started_with_a_key_is_seen_by_the_keys_maker_and_the_key(cast, api_key):
    key = api_key(cast.alice).key
    run = make_run(cast.bob, make_workflow(cast.alice), started_by=None, api_key=key)
    other = api_key(cast.alice).key

    from accounts.principals import KeyPrincipal

    assert [n for n, p in cast.people.items() if seen_by(p, run)] == ["alice"]
    with tenant([run.team_id]):
        assert Run.objects.visible_to(KeyPrincipal(key)).get() == run
        assert not Run.objects.visible_to(KeyPrincipal(other)).exists()


def test_run_of_a_team_mate_is_not_there(cast):
    run = make_run(cast.bob, make_workflow(cast.alice))

    with within(cast.alice):
        assert selectors.find_run(cast.bob.principal, run.pk) == run
        with pytest.raises(NotFound):
            selectors.find_run(cast.alice.principal, run.pk)
        with pytest.raises(NotAllowed):
            permissions.check_view_run(cast.alice.principal, run)


def test_conversation_of_somebody_else_is_not_opened_by_knowing_its_key(cast):
    workflow = make_workflow(cast.alice)
    talk = make_conversation(cast.bob, workflow, key="c1")

    assert make_conversation(cast.bob, workflow, key="c1") == talk
    for person in (cast.alice, cast.vic):
        with pytest.raises(NotFound):
            make_conversation(person, workflow, key="c1")
    with pytest.raises(NotFound):
        make_conversation(cast.bob, workflow, key="c1", subject="somebody-else")
    elsewhere = make_conversation(cast.bob, make_workflow(cast.alice), key="c1")
    assert elsewhere != talk  # the same person's, with messages of its own


def test_same_key_in_two_teams_is_two_conversations(cast):
    mine = make_conversation(cast.alice, make_workflow(cast.alice), key="c1")
    theirs = make_conversation(cast.carol, make_workflow(cast.carol), key="c1")

    assert mine.pk != theirs.pk


def test_turns_are_read_oldest_first_and_a_run_speaks_once(cast):
    workflow = make_workflow(cast.alice)
    talk = make_conversation(cast.alice, workflow)
    for text in ("one", "two", "three"):
        run = make_run(cast.alice, workflow, conversation=talk)
        conversations.add_message(talk, run=run, query=text, answer=text.upper())

    with tenant([talk.team_id]):
        with pytest.raises(IntegrityError, match="message_once_a_run"), transaction.atomic():
            conversations.add_message(talk, run=run, query="four", answer="FOUR")
        rows = Message.objects.unscoped().filter(conversation=talk).order_by("number")
        turns = list(rows.values_list("query", "answer"))
        talk.refresh_from_db()
    assert turns == [("one", "ONE"), ("two", "TWO"), ("three", "THREE")]
    assert (talk.dialogue_count, talk.name) == (3, "one")


def test_finished_step_is_kept_once_whatever_the_attempt(cast):
    run = make_run(cast.alice, make_workflow(cast.alice))
    step = {"team_id": run.team_id, "run": run, "node_key": "n", "kind": "llm"}

    with tenant([run.team_id]):
        Step.objects.create(**step, status="succeeded", rounds=[0, 1])
        Step.objects.create(**step, status="succeeded", rounds=[0, 2])
        with pytest.raises(IntegrityError, match="run_id_node_key_rounds"), transaction.atomic():
            Step.objects.create(**step, status="failed", rounds=[0, 1], attempt=2)


@pytest.mark.parametrize(
    ("fields", "constraint"),
    [
        ({"status": "resting"}, "run_status_known"),
        ({"status": "failed"}, "run_ended_has_a_time"),
    ],
)
def test_run_in_an_impossible_state_is_refused(fields, constraint, cast):
    workflow = make_workflow(cast.alice)

    with pytest.raises(IntegrityError, match=constraint):
        make_run(cast.alice, workflow, **fields)


def test_ended_run_has_its_time(cast):
    run = make_run(
        cast.alice, make_workflow(cast.alice), status="failed", finished_at=timezone.now()
    )

    assert run.has_ended


def test_secret_value_in_plain_is_refused_by_the_database(cast):
    workflow = make_workflow(cast.alice)

    with pytest.raises(IntegrityError, match="variable_secret_not_plain"), within(cast.alice):
        Variable.objects.create(
            team_id=workflow.team_id,
            workflow=workflow,
            area="environment",
            name="KEY",
            value_type="secret",
            value="plain",
        )


def test_json_of_a_run_keeps_the_order_of_keys_and_the_kind_of_numbers(cast):
    given = {"z": 1.0, "a": {"y": [1, "x"], "b": None}, "text": "null"}
    run = make_run(cast.alice, make_workflow(cast.alice), outputs=given, inputs={})

    with within(cast.alice):
        kept = Run.objects.unscoped().get(pk=run.pk).outputs

    assert (str(kept), kept) == (str(given), given)


def test_conversation_of_a_message_is_found_by_its_person(cast):
    message = make_message(cast.alice, make_workflow(cast.alice))

    with within(cast.alice):
        found = selectors.find_conversation(cast.alice.principal, message.conversation_id)
        assert isinstance(found, Conversation)
        with pytest.raises(NotFound):
            selectors.find_conversation(cast.bob.principal, message.conversation_id)
