"""The sets recall is measured with, and how well a list of keys answers. See `bench.recall`."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Question:
    text: str
    evidence: frozenset[str]


@dataclass(frozen=True)
class Namespace:
    id: str
    entries: list[dict[str, str]]  # key, text, and perhaps group, time, title
    questions: list[Question]


@dataclass(frozen=True)
class Set:
    name: str
    language: str
    namespaces: list[Namespace]

    @property
    def questions(self) -> int:
        return sum(len(one.questions) for one in self.namespaces)


def read_sets(folder: Path) -> Iterator[Set]:
    for path in sorted(folder.glob("*.json")):
        raw = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(raw, dict) or "namespaces" not in raw:
            continue
        yield Set(raw["name"], raw["language"], [_namespace(one) for one in raw["namespaces"]])


def _namespace(raw: dict) -> Namespace:
    asked = [Question(one["question"], frozenset(one["evidence"])) for one in raw["questions"]]
    return Namespace(raw["id"], raw["entries"], asked)


@dataclass(frozen=True)
class Quality:
    """Shares of the evidence among the first five and ten, and 1 / rank of the first of it."""

    at_5: float
    at_10: float
    mrr: float

    def line(self) -> str:
        return f"{self.at_5:8.3f}{self.at_10:8.3f}{self.mrr:8.3f}"


Answer = Callable[[str], Sequence[str]]


def quality(answered: Sequence[tuple[Question, Sequence[str]]]) -> Quality:
    total = len(answered) or 1
    return Quality(
        sum(_found(asked, keys, 5) for asked, keys in answered) / total,
        sum(_found(asked, keys, 10) for asked, keys in answered) / total,
        sum(_reciprocal(asked, keys) for asked, keys in answered) / total,
    )


def _found(asked: Question, keys: Sequence[str], first: int) -> float:
    return len(asked.evidence.intersection(keys[:first])) / len(asked.evidence)


def _reciprocal(asked: Question, keys: Sequence[str]) -> float:
    ranks = [rank for rank, key in enumerate(keys[:10], start=1) if key in asked.evidence]
    return 1 / ranks[0] if ranks else 0.0
