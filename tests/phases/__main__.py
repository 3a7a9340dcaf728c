"""`python -m tests.phases [ARGUMENTS OF PYTEST]` runs all tests, or those that the arguments choose.

`--changed COMMIT` runs the tests of what differs from a commit, `--flaky` runs each test of the list fifty times, and
`--slowest N` names the tests that took longest.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.phases.changed import find_changed_files, find_tests
from tests.phases.history import FOLDER, add_flaky, read_flaky
from tests.phases.plan import ROOT, build_phases, count_workers
from tests.phases.report import Result, describe_result, describe_slowest
from tests.phases.run import Run


TIMES: Final = 50


def main() -> int:
    options, arguments = _parse()
    is_whole = not (arguments or options.flaky or options.changed)
    with shared_servers(started_early=is_whole) as environment:
        if options.flaky:
            return repeat_flaky(environment)
        if options.changed:
            tests = find_tests(find_changed_files(options.changed))
            if not tests:
                print(f"Nothing that has tests differs from {options.changed}.")
                return 0
            print("\n".join(tests))
            arguments = [*arguments, *tests]
        run = Run(build_phases(options.workers), arguments, environment)
        result = run.execute()
    return finish(result, options, run.seed)


def finish(result: Result, options: argparse.Namespace, seed: int) -> int:
    """Print and keep what the run showed, and return the exit status."""
    commit = _ask_commit()
    add_flaky(result.flaky, commit)
    summary = f"commit {commit}, order of the tests: {seed}\n{describe_result(result)}"
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{options.name}.txt").write_text(summary + "\n", encoding="utf-8")
    if options.slowest:
        print(f"\n{describe_slowest(result.outcomes, options.slowest)}")
    print(f"\n{summary}", flush=True)
    return 0 if result.is_good else 1


def repeat_flaky(environment: dict[str, str]) -> int:
    """Run each test of the list fifty times, each time in a fresh process, and print how often it failed."""
    failed = 0
    for test in read_flaky():
        command = [sys.executable, "-m", "pytest", "-q", test]
        results = [
            subprocess.run(
                command, cwd=ROOT, check=False, env={**os.environ, **environment},
                stdout=subprocess.DEVNULL,
            ).returncode
            for _time in range(TIMES)
        ]  # fmt: skip
        count = sum(result != 0 for result in results)
        print(f"{count} of {TIMES} failed: {test}", flush=True)
        failed += count
    return 1 if failed else 0


@contextmanager
def shared_servers(*, started_early: bool) -> Iterator[dict[str, str]]:
    """Let all pytest processes use the same PostgreSQL and Valkey, which end with the run.

    The first test that needs them starts them, and all others wait. A whole run needs them in any case, and starts them
    while its tests are collected.
    """
    home = f"/tmp/mnemoflow-test-{os.geteuid()}-{os.getpid()}"
    environment = {"MNEMOFLOW_TEST_HOME": home}
    starting = _run_beside("start_servers", environment) if started_early else None
    try:
        yield environment
    finally:
        if starting:
            starting.wait()
        if Path(home).exists():
            _run_beside("stop_servers", environment).wait()


def _run_beside(module: str, environment: dict[str, str]) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", f"tests.phases.{module}"]
    return subprocess.Popen(command, cwd=ROOT, env={**os.environ, **environment})


def _parse() -> tuple[argparse.Namespace, list[str]]:
    parser = argparse.ArgumentParser(prog="python -m tests.phases", description=__doc__)
    parser.add_argument("--changed", metavar="COMMIT")
    parser.add_argument("--flaky", action="store_true")
    parser.add_argument("--slowest", type=int, default=0, metavar="N")
    parser.add_argument("--name", default="test", help="of the summary that is kept")
    parser.add_argument("--workers", type=int, default=count_workers())
    return parser.parse_known_args()


def _ask_commit() -> str:
    command = ["git", "rev-parse", "--short", "HEAD"]
    return subprocess.run(
        command, cwd=ROOT, check=False, capture_output=True, text=True
    ).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
