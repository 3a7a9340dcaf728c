"""The problems of a document, each addressed to the node, field or edge it is about."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from typing import Final


class Severity(StrEnum):
    ERROR = "error"  # the document can't run
    WARNING = "warning"  # the document can run, but perhaps not as its author expects


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem of a document. ``code`` is stable, for programs, and ``message`` is for users."""

    code: str
    message: str
    node: str | None = None
    field: str | None = None  # a dotted path inside the node's data, such as ``outputs.0.variable``
    edge: str | None = None
    severity: Severity = Severity.ERROR

    @property
    def is_error(self) -> bool:
        return self.severity is Severity.ERROR

    def __str__(self) -> str:
        return f"{self.where}: {self.message}" if self.where else self.message

    @property
    def where(self) -> str:
        node, edge = self.node and f"node {self.node}", self.edge and f"edge {self.edge}"
        return ", ".join(part for part in (node, edge, self.field) if part)


# A node with such a problem was left half-made. It can run, but with an empty text in place of what is missing.
UNFINISHED_CODES: Final = frozenset(
    {
        *("config.empty", "http.url", "http.json", "code.empty"),
        *(
            "reference.malformed",
            "reference.unclosed",
            "reference.unknown_node",
            "reference.unknown_variable",
        ),
    }
)


def select_unfinished(problems: Iterable[Problem]) -> list[Problem]:
    """Return the errors, and the problems of half-made nodes. Nodes that no path leads to don't count."""
    problems = list(problems)
    unreachable = {problem.node for problem in problems if problem.code == "node.unreachable"}
    return [
        problem
        for problem in problems
        if problem.is_error
        or (problem.code in UNFINISHED_CODES and problem.node not in unreachable)
    ]


def mark_unfinished_as_errors(problems: Iterable[Problem]) -> list[Problem]:
    """Return the problems as the editor shows them: those of half-made nodes, which can't be tried there, are errors."""
    problems = list(problems)
    unfinished = frozenset(select_unfinished(problems))
    return [
        replace(problem, severity=Severity.ERROR) if problem in unfinished else problem
        for problem in problems
    ]


# A run that reaches a node with such a problem fails there, unless its outputs are pinned.
UNAVAILABLE_CODES: Final = frozenset(
    {
        *("kind.unknown", "code.fault", "code.module"),
        *("tool.argument", "tool.connected", "tool.unavailable"),
    }
)


def is_fatal(problem: Problem) -> bool:
    """Return whether a run can't begin, or fails where it reaches the problem's node."""
    return problem.is_error or problem.code in UNAVAILABLE_CODES


def select_errors(problems: Iterable[Problem]) -> list[Problem]:
    return [problem for problem in problems if problem.is_error]


build_warning = partial(Problem, severity=Severity.WARNING)
