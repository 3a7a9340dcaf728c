"""Run pytest once for each phase, and the few tests that failed once more, each alone in a fresh process."""

import os
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Final

from tests.phases import plugin
from tests.phases.outcomes import Failure, Outcome, read_outcome
from tests.phases.plan import ROOT, Phase
from tests.phases.report import Result


# More are no accident, and trying them again would only make everybody wait.
MOST_TRIED_AGAIN: Final = 10
# The options of pytest whose next word is a value: `-k memory` names no folder.
WITH_VALUE: Final = ("-k", "-m", "-n", "-p", "-o", "-W", "-c", "-r", "--dist", "--maxfail")


@dataclass(frozen=True)
class Run:
    """A run of some phases with pytest's own arguments, in which all phases share the servers."""

    phases: Sequence[Phase]
    arguments: Sequence[str] = ()
    environment: dict[str, str] = field(default_factory=dict)
    seed: int = field(default_factory=lambda: secrets.randbelow(2**32))
    root: Path = ROOT

    def execute(self) -> Result:
        """Run the phases one after the other, and decide about what failed."""
        result = Result()
        with tempfile.TemporaryDirectory() as folder:
            for number, phase in enumerate(self.phases):
                record = Path(folder) / f"{number}.jsonl"
                result.outcomes.append(self._run_phase(phase, record))
                if len(_collect_failures(result.outcomes)) > MOST_TRIED_AGAIN:
                    break
        failures = _collect_failures(result.outcomes)
        if len(failures) > MOST_TRIED_AGAIN:
            result.failures = failures
        else:
            self._try_again(failures, result)
        return result

    def _run_phase(self, phase: Phase, record: Path) -> Outcome:
        print(f"\n—— {phase.title}", flush=True)
        ignored = [f"--ignore={path}" for path in phase.ignored]
        workers = ["-n", str(phase.workers), "--dist", "worksteal"] if phase.workers else []
        named = find_places(self.arguments, self.root)
        if not phase.has_tests_in(named):
            return Outcome(phase.title)
        places = [] if named else [str(path) for path in phase.files]
        began = time.monotonic()
        status = self._run_pytest(
            [*workers, *ignored, *self.arguments, *places],
            {plugin.PHASE: phase.name, plugin.RECORD: str(record)},
        )
        return read_outcome(phase.title, record, status, time.monotonic() - began)

    def _try_again(self, failures: Sequence[Failure], result: Result) -> None:
        tests = {node for outcome in result.outcomes for node in outcome.durations}
        for failure in failures:
            print(f"\n—— once more, alone: {failure.node}", flush=True)
            passes = failure.node in tests and self._run_pytest([failure.node], {}) == 0
            (result.flaky if passes else result.failures).append(failure)

    @property
    def _order(self) -> list[str]:
        is_random = "no:randomly" not in self.arguments
        return [f"--randomly-seed={self.seed}"] if is_random else ["-p", "no:randomly"]

    def _run_pytest(self, arguments: Sequence[str], environment: dict[str, str]) -> int:
        # A run within a test of another run has a record of its own, or none.
        outer = {name: value for name, value in os.environ.items() if name not in plugin.VARIABLES}
        command = [
            sys.executable, "-m", "pytest", "-q", "-p", "tests.phases.plugin",
            *self._order, *arguments,
        ]  # fmt: skip
        return subprocess.run(
            command,
            cwd=self.root,
            check=False,
            env={**outer, **self.environment, **environment},
        ).returncode


def find_places(arguments: Sequence[str], root: Path = ROOT) -> list[Path]:
    """Return the files and folders that pytest's arguments name."""
    words = [
        argument
        for before, argument in pairwise(["", *arguments])
        if before not in WITH_VALUE and not argument.startswith("-")
    ]
    paths = [root / word.partition("::")[0] for word in words]
    return [path for path in paths if path.exists()]


def _collect_failures(outcomes: Sequence[Outcome]) -> list[Failure]:
    return [failure for outcome in outcomes for failure in outcome.failures]
