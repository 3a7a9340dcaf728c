"""What the record of a phase says: how many tests passed, which failed and why."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final


NO_TESTS: Final = 5  # pytest's exit status where nothing was selected
FAILED: Final = 1


@dataclass(frozen=True)
class Failure:
    node: str
    reason: str


@dataclass
class Outcome:
    """The result of one phase."""

    title: str
    seconds: float = 0.0  # of the whole process
    passed: int = 0
    skipped: int = 0
    failures: list[Failure] = field(default_factory=list)
    durations: dict[str, float] = field(default_factory=dict)  # test → seconds

    @property
    def count(self) -> int:
        return self.passed + self.skipped + len(self.failures)


def read_outcome(title: str, record: Path, exit_status: int, seconds: float) -> Outcome:
    """Sum up a record. A process that died counts as a failure of the tests that it was at."""
    outcome = Outcome(title, seconds)
    started: set[str] = set()
    results: dict[str, str] = {}
    reasons: dict[str, str] = {}
    for line in _read_lines(record):
        match line["event"]:
            case "start":
                started.add(line["node"])
                outcome.durations.setdefault(line["node"], 0.0)
            case "finish":
                started.discard(line["node"])
            case "report":
                _add_report(line, results, reasons, outcome.durations)
    died = exit_status not in (0, FAILED, NO_TESTS)
    for node in started if died else ():
        results[node] = "failed"
        reasons.setdefault(node, f"the process ended with {exit_status} while this test ran")
    outcome.passed = _count(results.values(), "passed")
    outcome.skipped = _count(results.values(), "skipped")
    outcome.failures = [Failure(node, reason) for node, reason in reasons.items()]
    if not outcome.failures and exit_status not in (0, NO_TESTS):
        outcome.failures.append(Failure(title, f"pytest ended with {exit_status}: see above"))
    return outcome


def _add_report(
    line: dict[str, Any], results: dict[str, str], reasons: dict[str, str], durations: dict[str, float]
) -> None:  # fmt: skip
    """A test has up to three reports: a failure in any of them counts, and so does what was skipped."""
    node, outcome = line["node"], line["outcome"]
    durations[node] = durations.get(node, 0.0) + line["seconds"]
    if outcome == "failed":
        results[node] = outcome
        reasons.setdefault(node, line["reason"])
    elif outcome == "skipped" or line["when"] == "call":
        results.setdefault(node, outcome)


def _read_lines(record: Path) -> Iterator[dict[str, Any]]:
    if not record.exists():
        return
    for text in record.read_text(encoding="utf-8").splitlines():
        try:
            yield json.loads(text)
        except ValueError:  # the last line of a process that was killed
            return


def _count(results: Iterable[str], outcome: str) -> int:
    return sum(result == outcome for result in results)
