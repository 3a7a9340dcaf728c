"""The memories under a turn of the chat pane: what was recalled, why, and where there is something to explain."""

from typing import Any

import pytest
from django.utils import timezone

from tests.factories.workflows import within
from tests.support.cast import Person
from tests.workflows.views.chat.test_messages import key_of, page_of, runs, say
from workflows.models import Run, RunEvent, Workflow


@pytest.mark.parametrize(
    ("events", "is_hidden"),
    [
        ([], True),
        ([("memory_recalled", {"scope": "user", "entries": []})], True),
        (
            [("memory_recalled", {"scope": "user", "entries": [{"id": "e1", "value": "tea"}]})],
            False,
        ),
        ([("memory_written", {"scope": "user", "entry": {"id": "e1", "value": "tea"}})], False),
    ],
)
def test_why_stands_where_there_is_something_to_explain(
    alice: Person, chat: Workflow, events: list[tuple[str, dict[str, Any]]], is_hidden: bool
):
    run = end_with(alice, chat, events)

    why = page_of(alice, chat, conversation=key_of(run)).split("data-why=")[1].split(">Why?")[0]

    assert why.rstrip().endswith(" hidden") == is_hidden


def test_memory_of_the_profile_says_so_below_the_answer_however_well_it_matched(
    alice: Person, chat: Workflow
):
    found = {"id": "e1", "value": "I am Lena.", "score": 0.22}
    events = [
        ("memory_recalled", {"scope": "user", "query": "q", "entries": [found]}),
        (
            "memory_recalled",
            {
                "scope": "user",
                "entries": [{**found, "score": None, "parts": {"always": 1.0}}],
            },
        ),
        ("memory_recalled", {"scope": "user", "query": "q", "entries": [found]}),
    ]
    run = end_with(alice, chat, events)

    page = page_of(alice, chat, conversation=key_of(run))

    note = page.split('class="chat-note"')[1].split("data-why=")[0]
    assert note.count("I am Lena.") == 1
    assert "Always: in the profile" in note
    assert "22%" not in note


def end_with(person: Person, chat: Workflow, events: list[tuple[str, dict[str, Any]]]) -> Run:
    """Return the ended run of a turn with these events."""
    say(person, chat)
    (run,) = runs(person)
    with within(person):
        Run.objects.unscoped().filter(pk=run.pk).update(
            status="succeeded", finished_at=timezone.now()
        )
        for number, (name, data) in enumerate(events):
            RunEvent.objects.create(
                team_id=run.team_id, run=run, seq=100 + number, name=name, data=data
            )
    return run
