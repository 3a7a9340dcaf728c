"""What the benchmark of recall prints: figures of the half that is held out, its bars, and which questions find nothing."""

import json
from pathlib import Path
from typing import Any

import pytest

from bench.recall_bars import FIGURES, Goals, build_quality_bars, build_refusal_bars
from bench.refusals import FLOORS, ask_foreign_questions, compute_refusals
from bench.retrieval_sets import Answer, Namespace, Quality, Question, compute_quality, read_sets


def ask(text: str, *evidence: str, is_held_out: bool = True) -> Question:
    return Question(text, frozenset(evidence), is_held_out)


def test_every_other_question_is_held_out(tmp_path: Path) -> None:
    entries = [{"key": "a", "text": "A."}]
    questions = [{"question": str(n), "evidence": ["a"] * (n % 2)} for n in range(3)]
    spaces = [{"id": "n", "entries": entries, "questions": questions}]
    content: Any = {"name": "s", "language": "en", "namespaces": spaces}
    (tmp_path / "s.json").write_text(json.dumps(content))
    (tmp_path / "results.json").write_text('{"bars": []}')

    (read,) = read_sets(tmp_path)

    asked = read.namespaces[0].questions
    assert [question.is_held_out for question in asked] == [False, True, False]
    assert [bool(question.evidence) for question in asked] == [False, True, False]


def test_quality_is_that_of_answerable_questions_of_one_half() -> None:
    answers = [
        Answer(ask("both", "a", "b"), ["x", "a", "y", "z", "w", "b"]),
        Answer(ask("none", "a"), ["x"]),
        Answer(ask("unanswerable"), ["x"]),
        Answer(ask("tuned on", "a", is_held_out=False), ["a"]),
    ]

    assert compute_quality(answers, held_out=True) == Quality(0.25, 0.5, 0.25)
    assert compute_quality(answers, held_out=False) == Quality(1.0, 1.0, 1.0)


def test_ours_is_compared_with_the_best_other_ranker_in_each_figure_and_with_the_goals() -> None:
    others = {"seed": Quality(0.5, 0.5, 0.9), "bm25s": Quality(0.4, 0.6, 0.2)}

    bars = build_quality_bars("s", Quality(0.5, 0.7, 0.8), others, {"s": Goals(at_10=0.65)})

    assert [(bar.name, bar.bar, bar.is_met) for bar in bars] == [
        ("s R@5, seed", 0.5, True),
        ("s R@10", 0.65, True),
        ("s R@10, bm25s", 0.6, True),
        ("s MRR, seed", 0.9, False),
    ]
    assert build_quality_bars("s", Quality(1, 1, 1), {}, {}) == []
    assert list(FIGURES.values()) == ["R@5", "R@10", "MRR"]


def test_question_is_refused_if_it_finds_nothing_or_only_less_than_the_floor() -> None:
    answers = [
        Answer(ask("a", "a"), ["a"], 0.95),
        Answer(ask("b", "b"), ["x"], 0.15),
        Answer(ask("c"), [], 0.0),
        Answer(ask("d"), ["x"], 0.45),
    ]

    refusals = compute_refusals(answers, [])

    assert list(refusals.answerable) == [0.0, 0.0, *[0.5] * (len(FLOORS) - 2)]
    assert list(refusals.unanswerable or ()) == [0.5, 0.5, 0.5, 0.5, 0.5, 1.0, 1.0]
    assert refusals.foreign is None
    bars = build_refusal_bars("s", refusals)
    assert [(bar.value, bar.is_met) for bar in bars] == [(0.5, False), (0.0, True)]


@pytest.mark.parametrize(("count", "places"), [(1, []), (2, [1, 0]), (3, [1, 2, 0])])
def test_held_out_questions_are_asked_in_the_next_namespace(count: int, places: list[int]) -> None:
    def build(number: int) -> Any:
        questions = [ask(f"q{number}", "k"), ask("tuned on", "k", is_held_out=False)]
        return Namespace(f"n{number}", [], questions), lambda text: ([f"{text} in {number}"], 0.5)

    answers = ask_foreign_questions([build(number) for number in range(count)])

    expected = [f"q{number} in {place}" for number, place in enumerate(places)]
    assert [answer.keys[0] for answer in answers] == expected


def test_set_without_unanswerable_questions_has_no_bars_for_them() -> None:
    refusals = compute_refusals([Answer(ask("a", "a"), ["a"], 1.0)], [])

    assert build_refusal_bars("s", refusals) == []
