"""The problems of a document, each addressed to the node, field or edge it is about."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import partial


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


def select_errors(problems: Iterable[Problem]) -> list[Problem]:
    return [problem for problem in problems if problem.is_error]


build_warning = partial(Problem, severity=Severity.WARNING)
