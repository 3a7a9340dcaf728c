"""What a person wants in no prompt stays, is found by people, and takes no place in a recall for a prompt."""

from typing import Any

import pytest

from memory.core.errors import InvalidInput
from memory.core.records import PromptUse
from tests.spec.providers.conftest import Make, Memory


# Each way of asking.
WAYS: dict[str, dict[str, Any]] = {
    "newest": {},
    "words": {"query_text": "Where do I live?"},
    "words of another language": {"query_text": "live Städte", "language": "german"},
    "literal piece": {"query_text": "I live in L"},
    "filter": {"filter": {"about": "home"}},
    "words and filter": {"query_text": "live", "filter": {"about": "home"}},
}


def remember(memory: Memory, key: str, text: str, use: PromptUse = PromptUse.AUTO) -> str:
    return memory.store(key, text, metadata={"about": "home"}, prompt_use=use).id


def test_recall_for_a_prompt_leaves_out_what_may_enter_none(memory: Memory) -> None:
    for use in PromptUse:
        remember(memory, str(use), f"I live in Lyon, {use}.", use)

    for name, way in WAYS.items():
        assert set(memory.keys(**way)) == {*map(str, PromptUse)}, name
        assert set(memory.keys(**way, for_prompt=True)) == {"auto", "always", "relevant"}, name
    assert memory.keys(key="never") == ["never"]
    assert memory.keys(key="never", for_prompt=True) == []
    assert memory.keys(key="never", filter={"about": "home"}, for_prompt=True) == []


def test_what_may_enter_no_prompt_takes_no_place_and_changes_no_score(make: Make) -> None:
    memory, without = make(), make()
    for each in (memory, without):
        remember(each, "work", "I work in Lyon.")
        remember(each, "home", "I live in Lyon now.")
    for number in range(5):
        remember(memory, f"secret{number}", f"I live in Lyon {number}.", PromptUse.NEVER)

    for query in ({"top_k": 1}, {"query_text": "live in Lyon"}, {"query_text": "l", "top_k": 1}):
        hits, expected = (each.recall(**query, for_prompt=True) for each in (memory, without))
        assert [(hit.key, hit.score, dict(hit.explain)) for hit in hits] == [
            (hit.key, hit.score, dict(hit.explain)) for hit in expected
        ]


def test_choice_is_one_of_the_entrys_fields_and_may_be_filtered_by(memory: Memory) -> None:
    stored = remember(memory, "a", "tea", PromptUse.ALWAYS)
    remember(memory, "b", "tea")

    (entry,) = memory.recall(filter={"prompt_use": "always"})
    before = memory.clock()
    remember(memory, "a", "tea", PromptUse.NEVER)

    assert (entry.id, entry.prompt_use) == (stored, PromptUse.ALWAYS)
    assert memory.keys(query_text="tea", filter={"prompt_use": "auto"}) == ["b"]
    uses = [revision.prompt_use for revision in memory.history("a")]
    assert uses in ([PromptUse.ALWAYS, PromptUse.NEVER], [PromptUse.NEVER])
    assert "a" in memory.keys(as_of=before, for_prompt=True)
    assert memory.keys(for_prompt=True) == ["b"]


def test_choice_that_is_none_is_refused(memory: Memory) -> None:
    with pytest.raises(InvalidInput, match=r"prompt_use: .*always"):
        memory.store("k", "v", prompt_use="sometimes")

    assert memory.recall() == []
