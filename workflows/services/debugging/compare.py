"""Compare two runs node by node: their inputs, their outputs and how long they took."""

import difflib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from workflows.engine.language.document import Json
from workflows.models import Step


MAX_CHARACTERS = 20_000  # characters of one value that are compared line by line
IGNORED_NAMES = frozenset({"usage"})  # differs in every call and explains no difference

StepKey = tuple[str, tuple[int, ...]]  # node, rounds


class Verdict(StrEnum):
    SAME = "same"
    DIFFERENT = "different"
    ONLY_FIRST = "only-first"
    ONLY_SECOND = "only-second"


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line of a text diff. ``sign``: a space if both have the line, - for the first only, + for the second only."""

    sign: str
    text: str


@dataclass(frozen=True, slots=True)
class Difference:
    """A value that differs; ``name`` is its output or input."""

    side: str  # inputs | outputs | status | handle | error
    name: str
    lines: tuple[DiffLine, ...]


@dataclass(frozen=True, slots=True)
class StepPair:
    """The steps of two runs at the same node and round; one of them may be missing."""

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
        """Return by how many seconds the second step took longer, or None if a step is missing."""
        if self.first is None or self.second is None:
            return None
        return self.second.elapsed - self.first.elapsed


def compare_steps(first: Iterable[Step], second: Iterable[Step]) -> list[StepPair]:
    """Return the steps in the order of the first run. A step of only the second run follows its predecessor there."""
    first_steps, second_steps = _group_by_key(first), _group_by_key(second)
    order = list(first_steps)
    for previous_key, key in zip([None, *second_steps], second_steps, strict=False):
        if key not in first_steps:
            order.insert(
                order.index(previous_key) + 1 if previous_key in order else len(order), key
            )
    return [_build_pair(first_steps.get(key), second_steps.get(key)) for key in order]


def compare_values(
    side: str, first: Mapping[str, Json], second: Mapping[str, Json]
) -> list[Difference]:
    """Return the values that differ, in the order of the first run; values of only the second run come last."""
    names = [*first, *(name for name in second if name not in first)]
    return [
        Difference(side, name, _build_lines(first.get(name), second.get(name)))
        for name in names
        if name not in IGNORED_NAMES and first.get(name) != second.get(name)
    ]


def _group_by_key(steps: Iterable[Step]) -> dict[StepKey, Step]:
    """Return the steps by node and round, the last one if a node was executed several times in a round."""
    return {(step.node_key, tuple(step.rounds)): step for step in steps}


def _build_pair(first: Step | None, second: Step | None) -> StepPair:
    step = first or second
    assert step is not None  # noqa: S101 - each key comes from a step of one of the runs
    return StepPair(
        step.node_key,
        step.title or step.node_key,
        step.kind,
        tuple(step.rounds),
        first,
        second,
        tuple(_list_differences(first, second)) if first and second else (),
    )


def _list_differences(first: Step, second: Step) -> Iterable[Difference]:
    for side in ("status", "handle", "error"):
        before, after = getattr(first, side), getattr(second, side)
        if before != after:
            yield Difference(side, "", _build_lines(before, after))
    yield from compare_values("inputs", first.inputs or {}, second.inputs or {})
    yield from compare_values("outputs", first.outputs or {}, second.outputs or {})


def _build_lines(before: Json, after: Json) -> tuple[DiffLine, ...]:
    old, new = _split_lines(before), _split_lines(after)
    return tuple(
        DiffLine(line[0], line[2:]) for line in difflib.ndiff(old, new) if not line.startswith("?")
    )


def _split_lines(value: Json) -> Sequence[str]:
    if value is None:
        return ()
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
    return text[:MAX_CHARACTERS].splitlines() or ("",)
