"""Reads the question sets of the recall benchmark (`bench.recall`), and computes the quality of answers to them."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Question:
    text: str
    evidence: frozenset[str]  # the keys of the entries that answer it; none if it can't be answered
    is_held_out: bool = False  # every other question: nothing is tuned on it


@dataclass(frozen=True)
class Namespace:
    id: str
    entries: list[dict[str, str]]  # key, text, and perhaps group, time, title
    questions: list[Question]


@dataclass(frozen=True)
class QuestionSet:
    name: str
    language: str
    namespaces: list[Namespace]

    @property
    def question_count(self) -> int:
        return sum(len(namespace.questions) for namespace in self.namespaces)


def read_sets(folder: Path) -> Iterator[QuestionSet]:
    """Yield the sets of all JSON files in the folder; other JSON files are skipped."""
    for path in sorted(folder.glob("*.json")):
        raw = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(raw, dict) or "namespaces" not in raw:
            continue
        namespaces = [_parse_namespace(namespace) for namespace in raw["namespaces"]]
        yield QuestionSet(raw["name"], raw["language"], namespaces)


def _parse_namespace(raw: dict[str, Any]) -> Namespace:
    questions = [
        Question(row["question"], frozenset(row["evidence"]), is_held_out=number % 2 == 1)
        for number, row in enumerate(raw["questions"])
    ]
    return Namespace(raw["id"], raw["entries"], questions)


@dataclass(frozen=True)
class Answer:
    """A ranker answers with the keys of its results, best first, and the score of the best, if it has scores."""

    question: Question
    keys: Sequence[str]
    best_score: float = 0.0


@dataclass(frozen=True)
class Quality:
    """The mean shares of the evidence among the first 5 and 10 results, and the mean of 1 / rank of the first evidence."""

    at_5: float
    at_10: float
    mrr: float

    def format_columns(self) -> str:
        return f"{self.at_5:8.3f}{self.at_10:8.3f}{self.mrr:8.3f}"


def compute_quality(answers: Sequence[Answer], *, held_out: bool) -> Quality:
    """Compute the quality of the answers to one half of the questions that can be answered."""
    half = [
        answer
        for answer in answers
        if answer.question.evidence and answer.question.is_held_out == held_out
    ]
    total = len(half) or 1
    return Quality(
        sum(_compute_recall(answer, 5) for answer in half) / total,
        sum(_compute_recall(answer, 10) for answer in half) / total,
        sum(map(_compute_reciprocal_rank, half)) / total,
    )


def _compute_recall(answer: Answer, count: int) -> float:
    evidence = answer.question.evidence
    return len(evidence.intersection(answer.keys[:count])) / len(evidence)


def _compute_reciprocal_rank(answer: Answer) -> float:
    evidence = answer.question.evidence
    ranks = [rank for rank, key in enumerate(answer.keys[:10], start=1) if key in evidence]
    return 1 / ranks[0] if ranks else 0.0
