"""The end of a run's output: counts, the time of each phase, flaky tests, and each failure with its reason."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from heapq import nlargest

from tests.phases.outcomes import Failure, Outcome


WIDTH = 320  # of a failure's line


@dataclass
class Result:
    """The result of the whole run."""

    outcomes: list[Outcome] = field(default_factory=list)
    flaky: list[Failure] = field(default_factory=list)  # with the reason of the first time
    failures: list[Failure] = field(default_factory=list)

    @property
    def count(self) -> int:
        return sum(outcome.count for outcome in self.outcomes)

    @property
    def is_good(self) -> bool:
        return self.count > 0 and not self.failures


def describe_result(result: Result) -> str:
    """Return the lines that somebody needs who reads nothing but the end."""
    skipped = sum(outcome.skipped for outcome in result.outcomes)
    failed = len(result.failures)
    passed = result.count - skipped - failed
    return "\n".join(
        [
            *_describe_phases(result.outcomes),
            f"flaky tests: {len(result.flaky)}",
            f"{passed} passed, {failed} failed, {skipped} skipped",
            *(_describe("flaky: ", failure) for failure in result.flaky),
            *(_describe("FAILED ", failure) for failure in result.failures),
        ]
    )


def _describe_phases(outcomes: Iterable[Outcome]) -> list[str]:
    return [
        f"{outcome.title:<20} {outcome.count:>6} tests {outcome.seconds:>6.0f} s"
        for outcome in outcomes
    ]


def _describe(word: str, failure: Failure) -> str:
    return f"{word}{failure.node} - {failure.reason}"[:WIDTH]


def describe_slowest(outcomes: Sequence[Outcome], count: int) -> str:
    """Return the tests that took longest, with their phase."""
    tests = [(s, node, o.title) for o in outcomes for node, s in o.durations.items()]
    return "\n".join(f"{s:7.2f} s  {node}  ({title})" for s, node, title in nlargest(count, tests))
