"""The phases of a test run: which tests belong to which, and how many run at once."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final


TESTS: Final = Path(__file__).parents[1]
ROOT: Final = TESTS.parent
ALONE: Final = re.compile(r"\bmark\.(alone|timed)\b")


@dataclass(frozen=True)
class Phase:
    """Part of a run, in a pytest process of its own."""

    name: str  # what the plug-in selects by
    title: str  # what people read
    workers: int  # 0: in this one process, one test after the other
    files: tuple[Path, ...]  # where its tests are, unless the command names others
    ignored: tuple[Path, ...] = ()

    def has_tests_in(self, places: Sequence[Path]) -> bool:
        """Return whether the phase may have tests in one of the places. No places at all are all places."""
        if not places:
            return bool(self.files)
        return any(
            file.is_relative_to(place) or place.is_relative_to(file)
            for place in places
            for file in self.files
        )


def build_phases(workers: int) -> tuple[Phase, ...]:
    """Return the phases in their order: the longest and calmest first, what needs the whole machine last.

    Where several tests run at once, one more does without a browser: many wait for a clock or for a process that ends.
    """
    journeys = TESTS / "journeys"
    more = workers + 1 if workers > 1 else workers
    return (
        Phase("parallel", "without a browser", more, (TESTS,), (journeys,)),
        Phase("browser", "in a browser", workers, (journeys,)),
        Phase("alone", "one at a time", 0, find_files_with_tests_alone()),
    )


def find_files_with_tests_alone() -> tuple[Path, ...]:
    """Return the files that name such a marker, so that this phase needn't collect all others."""
    return tuple(
        sorted(path for path in TESTS.rglob("test_*.py") if ALONE.search(path.read_text()))
    )


def count_workers() -> int:
    """Return one more than there are cores, for what is waited for leaves a core to others; WORKERS chooses another."""
    return int(os.environ.get("WORKERS") or (os.cpu_count() or 1) + 1)
