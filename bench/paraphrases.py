"""Reads the sixty questions that share no content word with the memory that answers them (`paraphrases.json`).

They were written before anything was measured with them. While search was tuned, only the first half was looked at: the
pairs at even positions, counted from 0. Each question is asked among forty other memories of its language.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final


PATH: Final = Path(__file__).with_name("paraphrases.json")


@dataclass(frozen=True)
class Pair:
    memory: str
    question: str


@dataclass(frozen=True)
class Paraphrases:
    """The pairs of one language, and other memories that answer none of the questions."""

    language: str
    pairs: tuple[Pair, ...]
    distractors: tuple[str, ...]

    @property
    def memories(self) -> list[str]:
        return [*(pair.memory for pair in self.pairs), *self.distractors]


@dataclass(frozen=True)
class Share:
    """These count the questions that were answered by the right memory in the first place, and among the first five."""

    questions: int
    first: int
    in_five: int

    def format_columns(self) -> str:
        return f"{self.questions:10}{self.first / self.questions:8.2f}{self.in_five / self.questions:8.2f}"


def read_paraphrases() -> list[Paraphrases]:
    return [
        Paraphrases(
            row["language"], tuple(Pair(**pair) for pair in row["pairs"]), tuple(row["others"])
        )
        for row in json.loads(PATH.read_text(encoding="utf-8"))
    ]


def find_positions(
    paraphrases: Paraphrases, ask: Callable[[str], Sequence[str]]
) -> list[int | None]:
    """Return the position of the right memory in the answer to each question; None if it is missing."""
    positions: list[int | None] = []
    for pair in paraphrases.pairs:
        answer = list(ask(pair.question))
        positions.append(answer.index(pair.memory) if pair.memory in answer else None)
    return positions


def find_stated_positions(
    paraphrases: Paraphrases, ask: Callable[[str], str]
) -> list[tuple[int | None, int]]:
    """Return for each question the position of the right memory among those that the answer quotes, and their number."""
    positions: list[tuple[int | None, int]] = []
    for pair in paraphrases.pairs:
        answer = ask(pair.question)
        places = {memory: answer.find(memory) for memory in paraphrases.memories}
        stated = sorted(
            (memory for memory in places if places[memory] >= 0), key=places.__getitem__
        )
        position = stated.index(pair.memory) if pair.memory in stated else None
        positions.append((position, len(stated)))
    return positions


def count_share(positions: Sequence[int | None]) -> Share:
    ranks = [position for position in positions if position is not None]
    return Share(len(positions), sum(rank == 0 for rank in ranks), sum(rank < 5 for rank in ranks))


def split_halves(positions: Sequence[int | None]) -> dict[str, Sequence[int | None]]:
    return {"looked at": positions[::2], "kept aside": positions[1::2]}
