"""A program changes its key: its conversations, runs, files and memory stay its own, and nobody else's."""

from typing import Any

import pytest

from accounts.principals import KeyPrincipal
from accounts.services import issue_key, rotate_key
from accounts.tenancy import tenant
from memory import services as memory_services
from memory.core.errors import MemoryFault
from memory.services.gateway.caller import MemoryCaller
from tests.factories.workflows import make_version, make_workflow
from tests.support.cast import Person
from workflows import selectors
from workflows.models import Conversation, Feedback, Run
from workflows.permissions import is_own
from workflows.services.chat.conversations import open_conversation
from workflows.services.chat.reading import load_own_ratings
from workflows.services.idempotency import ClaimedKey, StoredAnswer, claim_key, store_answer
from workflows.services.public_pages.settings import change_page
from workflows.services.public_pages.visitors import build_principal, create_visitor
from workflows.services.runs.feedback import (
    give_feedback,
    load_own_feedback,
    take_feedback_back,
)
from workflows.services.runs.runs import resolve_subject, start_run


pytestmark = pytest.mark.django_db

SCOPES = ["memory:read", "memory:write", "runs:read", "runs:write", "workflows:read"]


def issue(person: Person, name: str) -> Any:
    return issue_key(principal=person.principal, team=person.team, name=name, scopes=SCOPES)[0]


def test_new_key_opens_what_the_old_one_started_and_a_strangers_does_not(alice: Person) -> None:
    workflow = make_workflow(alice)
    old, other = issue(alice, "web site"), issue(alice, "other")
    before = KeyPrincipal(old)
    conversation = open_conversation(before, workflow=workflow, subject="mia", key="c1")
    run = start_run(before, workflow=workflow, subject="mia")

    new = KeyPrincipal(rotate_key(alice.principal, key_id=old.pk)[0])
    stranger = KeyPrincipal(other)

    assert open_conversation(new, workflow=workflow, subject="mia", key="c1") == conversation
    assert resolve_subject(new, None) == resolve_subject(before, None)
    with tenant([alice.team.id]):
        assert selectors.find_run(new, run.pk) == run
        assert list(Conversation.objects.visible_to(new)) == [conversation]
        assert not Run.objects.visible_to(stranger).exists()
        assert not Conversation.objects.visible_to(stranger).exists()
        row = Run.objects.unscoped().select_related("api_key").get(pk=run.pk)
        assert [is_own(each, row) for each in (before, new, stranger)] == [True, True, False]


def test_new_key_reads_what_the_old_one_remembered_and_a_strangers_does_not(alice: Person) -> None:
    old, other = issue(alice, "web site"), issue(alice, "other")
    before = MemoryCaller(KeyPrincipal(old), alice.team.id)
    place = f"user:{resolve_subject(before.principal, None).id}"
    memory_services.remember(before, namespace=place, key="k", value="kept")

    new = MemoryCaller(KeyPrincipal(rotate_key(alice.principal, key_id=old.pk)[0]), alice.team.id)
    stranger = MemoryCaller(KeyPrincipal(other), alice.team.id)

    assert [entry.value for entry in memory_services.recall(new, namespace=place)] == ["kept"]
    with pytest.raises(MemoryFault):
        memory_services.recall(stranger, namespace=place)


def test_feedback_stays_the_programs_own(alice: Person) -> None:
    old, other = issue(alice, "web site"), issue(alice, "other")
    run = start_run(KeyPrincipal(old), workflow=make_workflow(alice), subject="mia")
    new = KeyPrincipal(rotate_key(alice.principal, key_id=old.pk)[0])

    with tenant([alice.team.id]):
        rows = Feedback.objects.unscoped().filter(run=run)
        give_feedback(KeyPrincipal(old), run, rating=1, text="Good")
        before = [row.text for row in load_own_feedback(new, [run]).values()]
        foreign = dict(load_own_feedback(KeyPrincipal(other), [run]))
        give_feedback(new, run, rating=-1)
        ratings = load_own_ratings(new, [run.pk])
        after = [(row.rating, row.text) for row in rows.all()]
        take_feedback_back(new, run)

        assert (before, foreign) == (["Good"], {})
        assert (after, ratings) == ([(-1, "Good")], {run.pk: -1})
        assert not rows.exists()


def test_request_that_is_repeated_with_the_new_key_gets_the_first_answer(alice: Person) -> None:
    old, other = issue(alice, "web site"), issue(alice, "other")

    def claim(key: Any) -> ClaimedKey | StoredAnswer:
        return claim_key(KeyPrincipal(key), alice.team.id, key="order-4711", digest="d")

    claimed = claim(old)
    assert isinstance(claimed, ClaimedKey)
    store_answer(claimed, status=202, body="the first")

    new = rotate_key(alice.principal, key_id=old.pk)[0]

    assert claim(new) == StoredAnswer(202, "the first")
    assert isinstance(claim(other), ClaimedKey)


def test_visitors_feedback_is_not_the_programs(alice: Person) -> None:
    """The program and the page share a service account, so the program reads the visitor's run."""
    workflow = make_workflow(alice)
    make_version(alice, workflow)
    page = change_page(alice.principal, workflow=workflow, access="link")
    visitor = build_principal(page, create_visitor())
    run = start_run(visitor, workflow=workflow)
    program = KeyPrincipal(
        issue_key(
            principal=alice.principal,
            team=alice.team,
            name="app",
            scopes=[scope for scope in SCOPES if not scope.startswith("memory")],
            workflow_id=workflow.pk,
        )[0]
    )

    with tenant([alice.team.id]):
        give_feedback(visitor, run, rating=1, text="Good")
        read = dict(load_own_feedback(program, [run]))
        give_feedback(program, run, rating=-1)
        take_feedback_back(program, run)
        (row,) = Feedback.objects.unscoped().filter(run=run)

    assert program.key.service_account_id == page.api_key.service_account_id
    assert read == {}
    assert (row.rating, row.text, row.actor) == (1, "Good", visitor.actor)
