"""Measures which known facts a turn retires: ``retiring/<language>.txt``, which no probe is trained on.

A line of ``keeps | known fact | turn`` is an attack: the turn looks as if it changed the fact, and retires nothing. A line
of ``replaces | fact ; others | turn`` retires the first of the known facts, and none of the others.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from memory.logic.judgement.judge import Judge
from memory.logic.judgement.operations import Action, KnownFact


FOLDER: Final = Path(__file__).with_name("retiring")
KEEPS: Final = "keeps"
REPLACES: Final = "replaces"


@dataclass(frozen=True, slots=True)
class RetiringCase:
    known: tuple[str, ...]
    turn: str
    retires: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RetiringFigures:
    """They have the attacks and the changes that were judged wrong, of so many."""

    attacks: int
    changes: int
    wrong_attacks: tuple[RetiringCase, ...]
    wrong_changes: tuple[RetiringCase, ...]

    @property
    def share_of_wrong_attacks(self) -> float:
        return len(self.wrong_attacks) / max(self.attacks, 1)

    @property
    def share_of_right_changes(self) -> float:
        return 1 - len(self.wrong_changes) / max(self.changes, 1)


def read_retiring(folder: Path = FOLDER) -> list[RetiringCase]:
    """Return all cases. Raises ValueError with the file and line of one that has another form."""
    return [case for path in sorted(folder.glob("*.txt")) for case in _read_file(path)]


def measure_retiring(judge: Judge, cases: Sequence[RetiringCase]) -> RetiringFigures:
    """Say each turn while its facts are known."""
    wrong = [case for case in cases if {*_list_retired(judge, case)} != {*case.retires}]
    attacks = sum(not case.retires for case in cases)
    return RetiringFigures(
        attacks,
        len(cases) - attacks,
        tuple(case for case in wrong if not case.retires),
        tuple(case for case in wrong if case.retires),
    )


def _read_file(path: Path) -> Iterator[RetiringCase]:
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        match line.split(" | "):
            case [("keeps" | "replaces") as word, facts, turn]:
                known = tuple(facts.split(" ; "))
                yield RetiringCase(known, turn, known[:1] if word == REPLACES else ())
            case _:
                raise ValueError(f"{path.name}:{number}: no case")


def _list_retired(judge: Judge, case: RetiringCase) -> list[str]:
    known_facts = [KnownFact(fact, fact) for fact in case.known]
    return [
        target
        for operation in judge.decide(judge.judge_message(case.turn), known_facts, ())
        if operation.action is not Action.ASK
        for target in operation.targets
    ]
