"""What a score says: how much of the question an entry meets, whatever else the memory holds; and min_score."""

from typing import Any

import pytest

from memory.core.errors import InvalidInput
from memory.core.records import MemoryQuery
from tests.spec.providers.conftest import Memory
from tests.support.score_parts import check_parts


# A question, an entry, and the least and the highest score.
PAIRS: list[tuple[str, str, float, float]] = [
    ("Which printer did Napoleon use", "the printer needs toner", 0.2, 0.35),
    ("What does the printer need?", "the printer needs toner", 1.0, 1.0),
    ("the printer needs toner", "the printer needs toner", 1.0, 1.0),
    ("printer toner", "Printers need a new toner every month.", 1.0, 1.0),
    ("Where do I live?", "I am living in Oslo, near the harbour.", 1.0, 1.0),
    ("Where did Mia and Noah live?", "Mia lives in Oslo.", 0.55, 0.7),
    ("toner", "tonerless printing", 1.0, 1.0),  # literally contained
    ("the", "the cat", 1.0, 1.0),  # nothing but a stop word
    ("How is the cat called, and who feeds it?", "The cat is called Miso.", 0.5, 0.7),
    ("Résumé of Zoë", "zoe sent a resume", 1.0, 1.0),
    ("拿破仑用的是哪台打印机？", "打印机需要墨粉", 0.2, 0.35),
    ("打印机需要什么？", "打印机需要墨粉", 1.0, 1.0),
    ("打印机需要墨粉", "打印机需要墨粉", 1.0, 1.0),
    ("他喜欢什么茶？", "用户喜欢茉莉花茶", 1.0, 1.0),
    ("我的猫叫什么？", "我的猫叫米索。", 1.0, 1.0),
    ("上海的天气怎么样？", "我2012年的时候住在上海。", 0.4, 0.5),
    ("2012年住在哪里？", "我2012年的时候住在上海。", 0.5, 1.0),
    ("Python 的版本号是多少", "Python 的版本号是 3.11", 1.0, 1.0),
]


def test_score_is_the_share_of_the_question_that_an_entry_meets(memory: Memory) -> None:
    for number, (question, text, least, highest) in enumerate(PAIRS):
        person = f"user:{number}"
        memory.store("k", text, person)

        (hit,) = memory.recall(person, query_text=question)

        assert hit.score is not None, question
        assert least <= hit.score <= highest, question
        check_parts(hit)


def test_score_hardly_depends_on_the_other_entries(memory: Memory) -> None:
    memory.store("k", "the printer needs toner")
    (alone,) = memory.recall(query_text="Which printer did Napoleon use")
    for number in range(20):
        memory.store(f"other {number}", f"note {number} about the weather")

    (among_others,) = memory.recall(query_text="Which printer did Napoleon use")

    assert among_others.score == pytest.approx(alone.score, abs=0.05)


def test_common_word_says_less_than_a_rare_one(memory: Memory) -> None:
    memory.store("rare", "anchovies")
    for number in range(30):
        memory.store(f"pizza {number}", f"pizza number {number}")

    hits = {hit.key: hit.score for hit in memory.recall(query_text="pizza anchovies")}

    assert hits["rare"] is not None
    assert hits["pizza 1"] is not None
    assert hits["rare"] > 0.7 > 0.3 > hits["pizza 1"]


def test_words_that_only_the_entries_before_have_count_half(memory: Memory) -> None:
    memory.store("1", "Where did you spend the summer?", metadata={"group": "chat"})
    memory.store("2", "In Lisbon.", metadata={"group": "chat"})
    memory.store("3", "Indeed.", metadata={"group": "chat"})
    memory.store("4", "Really?", metadata={"group": "chat"})

    hits = {hit.key: hit.score for hit in memory.recall(query_text="Where do I spend summers?")}

    # The fourth is found as a neighbour of the others, and meets nothing of the question by itself.
    assert hits == {"1": 1.0, "2": 0.5, "3": 0.5, "4": 0.0}


def test_recency_changes_the_order_and_not_the_scores(memory: Memory) -> None:
    memory.store("old", "the printer needs toner")
    memory.clock.sleep(86_400 * 30)
    memory.store("new", "the printer")

    plain = memory.recall(query_text="printer toner")
    recent = memory.recall(query_text="printer toner", recency_days=0.5)

    assert {hit.key: hit.score for hit in recent} == {hit.key: hit.score for hit in plain}
    assert "rank_recency" in recent[0].explain


FACTS = ("the printer needs toner", "the printer of the office", "coffee at noon")


def fill(memory: Memory) -> None:
    for number, text in enumerate(FACTS):
        memory.store(f"k{number}", text)


def test_min_score_leaves_out_what_meets_less(memory: Memory) -> None:
    fill(memory)

    assert memory.keys(query_text="printer toner") == ["k0", "k1"]
    assert memory.keys(query_text="printer toner", min_score=0.9) == ["k0"]
    assert memory.keys(query_text="printer toner", min_score=0) == ["k0", "k1"]


def test_min_score_is_inclusive(memory: Memory) -> None:
    fill(memory)
    score = memory.recall(query_text="printer toner")[1].score
    assert score is not None

    assert memory.keys(query_text="printer toner", min_score=score) == ["k0", "k1"]
    assert memory.keys(query_text="printer toner", min_score=score + 1e-9) == ["k0"]
    assert memory.keys(query_text="printer toner", min_score=1) == ["k0"]


def test_min_score_that_nothing_reaches_gives_nothing(memory: Memory) -> None:
    fill(memory)

    assert memory.recall(query_text="Which printer did Napoleon use", min_score=0.5) == []


def test_min_score_comes_before_top_k(memory: Memory) -> None:
    memory.store(
        "whole", "zebra crossings in the whole of town and beyond, on long and winding roads"
    )
    for number in range(4):
        memory.store(f"half {number}", "zebra zebra")

    assert memory.keys(query_text="zebra roads", min_score=0.9, top_k=1) == ["whole"]


def test_min_score_holds_in_the_past_too(memory: Memory) -> None:
    fill(memory)
    then = memory.clock()
    memory.clock.sleep(60)
    memory.store("k1", "toner for the printer")

    assert memory.keys(query_text="printer toner", min_score=0.9, as_of=then) == ["k0"]
    assert sorted(memory.keys(query_text="printer toner", min_score=0.9)) == ["k0", "k1"]


def test_min_score_holds_for_another_language(memory: Memory) -> None:
    memory.store("haus", "die Häuser am Hafen")
    memory.store("boot", "ein Haus ohne Boot")

    found = memory.keys(query_text="Haus am Hafen", language="german", min_score=0.9)

    assert found == ["haus"]


NO_SEARCHES: tuple[dict[str, Any], ...] = (
    *({"key": "k1"}, {}, {"query_text": "  "}),
    {"key": "k1", "query_text": "coffee"},
)


def test_min_score_leaves_out_nothing_without_a_search(memory: Memory) -> None:
    fill(memory)

    for query in NO_SEARCHES:
        assert not MemoryQuery("user:mia", **query).is_search

        with_min_score = memory.recall(min_score=1.0, **query)

        assert with_min_score == memory.recall(**query), query
        assert all(hit.score is None for hit in with_min_score), query


def test_min_score_out_of_range_is_refused_by_name(memory: Memory) -> None:
    for min_score in (-0.1, 1.1, float("nan"), float("inf")):
        with pytest.raises(InvalidInput, match="min_score"):
            memory.recall(query_text="printer", min_score=min_score)
