"""Two runs side by side, node by node: what differed in what went in, what came out, and how long it took."""

import difflib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from workflows.engine.language.document import Json
from workflows.models import Step


LONGEST = 20_000  # characters of one value that are compared line by line
LEFT_OUT = frozenset({"usage"})  # differs in every call, and says nothing about why


class Verdict(StrEnum):
    SAME = "same"
    DIFFERENT = "different"
    ONLY_FIRST = "only-first"
    ONLY_SECOND = "only-second"


@dataclass(frozen=True, slots=True)
class Line:
    """``sign``: a space for both, - for the first alone, + for the second alone."""

    sign: str
    text: str


@dataclass(frozen=True, slots=True)
class Difference:
    """One value that isn't the same; ``name`` is the output or input it is about."""

    side: str  # inputs | outputs | status | handle | error
    name: str
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    node: str
    title: str
    kind: str
    rounds: tuple[int, ...]
    first: Step | None
    second: Step | None
    differences: tuple[Difference, ...]

    @property
    def verdict(self) -> Verdict:
        if self.second is None:
            return Verdict.ONLY_FIRST
        if self.first is None:
            return Verdict.ONLY_SECOND
        return Verdict.DIFFERENT if self.differences else Verdict.SAME

    @property
    def slower_by(self) -> float | None:
        """Seconds the second took longer."""
        if self.first is None or self.second is None:
            return None
        return self.second.elapsed - self.first.elapsed


def compare_steps(first: Iterable[Step], second: Iterable[Step]) -> list[Pair]:
    """In the order of the first run; what only the second did comes where the second did it."""
    ours, theirs = _by_place(first), _by_place(second)
    order = list(ours)
    for before, place in zip([None, *theirs], theirs, strict=False):
        if place not in ours:
            order.insert(order.index(before) + 1 if before in order else len(order), place)
    return [_pair(ours.get(place), theirs.get(place)) for place in order]


def compare_values(
    side: str, first: Mapping[str, Json], second: Mapping[str, Json]
) -> list[Difference]:
    names = [*first, *(name for name in second if name not in first)]
    return [
        Difference(side, name, _lines(first.get(name), second.get(name)))
        for name in names
        if name not in LEFT_OUT and first.get(name) != second.get(name)
    ]


Place = tuple[str, tuple[int, ...]]


def _by_place(steps: Iterable[Step]) -> dict[Place, Step]:
    """The last execution of a node in a round is the one that counts."""
    return {(step.node_key, tuple(step.rounds)): step for step in steps}


def _pair(first: Step | None, second: Step | None) -> Pair:
    known = first or second
    assert known is not None  # noqa: S101 - a place comes from one of the two
    return Pair(
        known.node_key,
        known.title or known.node_key,
        known.kind,
        tuple(known.rounds),
        first,
        second,
        tuple(_differences(first, second)) if first and second else (),
    )


def _differences(first: Step, second: Step) -> Iterable[Difference]:
    for side in ("status", "handle", "error"):
        before, after = getattr(first, side), getattr(second, side)
        if before != after:
            yield Difference(side, "", _lines(before, after))
    yield from compare_values("inputs", first.inputs or {}, second.inputs or {})
    yield from compare_values("outputs", first.outputs or {}, second.outputs or {})


def _lines(before: Json, after: Json) -> tuple[Line, ...]:
    old, new = _text(before), _text(after)
    return tuple(
        Line(line[0], line[2:]) for line in difflib.ndiff(old, new) if not line.startswith("?")
    )


def _text(value: Json) -> Sequence[str]:
    if value is None:
        return ()
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
    return text[:LONGEST].splitlines() or ("",)
