"""Statements, importance, lives, links: what the offline curator goes by."""

from datetime import timedelta

import pytest

from memory.core.records import MemoryEntry, Source, StoreParams, Tier
from memory.logic.curation.feedback_loop import KnownTexts, exclude_known
from memory.logic.curation.links import find_term_links
from memory.logic.curation.scoring import choose_ttl, compute_importance, compute_lifetime
from memory.logic.judgement.judge import Judge
from memory.logic.judgement.statements import rate_statements
from tests.memory.logic.curation.transcripts import FACTS, JUNK, OTHER_FACTS, OTHER_JUNK
from tests.memory.logic.support import NAMESPACE
from tests.support.cases import for_each


@pytest.mark.parametrize(("facts", "junk"), [(FACTS, JUNK), (OTHER_FACTS, OTHER_JUNK)])
def test_judge_takes_most_facts_for_statements_and_little_talk(
    judge: Judge, facts: list[str], junk: list[str]
):
    assert sum(map(bool, rate_statements(facts, judge))) >= 0.9 * len(facts)
    assert sum(map(bool, rate_statements(junk, judge))) <= 0.1 * len(junk)


def test_without_a_judge_only_questions_requests_and_thanks_are_no_statements():
    talk = ["Thanks a lot!", "What do you think?", "你觉得呢？", "Please write a poem.", "好的"]

    assert rate_statements([*FACTS, *OTHER_FACTS], None) == [0.5] * len([*FACTS, *OTHER_FACTS])
    assert not any(rate_statements(talk, None))


def test_sentence_that_is_too_long_is_no_statement(judge: Judge):
    assert rate_statements(["I live in Rome. " * 50, ""], judge) == [0.0, 0.0]


RECALLED = KnownTexts.from_texts(
    ["Alice prefers green tea from Japan", "截止日期是3月31日", "", "the of"]
)

REPEATED = [
    ("Alice prefers green tea from Japan.", True),
    ("As you mentioned before, Alice prefers green tea from Japan", True),
    ("From Japan comes the green tea that Alice prefers", True),
    ("根据之前的记忆，截止日期是3月31日", True),
    ("Alice prefers black coffee from Japan", False),
    ("Alice prefers green tea from Japan, not China", False),
    ("Alice prefers 2 green teas from Japan", False),
    ("截止日期是4月1日", False),
    ("As you told me before", False),
    ("", False),
]


@for_each("sentence, expected", REPEATED)
def test_repetition_is_seen(sentence: str, expected: bool):
    assert RECALLED.contains(sentence) is expected
    assert exclude_known([sentence], RECALLED) == (() if expected else (sentence,))


def test_importance_adds_up_what_speaks_for_it(judge: Judge):
    """seed 1, second stage: importance scoring."""
    plain = compute_importance({"summary": "Ran."}, "execution", judge)
    told = "Remember: our deadline is 31 March because of tax."

    assert plain == 0.1
    assert compute_importance("tea", "learning", judge) == 0.35
    assert compute_importance(told, "learning", None) == 0.55
    assert 0.55 < compute_importance(told, "learning", judge) <= 0.75


LIVES = [
    ("execution", 0.1, timedelta(days=30)),
    ("execution", 0.5, timedelta(days=60)),
    ("error", 0.3, timedelta(days=180)),
    ("error", 0.7, None),
    ("result", 0.1, None),
    ("learning", 0.0, None),
    ("fact", 0.0, None),
]


@pytest.mark.parametrize(("category", "importance", "expected"), LIVES)
def test_life_is_chosen(category: str, importance: float, expected: timedelta | None):
    """seed 1, second stage: expiry."""
    assert compute_lifetime(category, importance) == expected


def test_authors_choice_of_a_life_stands():
    draft = StoreParams(NAMESPACE, "k", value=1, category="execution", importance=0.1)

    assert choose_ttl(draft) == 30 * 86_400
    assert (
        choose_ttl(StoreParams(NAMESPACE, "k", value=1, category="execution", ttl_seconds=5)) == 5
    )
    held = StoreParams(NAMESPACE, "k", value=1, category="execution", tier=Tier.QUARANTINE)
    assert choose_ttl(held) is None


def entry(id_: str, text: str, run: str = "", tags: tuple[str, ...] = ()) -> MemoryEntry:
    return MemoryEntry(
        id_,
        NAMESPACE,
        id_,
        value={"learnings": [text]},
        metadata={"tags": list(tags)},
        source=Source(run_id=run),
    )


ENTRIES = [
    entry("a", "Quick sort needs a good pivot", "r1", ("sorting",)),
    entry("b", "The pivot of quick sort was chosen badly", "r2", ("sorting",)),
    entry("c", "Acme pays invoices in Swiss francs", "r3"),
    entry("d", "Quick sort with a random pivot won", "r1", ("sorting",)),
    entry("e", "Bob bakes bread on Sundays", "r4"),
    entry("f", "Swiss francs are what Acme wants", "r5"),
]


def test_memories_of_different_tasks_are_linked_by_rare_words():
    """seed 1, third stage: links across tasks."""
    found = find_term_links(ENTRIES)

    assert [(one.first_id, one.second_id) for one in found] == [("c", "f"), ("a", "b"), ("b", "d")]
    assert found == sorted(found, key=lambda one: -one.weight)
    assert all(0 < one.weight <= 1 for one in found)
    [swiss] = [one for one in found if one.first_id == "c"]
    assert swiss.terms == ("acm", "franc", "swiss")


def test_memories_of_one_run_are_not_linked():
    assert (
        find_term_links([entry("a", "quick sort pivot", "r"), entry("b", "quick sort pivot", "r")])
        == []
    )


def test_no_memory_gets_more_links_than_it_may():
    same = [entry(f"{n:02}", f"quick sort pivot item{n}", f"r{n}") for n in range(6)]
    other = [entry(f"x{n}", f"word{n} thing{n}", f"s{n}") for n in range(9)]

    found = find_term_links([*same, *other], max_per_entry=2)

    assert found
    assert (
        max(
            sum(name in (one.first_id, one.second_id) for one in found)
            for name in ("00", "01", "05")
        )
        <= 2
    )


def test_links_of_nothing_are_none():
    assert find_term_links([]) == []
    assert find_term_links(ENTRIES[:1]) == []
