"""The pytest plug-in of a phase: it selects the phase's tests, limits their time, and records how each one ended."""

import json
import os
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from tests.phases.workers import Forks


PHASE: Final = "TEST_PHASE"  # the environment variable with the name of the phase; without it all tests are selected
RECORD: Final = "TEST_RECORD"  # … with the file that gets a line for each event
GATE: Final = (
    "TEST_GATE"  # … with the end of a pipe from which something comes when the tests may begin
)
VARIABLES: Final = (PHASE, RECORD, GATE)
BROWSER_LIMIT: Final = 240  # seconds; the limit of the others stands in pyproject.toml
NIGHTLY_LIMIT: Final = 3 * 3600
STANDARD_LIBRARY: Final = sysconfig.get_path("stdlib") + os.sep
CODE_WIDTH: Final = 100  # of the failed line in a reason; the message comes first


def get_phase(item: pytest.Item) -> str:
    """Return the name of the phase that a test belongs to."""
    if item.get_closest_marker("browser"):
        return "browser"
    if item.get_closest_marker("alone") or item.get_closest_marker("timed"):
        return "alone"
    return "parallel"


def set_limit(item: pytest.Item) -> None:
    """Give tests that are long by their nature another limit, unless they name one."""
    if item.get_closest_marker("timeout"):
        return
    if item.get_closest_marker("nightly"):
        item.add_marker(pytest.mark.timeout(NIGHTLY_LIMIT))
    elif item.get_closest_marker("browser"):
        item.add_marker(pytest.mark.timeout(BROWSER_LIMIT))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        set_limit(item)
    phase = os.environ.get(PHASE)
    if not phase:
        return
    others = [item for item in items if get_phase(item) != phase]
    if others:
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if get_phase(item) == phase]


def pytest_configure(config: pytest.Config) -> None:
    record = os.environ.get(RECORD)
    if hasattr(config, "workerinput"):
        return
    config.pluginmanager.register(Forks(), "forks of the phase")
    if GATE in os.environ:
        config.pluginmanager.register(Gate(int(os.environ[GATE])), "gate of the phase")
    if record:
        config.pluginmanager.register(Recorder(Path(record)), "recorder of the phase")


class Gate:
    """Hold the tests back until the phase before has ended; they are loaded by then."""

    def __init__(self, end: int) -> None:
        self._end = end

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self) -> None:
        with os.fdopen(self._end, "rb", buffering=0) as gate:
            if not gate.read(1):
                pytest.exit("the run has ended before this phase", pytest.ExitCode.INTERRUPTED)


class Recorder:
    """Write a line of JSON for each event at once, so that a process that dies names the test it died in."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("a", encoding="utf-8")

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._write(event="start", node=nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._write(
            event="report", node=report.nodeid, when=report.when, outcome=report.outcome,
            seconds=round(report.duration, 3), reason=get_reason(report) if report.failed else "",
        )  # fmt: skip

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self._write(event="finish", node=nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._write(event="report", node=report.nodeid, when="collect", outcome="failed",
                        seconds=0, reason=get_reason(report))  # fmt: skip

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        self._write(event="end", exit=int(exitstatus))

    def _write(self, **values: Any) -> None:  # Any: whatever JSON has
        self._file.write(json.dumps(values) + "\n")
        self._file.flush()


def get_reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    """Return where a test failed, the line of ours that failed, and why, in one line."""
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is None:
        lines = [line for line in report.longreprtext.splitlines() if line.strip()]
        return lines[-1].strip() if lines else "no reason was given"
    message = " ".join(crash.message.split()) or "no message"
    place = find_own_place(report.longrepr)
    if place is None:
        return f"{Path(crash.path).name}:{crash.lineno}: {message}"
    return f"{place.file}:{place.line}: {message}" + (f" ← {place.code}" if place.code else "")


@dataclass(frozen=True)
class Place:
    """A line of a file of this project."""

    file: str
    line: int
    code: str


def find_own_place(failure: Any) -> Place | None:  # Any: pytest's types of this are its own
    """Return the deepest line of ours that led to a failure: the frames below it are a library's, and say little."""
    entries = getattr(getattr(failure, "reprtraceback", None), "reprentries", [])
    for entry in reversed(entries):
        place = getattr(entry, "reprfileloc", None)
        if place is None or is_foreign(place.path):
            continue
        marked = [line for line in entry.lines if line.startswith(">")]
        code = marked[-1].removeprefix(">").strip() if marked else ""
        return Place(Path(place.path).name, place.lineno, code[:CODE_WIDTH])
    return None


def is_foreign(path: str) -> bool:
    """Tell whether a file belongs to Python itself or to an installed package."""
    return path.startswith(("<", STANDARD_LIBRARY)) or "site-packages" in path
