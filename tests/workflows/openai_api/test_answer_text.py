"""The text of an answer, of which no piece is sent twice and nothing that was sent is contradicted."""

import pytest

from tests.support.cases import for_each
from workflows.execution.ports.client_calls import ClientCall
from workflows.openai_api.answer_text import AnswerText
from workflows.openai_api.answers import format_outputs


@for_each("pieces, final, sent",
    [
        # Offsets are UTF-16 units; a run that another worker goes on with begins again at 0.
        ([(0, "Hel"), (3, "lo.")], "Hello.", ["Hel", "lo.", ""]),
        ([], "Hello.", ["Hello."]),
        ([(0, "Hel"), (0, ""), (0, "He"), (2, "llo.")], "Hello.", ["Hel", "", "", "lo.", ""]),
        ([(0, "\N{GRINNING FACE}a"), (2, "b")], "\N{GRINNING FACE}b", ["\N{GRINNING FACE}a", "", "\n\n\N{GRINNING FACE}b"]),
        ([(0, "Hi"), (0, "Bye.")], "Bye.", ["Hi", "", "\n\nBye."]),
        ([(0, "<think>secret</thi"), (18, "nk>\n\nHello.")], "<think>secret</think>\n\nHello.", ["", "Hello.", ""]),
        # Text that a failed try left is in front of the answer; after a pause, only its end was sent.
        ([(0, "HelHello.")], "Hello.", ["HelHello.", ""]),
        ([(0, "the rest")], "Asked. the rest", ["the rest", ""]),
    ],
)  # fmt: skip
def test_pieces_of_a_run_become_pieces_that_continue(pieces, final, sent):
    text = AnswerText()

    assert [*(text.add(*piece) for piece in pieces), text.finish(final)] == sent


@pytest.mark.parametrize(
    ("outputs", "is_chat", "text"),
    [
        ({"answer": "Hello.", "files": []}, True, "Hello."),
        ({"text": "Hello."}, False, "Hello."),
        ({"items": [1, 2]}, False, "[1, 2]"),
        ({"a": "x", "b": 1}, False, '{"a": "x", "b": 1}'),
        ({}, False, ""),
    ],
)
def test_outputs_become_one_text(outputs, is_chat, text):
    assert format_outputs(outputs, is_chat=is_chat) == text


def test_messages_of_a_client_become_turns():
    messages = [
        {"role": role, "content": content}
        for role, content in (
            ("assistant", "Welcome."), ("user", "a"), ("user", "b"), ("assistant", "c"),
            ("assistant", "d"), ("user", "e"),
        )
    ]  # fmt: skip

    turns = ClientCall(messages).list_turns()

    assert turns == [("", "Welcome."), ("a\n\nb", "c\n\nd"), ("e", "")]
    assert ClientCall.from_json(ClientCall(messages).dump()).list_turns() == turns
    assert ClientCall().dump() is None
