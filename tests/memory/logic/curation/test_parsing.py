"""From an answer to drafts: seed 1's shapes, all of it or nothing."""

import json
from typing import Any

import pytest

from memory.core.records import Source, StoreParams, Tier
from memory.logic.curation.parsing import Analysis, build_drafts, parse_analysis
from memory.logic.curation.repair import UnreadableAnswer
from tests.memory.logic.support import NAMESPACE, counting
from tests.support.cases import for_each


FULL = {
    "summary": "Wrote a quick sort in Rust.",
    "key_learnings": ["Pivot choice matters", "Use insertion sort below 16 items"],
    "errors": ["index out of bounds"],
    "solutions": ["check the range first"],
    "tags": ["rust", "sorting"],
    "category": "Execution",
}


def test_answer_is_understood():
    """seed 1 §1: curation extracts the key information rightly."""
    assert parse_analysis(json.dumps(FULL)) == Analysis(
        summary="Wrote a quick sort in Rust.",
        key_learnings=("Pivot choice matters", "Use insertion sort below 16 items"),
        errors=("index out of bounds",),
        solutions=("check the range first",),
        tags=("rust", "sorting"),
        category="execution",
    )


LISTS: list[tuple[Any, tuple[str, ...]]] = [
    (None, ()),
    ([], ()),
    ("one", ("one",)),
    (["a", "a", " b\n c "], ("a", "b c")),
    (["None", "n/a", "无", "", None, True, 7], ("7",)),
    ([{"error": "E1", "solution": "S1"}], ("error: E1; solution: S1",)),
    ({"text": "only"}, ("only",)),
    ([str(n) for n in range(30)], tuple(str(n) for n in range(20))),
    (["bad\x00 \ud83d half"], ("bad \ufffd half",)),
]


@for_each("given_, expected", LISTS)
def test_list_is_understood(given_: Any, expected: tuple[str, ...]):
    answer = json.dumps({"summary": "s", "errors": given_})

    assert parse_analysis(answer).errors == expected


def test_long_item_is_cut_at_a_word():
    [learnt] = parse_analysis(
        json.dumps({"summary": "s", "key_learnings": "word " * 400})
    ).key_learnings

    assert len(learnt) <= 1_000
    assert learnt.endswith("word…")


CATEGORIES = [
    ("Result", "result"),
    ("ERROR", "error"),
    ("错误", "error"),
    ("Execution|Result|Error", "execution"),
    (None, "execution"),
    (3, "execution"),
]


@pytest.mark.parametrize(("given_", "expected"), CATEGORIES)
def test_category_is_understood(given_: Any, expected: str):
    assert parse_analysis(json.dumps({"summary": "s", "category": given_})).category == expected


def test_names_are_understood_in_any_case():
    assert parse_analysis('{"Summary": "s", "Key Learnings": ["x"]}').key_learnings == ("x",)


NOT_UNDERSTOOD = [
    "{}",
    '{"key_learnings": ["x"]}',
    '{"summary": ""}',
    '{"summary": 7}',
    '{"summary": "s", "errors": 7}',
    '{"summary": "s", "errors": [[["deep"]]]}',
    '{"key_learnings": ["x"], "summary": "cut he',
    "nothing at all",
]


@for_each("answer", NOT_UNDERSTOOD)
def test_answer_that_makes_no_sense_is_refused_whole(answer: str):
    with pytest.raises(UnreadableAnswer):
        parse_analysis(answer)


def test_drafts_are_a_task_an_error_and_a_learning_each():
    """seed 1 §2.2: task:{uuid} (execution), error:{uuid} (error), learning:{uuid} (result)."""
    source = Source(run_id="r1", node_id="n1")
    made = build_drafts(parse_analysis(json.dumps(FULL)), NAMESPACE, counting("u"), source)

    metadata = {"tags": ["rust", "sorting"], "outcome": "execution"}
    written = Source(run_id="r1", node_id="n1", rule="curation")
    assert made == [
        StoreParams(
            NAMESPACE,
            key,
            value=value,
            metadata=metadata,
            category=category,
            tier=Tier.LONG_TERM,
            source=written,
        )
        for key, category, value in [
            ("task:u000001", "execution", {"summary": FULL["summary"]}),
            ("error:u000002", "error", {"errors": FULL["errors"], "solutions": FULL["solutions"]}),
            ("learning:u000003", "result", {"learnings": ["Pivot choice matters"]}),
            ("learning:u000004", "result", {"learnings": ["Use insertion sort below 16 items"]}),
        ]
    ]


def test_nothing_learnt_is_no_entry_and_a_solution_stands_with_the_task():
    made = build_drafts(Analysis("Did it.", solutions=("turn it on",)), NAMESPACE, counting("u"))

    assert [(one.key, one.value) for one in made] == [
        ("task:u000001", {"summary": "Did it.", "solutions": ["turn it on"]})
    ]
