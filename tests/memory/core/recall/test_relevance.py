"""What holds for every score, whatever the question and the texts."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.core.recall.ranking import Text, rank_texts
from memory.core.recall.relevance import BACKGROUND_TEXTS, Relevance, weigh_terms
from memory.core.recall.scoring import compute_rarity
from memory.core.recall.similarity import Nearness, map_cosine
from memory.core.recall.tokens import extract_query_terms, parse_query
from tests.support.cases import for_each


quick = settings(max_examples=80, deadline=None)

WORDS = [
    "printer",
    "Printers",
    "toner",
    "Napoleon",
    "the",
    "which",
    "boat",
    "打印机",
    "墨粉",
    "的",
    "拿破仑",
    "茶",
    "3.11",
]
PHRASES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
MEMORIES = st.lists(PHRASES, min_size=1, max_size=6)


def score(question: str, *texts: str) -> float:
    """The score of the first text, 0 if it is no hit."""
    hits = {hit.position: hit.score for hit in rank_texts(question, list(map(Text, texts)))}
    return hits.get(0, 0.0)


@quick
@given(PHRASES, MEMORIES)
def test_score_is_from_zero_to_one(question: str, memories: list[str]) -> None:
    for hit in rank_texts(question, list(map(Text, memories))):
        assert 0.0 <= hit.score <= 1.0


@quick
@given(PHRASES, MEMORIES)
def test_identical_text_has_one(question: str, others: list[str]) -> None:
    assert score(question, question, *others) == 1.0


@quick
@given(PHRASES, MEMORIES)
def test_text_without_a_word_of_the_question_has_zero(question: str, others: list[str]) -> None:
    assert score(question, "quantum chromodynamics 量子色动力学", *others) == 0.0


@quick
@given(PHRASES, PHRASES, PHRASES, MEMORIES)
def test_text_that_meets_more_terms_never_has_less(
    question: str, text: str, more: str, others: list[str]
) -> None:
    """Side by side, so that both are measured with the same frequencies."""
    hits = rank_texts(question, [Text(text), Text(f"{text} {more}"), *map(Text, others)])
    scores = {hit.position: hit.score for hit in hits}

    assert scores.get(1, 0.0) >= scores.get(0, 0.0)


@quick
@given(PHRASES, PHRASES, MEMORIES)
def test_order_of_the_memories_changes_no_score(
    question: str, text: str, others: list[str]
) -> None:
    assert score(question, text, *others) == score(question, text, *reversed(others))


def test_unknown_word_weighs_the_most():
    weights = dict(weigh_terms({"known": 1.0, "unknown": 1.0}, {"known": 1}, 10).weights)

    assert weights["unknown"] == compute_rarity(0, 10 + BACKGROUND_TEXTS) > weights["known"] > 0


def test_question_without_terms_is_met_by_nothing():
    assert weigh_terms({}, {}, 10).compute_coverage({"a"}) == 0.0


CONTENT = [
    ("Which printer did Napoleon use", {"printer": 1.0, "napoleon": 1.0, "use": 1.0}),
    ("the", {"the": 1.0}),
    ("", {}),
    ("打印机", {"打": 0.2, "印": 0.2, "机": 0.2, "打印": 1.0, "印机": 1.0}),
    ("什么茶", {"茶": 1.0}),
    ("他什么时候在哪里喝茶", {"喝": 0.2, "茶": 0.2, "喝茶": 1.0}),
    ("我的", {"我": 1.0, "的": 1.0, "我的": 1.0}),
    ("的茶和茶叶", {"茶": 1.0, "叶": 0.2, "茶叶": 1.0}),
]


@for_each("question, weights", CONTENT)
def test_content_of_a_question(question: str, weights: dict[str, float]) -> None:
    assert parse_query(question).content_weights == weights


@quick
@given(st.text(max_size=30))
def test_terms_with_content_are_terms_of_the_question(question: str) -> None:
    assert parse_query(question).content_weights.keys() <= set(extract_query_terms(question))


COSINES = [
    (0.8, 0.8, 0.0),
    (0.5, 0.8, 0.0),
    (0.9, 0.8, 0.5),
    (1.0, 0.8, 1.0),
    (-1.0, 0.0, 0.0),
    (0.3, 0.0, 0.3),
]


@pytest.mark.parametrize(("cosine", "unrelated", "nearness"), COSINES)
def test_nearness_starts_from_the_cosine_of_unrelated_texts(
    cosine: float, unrelated: float, nearness: float
) -> None:
    assert map_cosine(cosine, unrelated) == pytest.approx(nearness)


def test_words_or_meaning_count_whichever_says_more():
    by_words, by_meaning = Relevance(0.6, 0.6, False, 0.2), Relevance(0.2, 0.2, False, 0.6)

    assert by_words.score == by_meaning.score == 0.6
    assert by_words.explain() == {"words": 0.6, "context": 0.0, "literal": 0.0, "vector": 0.0}
    assert by_meaning.explain() == {
        "words": 0.2,
        "context": 0.0,
        "literal": 0.0,
        "vector": pytest.approx(0.4),
    }


def test_meaning_alone_is_a_score():
    (hit,) = rank_texts("ship", [Text("a boat", nearness=Nearness(1.0, 0.7))])

    assert hit.score == 0.7
