"""Why a line of an import can't be read, in a sentence of ours."""

import pytest

from config.http.strict_json import MAX_DEPTH, MAX_DIGITS, NotStrictJson, loads
from memory.services.transfer.line_errors import describe_syntax_error
from tests.support.cases import for_each


@for_each(
    "line, why",
    [
        (b"hello", "Invalid JSON at character 0."),
        (b'{"a": 1} {}', "Invalid JSON at character 9."),
        (b'{"a": "\xff"}', "Invalid UTF-8 at byte 7."),
        (b"[" * (MAX_DEPTH + 1), f"Nested more than {MAX_DEPTH} levels deep."),
        (b'{"tea": 1, "tea": 2}', "Duplicate key tea in an object."),
        (b'{"a": NaN}', "NaN is not a valid JSON number."),
        (b"9" * (MAX_DIGITS + 1), f"A number has more than {MAX_DIGITS} digits."),
        (b"[1e999]", "Number out of range: 1e999…."),
        (b'["\\ud800"]', "The text contains a NUL character or an unpaired surrogate."),
    ],
)
def test_what_the_strict_reader_says_is_said_in_a_sentence_that_is_translated(
    line: bytes, why: str
):
    with pytest.raises(NotStrictJson) as refused:
        loads(line)

    assert describe_syntax_error(refused.value) == why


def test_what_has_no_sentence_is_told_as_it_is():
    assert describe_syntax_error(NotStrictJson("Something new")) == "Something new"
