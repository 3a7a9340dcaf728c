"""The retriever of seed 4: keywords, overlap, threshold, order, and BM25 where it is asked for."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.logic.entries.text_similarity import (
    build_grams,
    compute_dice_coefficient,
    extract_keywords,
)
from memory.logic.knowledge.knowledge_base import KnowledgeStore
from memory.logic.knowledge.pages import KnowledgePage
from memory.logic.knowledge.retriever import (
    MemoryRetriever,
    RetrieverConfig,
    combine_scores,
    compute_overlap,
    rank_pages,
)
from tests.memory.logic.support import STORES, Ticking, quick
from tests.support.cases import for_each


def page(id_: str, title: str, **fields: Any) -> KnowledgePage:
    return KnowledgePage(id_, title, **fields)


KEYWORDS = [
    ("How do I deploy the API?", ("deploy", "api")),
    ("a b c", ()),
    ("the of and", ()),
    ("deploy, deploy; DEPLOYS", ("deploy",)),
    ("绿茶怎么泡", ("绿茶", "茶怎", "么泡")),
    ("茶", ("茶",)),
    ("的", ()),
    ("2012年的GPT4机器", ("2012", "年的", "gpt4", "机器")),
    ("", ()),
    ("👍", ()),
]


@for_each("query, expected", KEYWORDS)
def test_keywords_of(query: str, expected: tuple[str, ...]):
    """seed 4 step 4: keyword extraction splits, drops stop words and single characters."""
    assert extract_keywords(query) == expected


DICE = [
    ("red green tea", "red green tea", 1.0),
    ("red green tea", "Tea: red, green", 8 / 10),  # all three words, one of two pairs
    ("red green tea", "red tea", 4 / 8),  # two words of 5 and 3 grams
    ("red green tea", "blue whale", 0.0),
    ("", "red", 0.0),
    ("绿茶", "绿茶", 1.0),
]


@for_each("one, other, expected", DICE)
def test_overlap_is_dice_of_terms_and_pairs(one: str, other: str, expected: float):
    """seed 4 step 4: TextOverlap by the Dice coefficient is right."""
    assert compute_dice_coefficient(build_grams(one), build_grams(other)) == pytest.approx(expected)


WIKI = [
    page("deploy", "Deployment", summary="How we ship to production", tags=("ops",)),
    page(
        "tea", "Green tea", content="Steep at 80 degrees.\n\nIt comes from Japan.", tags=("drink",)
    ),
    page("coffee", "Coffee", content="Grind the beans. " * 40 + "Never boil green tea with it."),
    page("cn", "绿茶冲泡指南", summary="八十度的水", content="绿茶要用八十度的水冲泡。"),
]


def found(query: str, **config: Any) -> list[str]:
    return [item.page.id for item in rank_pages(query, WIKI, RetrieverConfig(**config))]


def test_best_page_comes_first():
    """seed 4 step 4: results are sorted by score, best first."""
    assert found("green tea") == ["tea", "coffee"]
    assert found("what temperature does green tea steep at?")[0] == "tea"
    assert found("绿茶用多少度的水泡")[0] == "cn"
    assert found("drink") == ["tea"]


def test_title_that_is_the_question_scores_one():
    [first, *_] = rank_pages("green tea", WIKI)

    assert first.score == 1.0
    assert first.parts["title"] == 1.0


def test_sentence_deep_in_a_long_text_is_found():
    parts = compute_overlap("never boil green tea", WIKI[2])

    assert parts["content"] > 0.8


def test_what_scores_too_little_is_left_out():
    """seed 4 step 4: the threshold, 0.1 unless told otherwise."""
    assert RetrieverConfig() == RetrieverConfig(max_results=20, min_score=0.1)
    assert found("green tea", min_score=0.99) == ["tea"]
    scores = [item.score for item in rank_pages("green things in a big world", WIKI)]
    assert scores
    assert min(scores) >= 0.1


def test_no_more_results_than_asked_for():
    """seed 4 step 4: cut to top N."""
    many = [page(f"p{n:02}", "Green tea") for n in range(30)]

    assert len(rank_pages("green tea", many)) == 20
    few = rank_pages("green tea", many, RetrieverConfig(max_results=3))
    assert [item.page.id for item in few] == ["p00", "p01", "p02"]


def test_question_without_keywords_finds_nothing():
    assert found("the of and") == []
    assert rank_pages("tea", []) == ()


def test_bm25_joins_in_where_it_is_asked_for():
    plain = {item.page.id: item for item in rank_pages("green tea from japan", WIKI)}
    fused = {
        item.page.id: item
        for item in rank_pages("green tea from japan", WIKI, RetrieverConfig(bm25_weight=1.0))
    }

    assert "bm25" not in plain["tea"].parts
    assert fused["tea"].parts["bm25"] == 1.0
    assert fused["tea"].rank == pytest.approx((plain["tea"].score + 1.0) / 2)
    assert 0 < fused["coffee"].parts["bm25"] < 1


def test_score_beside_bm25_is_the_share_of_the_question_that_a_page_meets():
    by_words = RetrieverConfig(bm25_weight=1.0, min_score=0.0)

    (known, *_) = rank_pages("green tea from japan", WIKI, by_words)
    (unknown, *_) = rank_pages("Which tea did Napoleon prefer?", WIKI, by_words)

    assert (known.page.id, known.score) == ("tea", 1.0)
    assert unknown.parts["bm25"] == 1.0
    assert unknown.score == unknown.parts["words"] < 0.5
    assert (
        rank_pages("Which tea did Napoleon prefer?", WIKI, replace(by_words, min_score=0.5)) == ()
    )


@quick
@given(st.text(max_size=40), st.lists(st.text(max_size=40), min_size=4, max_size=4))
def test_score_is_always_from_zero_to_one(query: str, fields: list[str]):
    """seed 4 §3.3: TextOverlap scores in [0.0, 1.0]."""
    title, summary, tag, content = fields
    one = page("x", title or "t", summary=summary, tags=(tag,), content=content)

    parts = compute_overlap(query, one)

    assert all(0.0 <= part <= 1.0 for part in parts.values())
    assert 0.0 <= combine_scores(parts) <= 1.0
    for weight in (0.0, 0.5, 2.0):
        for item in rank_pages(query, [one], RetrieverConfig(min_score=0, bm25_weight=weight)):
            assert 0.0 <= item.score <= 1.0


def test_retrieval_end_to_end():
    """seed 4 §8 and step 4: end to end, over pages in a store, without any embedding."""
    wiki = KnowledgeStore("global:wiki", STORES.make(), clock=Ticking())
    for one in WIKI:
        wiki.add_page(one)

    result = MemoryRetriever(wiki).retrieve("How is green tea brewed?")

    assert result.query == "How is green tea brewed?"
    assert result.items[0].page.id == "tea"


_WORDS = st.sampled_from(
    [
        "the",
        "tea",
        "of",
        "green",
        "seed",
        "sown",
        "stories",
        "story",
        "如何",
        "部署",
        "系统",
        "春天",
        "播种",
        "Straße",
        "café",
        "cafe",
        "12",
        "x",
        "don't",
    ]
)
_TEXTS = st.lists(_WORDS, min_size=1, max_size=6).map(lambda words: " ".join(words) + ".")


@quick
@given(asked=_TEXTS, said=st.lists(st.tuples(_TEXTS, _TEXTS), min_size=1, max_size=6))
def test_page_without_a_word_of_the_question_is_worth_what_looking_closer_would_say(
    asked: str, said: list[tuple[str, str]]
) -> None:
    pages = [page(f"p{n}", title, content=content) for n, (title, content) in enumerate(said)]

    found = rank_pages(asked, pages, RetrieverConfig(min_score=0.0, bm25_weight=1.0))

    for item in found:
        looked = compute_overlap(asked, item.page)
        assert {name: item.parts[name] for name in looked} == looked
