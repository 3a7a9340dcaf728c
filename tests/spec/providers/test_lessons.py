"""What runs learned from their tasks takes no place in a recall for a chat, unless the query asks for its category."""

from typing import Any

import pytest

from memory.core.records import LESSON_CATEGORIES
from tests.spec.providers.conftest import Make, Memory
from tests.spec.providers.test_prompt_use import WAYS


def fill(memory: Memory, *, with_lessons: bool = True) -> None:
    memory.store("home", "I live in Lyon.", metadata={"about": "home"})
    for category in sorted(LESSON_CATEGORIES) if with_lessons else ():
        memory.store(
            category, f"I live in Lyon: {category}", metadata={"about": "home"}, category=category
        )
    memory.store("work", "I live in Lyon and work there.", metadata={"about": "home"})


def test_recall_without_lessons_leaves_them_out(memory: Memory) -> None:
    fill(memory)

    for name, way in WAYS.items():
        assert set(memory.keys(**way)) == {"home", "work", *LESSON_CATEGORIES}, name
        assert set(memory.keys(**way, without_lessons=True)) == {"home", "work"}, name


FOR_LESSONS: tuple[dict[str, Any], ...] = (
    {"category": "error"},
    {"category": {"$in": ["error"]}},
    {"$and": [{"about": "home"}, {"$or": [{"category": "error"}]}]},
    {"$not": {"category": {"$ne": "error"}}},
)


@pytest.mark.parametrize("text", [None, "live in Lyon"])
def test_filter_on_the_category_asks_for_lessons(memory: Memory, text: str | None) -> None:
    fill(memory)

    for asked in FOR_LESSONS:
        assert memory.keys(filter=asked, query_text=text, without_lessons=True) == ["error"], asked
    assert memory.keys(key="error", without_lessons=True) == ["error"]


def test_lessons_take_no_place_and_change_no_score(make: Make) -> None:
    memory, without = make(), make()
    fill(memory)
    fill(without, with_lessons=False)

    for query in ({"top_k": 1}, {"query_text": "live in Lyon"}, {"query_text": "l", "top_k": 1}):
        hits, expected = (each.recall(**query, without_lessons=True) for each in (memory, without))
        assert [(hit.key, hit.score, dict(hit.explain)) for hit in hits] == [
            (hit.key, hit.score, dict(hit.explain)) for hit in expected
        ]


def test_past_state_is_recalled_without_the_lessons_of_then(memory: Memory) -> None:
    fill(memory)
    then = memory.clock()
    memory.store("error", "I live in Lyon.", category="fact")

    assert set(memory.keys(as_of=then, without_lessons=True)) == {"home", "work"}
    assert set(memory.keys(without_lessons=True)) == {"home", "work", "error"}
