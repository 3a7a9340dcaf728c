"""Why a line of an import can't be read, in a sentence of ours."""

import pytest

from config.strict import DEEPEST, LONGEST_NUMBER, NotStrictJson, loads
from memory.services.exchange_words import unread


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"hello", "It is not JSON from character 0 on."),
        (b'{"a": 1} {}', "It is not JSON from character 9 on."),
        (b'{"a": "\xff"}', "It is not UTF-8 from byte 7 on."),
        (b"[" * (DEEPEST + 1), f"It is nested more than {DEEPEST} deep."),
        (b'{"tea": 1, "tea": 2}', "The key tea appears twice in one object."),
        (b'{"a": NaN}', "NaN is not a JSON number."),
        (b"9" * (LONGEST_NUMBER + 1), f"A number has more than {LONGEST_NUMBER} digits."),
        (b"[1e999]", "The number 1e999… is out of range."),
        (b'["\\ud800"]', "A text has a NUL character or half a surrogate pair."),
    ],
)
def test_what_the_strict_reader_says_is_said_in_a_sentence_that_is_translated(
    line: bytes, why: str
):
    with pytest.raises(NotStrictJson) as refused:
        loads(line)

    assert unread(refused.value) == why


def test_what_has_no_sentence_is_told_as_it_is():
    assert unread(NotStrictJson("Something new")) == "Something new"
