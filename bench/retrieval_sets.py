"""Reads the question sets of the recall benchmark (`bench.recall`), and computes the quality of answers to them."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Question:
    text: str
    evidence: frozenset[str]  # the keys of the entries that answer it


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


def _parse_namespace(raw: dict) -> Namespace:
    questions = [Question(row["question"], frozenset(row["evidence"])) for row in raw["questions"]]
    return Namespace(raw["id"], raw["entries"], questions)


@dataclass(frozen=True)
class Quality:
    """The mean shares of the evidence among the first 5 and 10 results, and the mean of 1 / rank of the first evidence."""

    at_5: float
    at_10: float
    mrr: float

    def format_columns(self) -> str:
        return f"{self.at_5:8.3f}{self.at_10:8.3f}{self.mrr:8.3f}"


def compute_quality(answers: Sequence[tuple[Question, Sequence[str]]]) -> Quality:
    """Compute the quality of answers: pairs of a question and the keys of its results, best first."""
    total = len(answers) or 1
    return Quality(
        sum(_compute_recall(question, keys, 5) for question, keys in answers) / total,
        sum(_compute_recall(question, keys, 10) for question, keys in answers) / total,
        sum(_compute_reciprocal_rank(question, keys) for question, keys in answers) / total,
    )


def _compute_recall(question: Question, keys: Sequence[str], count: int) -> float:
    return len(question.evidence.intersection(keys[:count])) / len(question.evidence)


def _compute_reciprocal_rank(question: Question, keys: Sequence[str]) -> float:
    ranks = [rank for rank, key in enumerate(keys[:10], start=1) if key in question.evidence]
    return 1 / ranks[0] if ranks else 0.0
