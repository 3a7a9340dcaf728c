"""Run pytest once for each phase, and the few tests that failed once more, each alone in a fresh process."""

import os
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Sequence
from contextlib import ExitStack, closing, suppress
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
class Prepared:
    """A phase whose pytest process loads its tests, and begins with them when it is let."""

    phase: Phase
    record: Path
    gate: int  # the end of a pipe
    process: subprocess.Popen[bytes] | None  # None if it has no tests where the run looks

    def run(self) -> Outcome:
        print(f"\n—— {self.phase.title}", flush=True)
        if self.process is None:
            return Outcome(self.phase.title)
        began = time.monotonic()
        with suppress(BrokenPipeError):  # it has ended, and has said why
            os.write(self.gate, b"\n")
        status = self.process.wait()
        return read_outcome(self.phase.title, self.record, status, time.monotonic() - began)

    def close(self) -> None:
        """End it, if it wasn't let."""
        os.close(self.gate)
        if self.process is not None:
            self.process.wait()


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
        with (
            tempfile.TemporaryDirectory() as folder,
            closing(self._prepare(Path(folder))) as phases,
        ):
            for prepared in phases:
                result.outcomes.append(prepared.run())
                if len(_collect_failures(result.outcomes)) > MOST_TRIED_AGAIN:
                    break
        failures = _collect_failures(result.outcomes)
        if len(failures) > MOST_TRIED_AGAIN:
            result.failures = failures
        else:
            self._try_again(failures, result)
        return result

    def _prepare(self, folder: Path) -> Generator[Prepared]:
        """Yield each phase when that after it has begun to load its tests, so that nobody waits for it later."""
        with ExitStack() as ends:
            starting = (
                ends.enter_context(closing(self._start(phase, folder / f"{number}.jsonl")))
                for number, phase in enumerate(self.phases)
            )
            following = next(starting, None)
            while (present := following) is not None:
                following = next(starting, None)
                yield present

    def _start(self, phase: Phase, record: Path) -> Prepared:
        ignored = [f"--ignore={path}" for path in phase.ignored]
        workers = ["-n", str(phase.workers), "--dist", "worksteal"] if phase.workers else []
        named = find_places(self.arguments, self.root)
        places = [] if named else [str(path) for path in phase.files]
        entrance, gate = os.pipe()
        process = None
        if phase.has_tests_in(named):
            variables = {
                plugin.PHASE: phase.name, plugin.RECORD: str(record), plugin.GATE: str(entrance),
            }  # fmt: skip
            arguments = [*workers, *ignored, *self.arguments, *places]
            process = self._start_pytest(arguments, variables, entrance)
        os.close(entrance)
        return Prepared(phase, record, gate, process)

    def _try_again(self, failures: Sequence[Failure], result: Result) -> None:
        tests = {node for outcome in result.outcomes for node in outcome.durations}
        for failure in failures:
            print(f"\n—— once more, alone: {failure.node}", flush=True)
            passes = failure.node in tests and self._start_pytest([failure.node], {}).wait() == 0
            (result.flaky if passes else result.failures).append(failure)

    @property
    def _order(self) -> list[str]:
        is_random = "no:randomly" not in self.arguments
        return [f"--randomly-seed={self.seed}"] if is_random else ["-p", "no:randomly"]

    def _start_pytest(
        self, arguments: Sequence[str], environment: dict[str, str], *passed: int
    ) -> subprocess.Popen[bytes]:
        # A run within a test of another run has a record of its own, or none.
        outer = {name: value for name, value in os.environ.items() if name not in plugin.VARIABLES}
        command = [
            sys.executable, "-m", "pytest", "-q", "-p", "tests.phases.plugin",
            *self._order, *arguments,
        ]  # fmt: skip
        return subprocess.Popen(
            command,
            cwd=self.root,
            pass_fds=passed,
            env={**outer, **self.environment, **environment},
        )


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
