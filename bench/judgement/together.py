"""Measures how many facts take the place of another one although both are so at the same time.

A file of ``together`` holds what one person could say of themselves, a fact a line. None of it ends or replaces another
line of its file.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from memory.logic.judgement.judge import Judge
from memory.logic.judgement.operations import Action, KnownFact


FOLDER: Final = Path(__file__).with_name("together")


@dataclass(frozen=True)
class Retirement:
    """A fact that was retired, and the one that took its place."""

    fact: str
    by: str


@dataclass(frozen=True)
class Retirements:
    """All wrong retirements, of so many facts that were said."""

    count: int
    wrong: tuple[Retirement, ...]

    @property
    def share(self) -> float:
        """Return the share of the facts that took the place of another one."""
        return len({each.by for each in self.wrong}) / max(self.count, 1)


def read_people() -> list[list[str]]:
    return [path.read_text(encoding="utf-8").splitlines() for path in sorted(FOLDER.glob("*.txt"))]


def find_retirements(judge: Judge, people: Iterable[Sequence[str]]) -> Retirements:
    """Say each fact while all others of its person are known."""
    count, wrong = 0, []
    for facts in people:
        stored = [fact for fact in facts if any(c.is_stored for c in judge.judge_message(fact))]
        count += len(stored)
        wrong += [retired for fact in stored for retired in _list_retired(judge, fact, stored)]
    return Retirements(count, tuple(wrong))


def _list_retired(judge: Judge, statement: str, facts: Sequence[str]) -> list[Retirement]:
    known_facts = [KnownFact(fact, fact) for fact in facts if fact != statement]
    operations = judge.decide(judge.judge_message(statement), known_facts, ())
    return [
        Retirement(target, statement)
        for operation in operations
        if operation.action is not Action.ASK
        for target in operation.targets
    ]
