"""What memory-retrieval puts into a prompt: its query, its order, its exact Markdown."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.core.records import MemoryEntry, Tier
from tests.memory.logic.support import NAMESPACE, START, quick
from workflows.engine.nodes.memory.history_context import (
    CHINESE,
    ENGLISH,
    Record,
    choose_query,
    choose_wording,
    merge_hits,
    render_markdown,
)


def working(number: int, value: Any = None) -> MemoryEntry:
    return MemoryEntry(
        f"w{number:02}",
        NAMESPACE,
        f"w{number:02}",
        value=f"working {number}" if value is None else value,
        tier=Tier.WORKING,
        updated_at=START + timedelta(minutes=number),
    )


def verified(number: int, score: float, value: Any = None) -> MemoryEntry:
    return MemoryEntry(
        f"v{number:02}",
        NAMESPACE,
        f"v{number:02}",
        value=f"verified {number}" if value is None else value,
        score=score,
        updated_at=START + timedelta(minutes=number),
    )


QUERIES = [
    (("topic", "content", "document"), "topic"),
    (("", "content", "document"), "content"),
    ((None, "  ", " document "), "document"),
    ((None, None, None), ""),
    ((None, {"a": "b"}, None), '{"a":"b"}'),
]


@pytest.mark.parametrize(("given_", "expected"), QUERIES)
def test_query_is_the_first_that_says_something(given_: tuple[Any, ...], expected: str):
    """seed 2: topic, else content, else document."""
    assert choose_query(*given_) == expected


def test_ten_newest_working_entries_come_first_with_score_one():
    """seed 2, priority and path: the newest 10 of working memory, relevance fixed at 1.0."""
    merged = merge_hits([working(n) for n in range(11, -1, -1)], [verified(1, 0.5)])

    assert [one.hit.value for one in merged[:10]] == [f"working {n}" for n in range(11, 1, -1)]
    assert {one.score for one in merged[:10]} == {1.0}
    assert merged[10:] == [Record(verified(1, 0.5), 0.5)]


def test_long_term_hits_follow_by_similarity():
    merged = merge_hits([working(1)], [verified(1, 0.2), verified(2, 0.9), verified(3, 0.5)])

    assert [one.hit.id for one in merged] == ["w01", "v02", "v03", "v01"]


def test_long_term_hit_of_full_score_still_comes_after_working_memory():
    assert [one.hit.id for one in merge_hits([working(1)], [verified(1, 1.0)])] == ["w01", "v01"]


def test_same_text_is_said_once_with_its_better_score():
    merged = merge_hits([working(1, "Alice likes tea")], [verified(1, 0.7, "alice likes tea.")])

    assert [(one.hit.id, one.score) for one in merged] == [("w01", 1.0)]


def test_same_entry_is_said_once():
    promoted = working(1)

    assert len(merge_hits([promoted], [promoted])) == 1


@quick
@given(st.lists(st.integers(0, 40), unique=True), st.lists(st.floats(0, 1), max_size=8))
def test_merge_is_sorted_by_score_without_repeats(hot: list[int], scores: list[float]):
    merged = merge_hits([working(n) for n in hot], [verified(n, s) for n, s in enumerate(scores)])

    found = [one.score for one in merged]
    assert found == sorted(found, reverse=True)
    assert len({one.hit.id for one in merged}) == len(merged) == min(10, len(hot)) + len(scores)


def test_markdown_in_english():
    """spec §5: heading, and per entry "### Record N (relevance: 0.87)" with its content."""
    text = render_markdown(
        [Record(working(1), 0.0), Record(verified(2, 0.867, {"b": ["猫"]}), 0.867)]
    )

    assert text == (
        "## History\n\n"
        "### Record 1 (relevance: 0.00)\nworking 1\n\n"
        '### Record 2 (relevance: 0.87)\n{"b":["猫"]}'
    )


@pytest.mark.parametrize("language", ["zh", "zh-hans", "zh_Hans", "ZH-CN"])
def test_markdown_in_chinese(language: str):
    """seed 2, injection: "## 历史上下文" and "### 记录X (相关度: Y)"."""
    text = render_markdown(
        merge_hits([working(1, "喜欢茶")], [verified(1, 0.5, "住在里昂")]), choose_wording(language)
    )

    assert text == (
        "## 历史上下文\n\n### 记录1 (相关度: 1.00)\n喜欢茶\n\n### 记录2 (相关度: 0.50)\n住在里昂"
    )


def test_no_entries_make_no_heading():
    """seed 2, fault tolerance: an empty history_context is an empty string."""
    assert render_markdown([]) == ""


@pytest.mark.parametrize(
    ("language", "texts", "expected"),
    [
        ("", ("他喜欢什么", "tea"), CHINESE),
        ("", ("what does he like", "茶"), ENGLISH),
        ("", ("", "42", "他喜欢茶"), CHINESE),
        ("", (), ENGLISH),
        ("en", ("他喜欢什么",), ENGLISH),
        ("zh-hans", ("tea",), CHINESE),
    ],
)
def test_headings_are_in_the_language_named_else_in_that_of_what_is_asked(
    language: str, texts: tuple[str, ...], expected: object
):
    assert choose_wording(language, *texts) == expected
