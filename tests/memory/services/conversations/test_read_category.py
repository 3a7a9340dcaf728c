"""Looking at a history through few columns shows what whole entries would."""

from dataclasses import replace
from functools import partial

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memory.logic.conversations.conversation import ConversationMemory
from memory.services import CallOrigin, converse, load_history
from memory.services.conversations.conversation import read_category
from memory.services.gateway.gateway import open_namespace
from tests.memory.services.conftest import at_door, in_run
from tests.support.cast import Person


pytestmark = pytest.mark.django_db

RULES = {"strategy": "sliding_window", "max_turns": 2, "summary": "sentences"}
CALL = {"id": "c", "name": "weather", "arguments": "{}"}


@pytest.fixture
def talk(alice: Person) -> Person:
    for step, said in enumerate(("My cat is Miso.", "It rains.", "你好", "And now?")):
        origin = CallOrigin("r1", "history", f"s{step}")
        caller = replace(in_run(alice, conversation_id="c1"), origin=origin)
        answer = [
            {"role": "assistant", "content": "", "tool_calls": [CALL]},
            {"role": "tool", "content": "Sun", "tool_call_id": "c", "origin": "tool"},
        ]
        converse(
            caller,
            action="append",
            messages=[{"role": "user", "content": said}, *answer],
            rules=RULES,
        )
    return alice


def test_history_of_few_columns_is_that_of_whole_entries(talk: Person) -> None:
    with open_namespace(at_door(talk), "view", "memory.listed", namespace="conv:c1") as access:
        lean, whole = (
            ConversationMemory(
                "c1", access.open_store(), new_id=str, read_category=reader
            ).read_view()
            for reader in (partial(read_category, access), None)
        )

    assert lean == whole
    assert [one.content for one in lean.messages] == ["你好", "", "Sun", "And now?", "", "Sun"]
    assert lean.summary
    assert lean.folds


def test_history_is_looked_at_without_the_rest_of_its_entries(talk: Person) -> None:
    with CaptureQueriesContext(connection) as captured:
        load_history(at_door(talk), namespace="conv:c1")

    messages = [one["sql"] for one in captured if "'message'" in one["sql"]]
    assert len(messages) == 1
    assert "source_run" not in messages[0]
    assert '"text"' not in messages[0]
