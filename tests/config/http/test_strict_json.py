import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.http.strict_json import MAX_DEPTH, MAX_DIGITS, NotStrictJson, loads
from tests.support.cases import for_each


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"))
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner),
    max_leaves=20,
)


@given(JSON)
def test_loads_what_json_can_say_is_read_as_it_is(value):
    assert loads(json.dumps(value).encode()) == value


@for_each(
    "body, why",
    [
        (b'{"a": 1, "a": 2}', "appears twice"),
        (b'{"outer": {"a": 1, "b": 2, "a": 3}}', "appears twice"),
        (b'{"a": 1, "\\u0061": 2}', "appears twice"),
        (b'{"a": NaN}', "NaN"),
        (b"[Infinity]", "Infinity"),
        (b"[-Infinity]", "Infinity"),
        (b"[1e999]", "out of range"),
        (b'{"a": "x\\u0000y"}', "NUL"),
        (b'{"a\\u0000": 1}', "NUL"),
        (b'["\\ud800"]', "surrogate"),
        (b'"\xff"', "Not UTF-8"),
        (b"{'a': 1}", "Not JSON"),
        (b'{"a": 1} {"b": 2}', "Not JSON"),
        (b'{"a": 1,}', "Not JSON"),
        (b"", "Not JSON"),
        (b"\xef\xbb\xbf{}", "Not JSON"),
        (b"9" * (MAX_DIGITS + 1), "digits"),
        (b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1), "deep"),
        (b"[" * 1_000_000, "deep"),
    ],
)
def test_loads_what_two_readers_could_understand_differently_is_refused(body: bytes, why: str):
    with pytest.raises(NotStrictJson, match=why):
        loads(body)


def test_loads_brackets_inside_text_are_not_depth():
    assert loads(json.dumps("[" * 1_000 + '\\"{' * 1_000)) == "[" * 1_000 + '\\"{' * 1_000


def test_loads_deepest_allowed_is_allowed():
    assert loads("[" * MAX_DEPTH + "]" * MAX_DEPTH)
