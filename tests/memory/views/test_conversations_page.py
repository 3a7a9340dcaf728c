"""What a conversation keeps: messages, pairs, the summary, and what was folded, word for word."""

import re
from dataclasses import replace
from typing import Any

import pytest

from accounts.tenancy import tenant
from memory.models import Namespace
from memory.services import CallOrigin, converse, remember
from tests.memory.services.conftest import in_run
from tests.support.cast import Person
from tests.support.markup import markup_of


pytestmark = pytest.mark.django_db

RULES = {"strategy": "sliding_window", "max_turns": 1, "summary": "sentences"}


def say(person: Person, step: str, *messages: dict[str, object]) -> None:
    caller = replace(in_run(person, conversation_id="c1"), origin=CallOrigin("r1", "history", step))
    converse(caller, action="append", messages=list(messages), rules=RULES)


def page_of(person: Person) -> str:
    with tenant([person.team.id]):
        row = Namespace.objects.unscoped().get(text="conv:c1")
    answer = person.client.get(f"/memory/namespaces/{row.pk}/conversation/")
    assert answer.status_code == 200
    return markup_of(answer)


def test_folded_messages_stand_beside_what_is_kept_and_pairs_together(alice: Person) -> None:
    say(alice, "s1", {"role": "user", "content": "My cat is called Miso."})
    call = {"id": "c", "name": "weather", "arguments": '{"in": "Bern"}'}
    say(
        alice,
        "s2",
        {"role": "user", "content": "What is the weather?"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "content": "Rain", "tool_call_id": "c"},
    )

    page = page_of(alice)

    kept, folded = page.split('id="folded-title"')
    assert "What is the weather?" in kept
    pair = re.search(r"data-pair.*?</li>", kept)
    assert pair is not None
    assert "weather</b>" in pair[0]
    assert "Rain" in pair[0]
    assert "Summary of older messages" in kept
    assert "Older than the kept turns" in folded
    assert "My cat is called Miso." in folded


def test_conversation_without_a_history_says_what_keeps_one(alice: Person) -> None:
    remember(in_run(alice, conversation_id="c1"), scope="conversation", key="k", value="v")

    page = page_of(alice)

    assert "No history yet" in page
    assert "/api/v1/memory/conversation?namespace=conv:c1" in page


def test_history_is_those_who_take_part_in_it_alone(alice: Person, bob: Person) -> None:
    say(alice, "s1", {"role": "user", "content": "Between us."})
    with tenant([alice.team.id]):
        row = Namespace.objects.unscoped().get(text="conv:c1")

    assert bob.client.get(f"/memory/namespaces/{row.pk}/conversation/").status_code == 404


def test_long_conversation_is_shown_page_by_page_from_its_end(
    alice: Person, monkeypatch: pytest.MonkeyPatch, django_assert_num_queries: Any
) -> None:
    monkeypatch.setattr("memory.views.conversations.GROUPS_PER_PAGE", 3)
    caller = replace(in_run(alice, conversation_id="c1"), origin=CallOrigin("r1", "history", "s"))
    converse(
        caller,
        action="append",
        messages=[{"role": "user", "content": f"said {n}"} for n in range(7)],
    )
    with tenant([alice.team.id]):
        address = f"/memory/namespaces/{Namespace.objects.unscoped().get(text='conv:c1').pk}/conversation/"
    client = alice.client
    client.get(address)

    with django_assert_num_queries(QUERIES):
        last = markup_of(client.get(address))
    before = markup_of(client.get(f"{address}?offset=6"))

    assert re.findall(r"said \d", last) == ["said 4", "said 5", "said 6"]
    assert re.findall(r"said \d", before) == ["said 0"]
    assert ("?offset=3" in last, "messages: 7" in last) == (True, True)


QUERIES = 22
