"""Keys that nobody chose: readable, the same for the same words, and valid for every store."""

import pytest

from memory.core.identifiers import parse_id
from workflows.engine.nodes.memory.entry_keys import build_key, is_built_key


def test_key_tells_what_the_entry_is_about() -> None:
    assert build_key("I'm allergic to peanuts.").startswith("im-allergic-to-peanuts-")
    assert build_key("我对花生过敏。").startswith("我对花生过敏-")
    assert build_key({"city": "Lyon"}).startswith("city-lyon-")
    assert build_key("👍").startswith("memory-")


def test_same_words_have_the_same_key_and_others_do_not() -> None:
    assert build_key("I’m  Allergic to peanuts!") == build_key("I'm allergic to peanuts.")
    assert build_key("I live in Lyon") != build_key("I live in Rome")
    assert build_key("👍") != build_key("👎")


@pytest.mark.parametrize(
    "value", ["x" * 5_000, "我" * 5_000, "a:b%c " * 50, "", None, [1, 2], "👍"]
)
def test_key_of_any_value_is_valid(value: object) -> None:
    key = build_key(value)

    assert parse_id(key, "key") == key
    assert is_built_key(key, value)
    assert not is_built_key("diet", value)
