"""The editor shows a person's last run again: its states, its log, and the memories under its turn."""

import re
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from accounts.personas import make_persona_id
from tests.factories.workflows import make_conversation, make_run, make_workflow, within
from tests.support.cast import Person
from tests.workflows.views.conftest import text_of
from workflows.models import RunEvent, Workflow


pytestmark = pytest.mark.django_db

ENDED: dict[str, Any] = {"status": "succeeded", "finished_at": timezone.now()}
ENTRY = {"id": "01890000-0000-7000-8000-000000000001", "key": "home", "value": "lives in Lyon"}


def page_of(who: Person, workflow: Workflow, **query: str) -> str:
    return text_of(who.client.get(reverse("workflows:detail", args=[workflow.pk]), query))


def find_shown_run(html: str) -> str:
    found = re.search(r'<script id="last-run" type="application/json">{"id": "([0-9a-f-]+)"', html)
    return found[1] if found else ""


def make_turn(person: Person, workflow: Workflow, subject: str = "", **fields: Any) -> Any:
    """An ended turn of a chat, which recalled one memory and wrote it again."""
    subject = subject or str(person.user.pk)
    run = make_run(
        person,
        workflow,
        conversation=make_conversation(person, workflow, subject=subject),
        subject=subject,
        **ENDED,
        outputs={"answer": f"answer to {subject}"},
        **fields,
    )
    events = {
        "memory_recalled": {"scope": "user", "entries": [{**ENTRY, "score": 0.5}]},
        "memory_written": {"scope": "user", "entry": ENTRY},
    }
    with within(person):
        for seq, (name, data) in enumerate(events.items(), start=1):
            RunEvent.objects.create(team_id=run.team_id, run=run, seq=seq, name=name, data=data)
    return run


def test_page_without_runs_shows_none(alice: Person, chat: Workflow):
    assert find_shown_run(page_of(alice, chat)) == ""


def test_page_of_a_chat_opens_the_last_conversation_with_its_memories(
    alice: Person, chat: Workflow
):
    make_turn(alice, chat)
    run = make_turn(alice, chat)

    html = page_of(alice, chat)

    assert find_shown_run(html) == str(run.pk)
    assert f'name="conversation" value="{run.conversation.key}"' in html
    assert html.count("lives in Lyon") == 2  # recalled and remembered
    assert "50% match" in html


def test_new_conversation_is_empty_and_shows_no_states_of_the_last_run(
    alice: Person, chat: Workflow
):
    make_turn(alice, chat)

    html = page_of(alice, chat, new="")

    assert find_shown_run(html) == ""
    assert 'name="conversation" value=""' in html


def test_each_person_sees_the_run_for_that_person(alice: Person, bob: Person, chat: Workflow):
    ben = make_persona_id("ben", alice.user.pk)
    own, for_ben = make_turn(alice, chat), make_turn(alice, chat, ben)

    assert find_shown_run(page_of(alice, chat)) == str(own.pk)
    assert find_shown_run(page_of(alice, chat, person="ben")) == str(for_ben.pk)
    assert find_shown_run(page_of(bob, chat)) == ""


def test_page_of_a_workflow_shows_the_outputs_of_the_last_run(alice: Person):
    workflow = make_workflow(alice)
    run = make_run(alice, workflow, inputs={"text": "x"}, **ENDED)

    html = page_of(alice, workflow)

    assert "Last run" in html
    assert reverse("workflows:run_events", args=[run.pk]) in html
    assert 'data-status="succeeded"' in html
