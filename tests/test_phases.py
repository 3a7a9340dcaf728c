"""The phases of a test run, tried on planted tests.

Each run starts pytest itself once or twice.
"""

import os
from pathlib import Path

import pytest

from tests.phases.changed import find_tests
from tests.phases.history import add_flaky, read_flaky
from tests.phases.outcomes import Failure, Outcome, read_outcome
from tests.phases.plan import ROOT, Phase, build_phases
from tests.phases.plugin import RECORD
from tests.phases.report import Result, describe_result
from tests.phases.run import Run, find_places


CONFIG = "[pytest]\nmarkers =\n    browser\n    alone\n    timed\n    nightly\ntimeout = 5\nfilterwarnings = error\n"
PASSES = "def test_passes():\n    pass\n"
FAILS = "def test_fails():\n    assert 1 + 1 == 3\n"
FAILS_AT_FIRST = """
from pathlib import Path

def test_fails_at_first():
    mark = Path(__file__).with_suffix(".mark")
    is_first = not mark.exists()
    mark.touch()
    assert not is_first
"""
HANGS = "import threading, pytest\n\n@pytest.mark.timeout(1)\ndef test_hangs():\n    threading.Event().wait()\n"
FAILS_IN_LIBRARY = """
import json

def test_fails_in_library():
    json.loads("no JSON")
"""
DIES = "import os\n\ndef test_dies():\n    os._exit(9)\n"
ELEVEN = "import pytest\n\n@pytest.mark.parametrize('n', range(11))\ndef test_fails(n):\n    assert n < 0\n"


def run(folder: Path, source: str, *phases: Phase, plugins: str = "pytest_timeout") -> Result:
    (folder / "pytest.ini").write_text(CONFIG)
    (folder / "test_planted.py").write_text(source)
    arguments = ["-p", "no:randomly", "-p", "no:cacheprovider"]
    environment = {name: "" for name in os.environ if name.startswith("PYTEST")}
    # To load all plug-ins takes seconds, and the planted tests need few.
    environment |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_PLUGINS": plugins}
    return Run(
        phases or (Phase("parallel", "planted", 0, (folder,)),),
        arguments,
        {**environment, "PYTHONPATH": str(ROOT)},
        root=folder,
    ).execute()


def test_test_that_fails_the_first_time_is_named_as_flaky_and_the_run_is_good(tmp_path: Path):
    result = run(tmp_path, PASSES + FAILS_AT_FIRST)

    assert result.is_good
    assert [flaky.node for flaky in result.flaky] == ["test_planted.py::test_fails_at_first"]
    assert describe_result(result).splitlines()[1:] == [
        "flaky tests: 1",
        "2 passed, 0 failed, 0 skipped",
        "flaky: test_planted.py::test_fails_at_first - test_planted.py:10: assert not True ← assert not is_first",
    ]


def test_test_that_fails_twice_fails_the_run_with_its_reason_at_the_end(tmp_path: Path):
    result = run(tmp_path, PASSES + FAILS)

    assert not result.is_good
    assert describe_result(result).splitlines()[-2:] == [
        "1 passed, 1 failed, 0 skipped",
        "FAILED test_planted.py::test_fails - test_planted.py:4: assert (1 + 1) == 3 ← assert 1 + 1 == 3",
    ]


def test_reason_names_the_line_of_ours_when_a_library_fails(tmp_path: Path):
    result = run(tmp_path, FAILS_IN_LIBRARY)

    (failure,) = result.failures
    assert failure.reason.startswith("test_planted.py:5: json.decoder.JSONDecodeError: Expecting")
    assert failure.reason.endswith('← json.loads("no JSON")')


def test_eleven_failures_fail_at_once(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    result = run(tmp_path, ELEVEN)

    assert len(result.failures) == 11
    assert result.flaky == []
    assert "once more" not in capfd.readouterr().out


@pytest.mark.parametrize(
    ("source", "word"), [(HANGS, "Timeout"), (DIES, "the process ended with 9")]
)
def test_test_that_hangs_or_ends_the_process_is_named(tmp_path: Path, source: str, word: str):
    result = run(tmp_path, source)

    (failure,) = result.failures
    assert failure.node.startswith("test_planted.py::test_")
    assert word in failure.reason


def test_each_phase_runs_its_own_tests(tmp_path: Path):
    marks = {"": "parallel", "browser": "browser", "alone": "alone", "timed": "alone"}
    source = "import pytest\n" + "".join(
        f"\n{f'@pytest.mark.{mark}' if mark else ''}\ndef test_{mark or 'other'}():\n    pass\n"
        for mark in marks
    )
    phases = [Phase(name, name, 0, (tmp_path,)) for name in ("parallel", "browser", "alone")]

    result = run(tmp_path, source, *phases)

    ran = {node: outcome.title for outcome in result.outcomes for node in outcome.durations}
    assert ran == {
        f"test_planted.py::test_{mark or 'other'}": phase for mark, phase in marks.items()
    }


# The first test waits until the phase after it has loaded the second.
LOADED_AHEAD = """
import os, pytest
from pathlib import Path

HERE = Path(__file__).parent
if os.environ["TEST_PHASE"] == "browser":
    loaded = os.open(HERE / "loaded", os.O_RDWR)
    os.write(loaded, b"x")

@pytest.mark.timeout(90)
def test_first():
    with (HERE / "loaded").open("rb", buffering=0) as word:
        assert word.read(1)
    assert not (HERE / "second ran").exists()
    (HERE / "first ran").touch()

@pytest.mark.browser
def test_second():
    (HERE / "second ran").touch()
    assert (HERE / "first ran").exists()
"""


@pytest.mark.parametrize("workers", [0, 1])
def test_next_phase_loads_its_tests_while_this_one_runs_and_begins_after_it(
    tmp_path: Path, workers: int
):
    phases = [Phase(name, name, workers, (tmp_path,)) for name in ("parallel", "browser")]
    os.mkfifo(tmp_path / "loaded")

    result = run(tmp_path, LOADED_AHEAD, *phases, plugins="pytest_timeout,xdist.plugin")

    assert (result.is_good, result.count) == (True, 2)


def test_phase_that_waits_ends_with_a_run_that_gives_up(tmp_path: Path):
    source = ELEVEN + "\n@pytest.mark.browser\ndef test_second():\n    pass\n"
    phases = [Phase(name, name, 0, (tmp_path,)) for name in ("parallel", "browser")]

    result = run(tmp_path, source, *phases)

    assert [outcome.title for outcome in result.outcomes] == ["parallel"]
    assert len(result.failures) == 11


def test_run_without_any_test_is_not_good() -> None:
    assert not Result([Outcome("planted")]).is_good


def test_record_that_breaks_off_counts_as_failure(tmp_path: Path):
    record = tmp_path / "record"
    record.write_text('{"event": "start", "node": "a"}\n{"event": "fin')

    assert read_outcome("x", record, -9, 1).failures == [
        Failure("a", "the process ended with -9 while this test ran")
    ]


def test_list_of_flaky_tests_names_each_once(tmp_path: Path):
    path = tmp_path / "folder" / "flaky.jsonl"
    assert read_flaky(path) == []

    add_flaky([Failure("a", "one"), Failure("b", "two")], "0123", path)
    add_flaky([Failure("a", "three")], "4567", path)

    assert read_flaky(path) == ["a", "b"]


@pytest.mark.parametrize(
    ("arguments", "places"),
    [
        (["-k", "memory", "-x"], []),
        (["tests/memory"], ["tests/memory"]),
        (["-m", "nightly", "tests/test_order.py::test_x"], ["tests/test_order.py"]),
    ],
)
def test_places_are_told_from_words(arguments: list[str], places: list[str]):
    assert find_places(arguments) == [ROOT / place for place in places]


def test_phases_without_tests_in_a_place_are_left_out() -> None:
    parallel, browser, _alone = build_phases(3)

    assert parallel.has_tests_in([ROOT / "tests/memory"])
    assert not browser.has_tests_in([ROOT / "tests/memory"])
    assert browser.has_tests_in([ROOT / "tests"])
    assert browser.has_tests_in([])


@pytest.mark.parametrize(
    ("file", "tests"),
    [
        ("tests/test_order.py", ["tests/test_order.py"]),
        ("config/embedded/ports.py", ["tests/config/embedded/test_ports.py"]),
        ("workflows/engine/agent/no_such_module.py", ["tests/engine/agent"]),
        ("docs/glossary.md", []),
    ],
)
def test_tests_of_a_changed_file_stand_in_the_mirrored_place(file: str, tests: list[str]):
    assert find_tests([file]) == tests


def test_changed_tests_within_a_changed_folder_are_not_named_twice() -> None:
    files = ["workflows/engine/agent/no_such_module.py", "tests/engine/agent/test_history.py"]

    assert find_tests(files) == ["tests/engine/agent"]


def test_run_within_a_test_of_another_run_leaves_its_record_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    outer = tmp_path / "outer"
    monkeypatch.setenv(RECORD, str(outer))

    result = run(tmp_path, FAILS)

    assert len(result.failures) == 1
    assert not outer.exists()
