"""A message that may enter no prompt is read by people, and by no window and no summary."""

import pytest

from memory import services
from memory.core.records import MemoryEntry, PromptUse
from memory.services import converse, load_history
from tests.memory.services.conftest import at_door
from tests.memory.services.conversations.test_conversation import LAST_TWO, PLACE, say, step, texts
from tests.support.cast import Person


pytestmark = pytest.mark.django_db

QUESTION = "Question 1 about the harbour at Lisbon."


def hide(person: Person, entry: MemoryEntry) -> None:
    services.edit(
        at_door(person), entry_id=entry.id, if_revision=entry.revision, prompt_use=PromptUse.NEVER
    )


def test_window_has_it_no_more_and_people_still_do(alice: Person) -> None:
    hide(alice, say(alice, 1).entries[0])

    read = converse(step(alice, "look"), action="read")
    appended = say(alice, 2)

    assert QUESTION not in texts(read)
    assert len(texts(read)) == 1
    assert QUESTION not in texts(appended)
    assert len(texts(appended)) == 3
    view = load_history(at_door(alice), namespace=PLACE)
    assert QUESTION in [message.content for message in view.messages]


def test_message_that_is_folded_is_in_no_summary(alice: Person) -> None:
    hide(alice, say(alice, 1).entries[0])
    say(alice, 2)

    result = say(alice, 3, **LAST_TWO)

    assert result.removed_count == 2
    assert [message["content"] for message in result.removed] == [
        "Answer 1: ships leave at 1 o'clock."
    ]
    assert "Lisbon" not in result.summary
    assert "ships leave" in result.summary
    (fold,) = load_history(at_door(alice), namespace=PLACE).folds
    assert QUESTION in [text.content for text in fold.texts]


def test_choice_stays_when_a_message_is_shortened(alice: Person) -> None:
    call = {"role": "assistant", "content": "", "tool_calls": [
        {"id": "t1", "type": "function", "function": {"name": "tides", "arguments": "{}"}}]}  # fmt: skip
    result = {"role": "tool", "tool_call_id": "t1", "content": "high water 04:12 " * 200}
    said = [{"role": "user", "content": "When?"}, call, result]
    written = converse(step(alice, "a"), action="append", messages=said)
    hide(alice, written.entries[2])

    end = [{"role": "assistant", "content": "At 04:12."}]
    rules = {"context_window": 300, "keep_recent": 1}
    talk = converse(step(alice, "b"), action="append", messages=end, rules=rules)

    assert [message["role"] for message in talk.messages] == ["user", "assistant", "assistant"]


def test_summary_that_may_enter_no_prompt_is_in_no_window(alice: Person) -> None:
    for number in (1, 2, 3):
        say(alice, number, **LAST_TWO)
    caller = step(alice, "look")
    (summary,) = services.recall(caller, scope="conversation", key="history:summary")
    assert any(m["role"] == "system" for m in converse(caller, action="read").messages)

    hide(alice, summary)

    assert not any(m["role"] == "system" for m in converse(caller, action="read").messages)
