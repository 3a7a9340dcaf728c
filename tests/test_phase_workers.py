"""The workers of a phase are forks of one process that has loaded the tests, tried on planted ones."""

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.phases.plan import TESTS, Phase
from tests.phases.report import Result
from tests.test_phases import DIES, PASSES, run


# It tells where it was loaded, and each of its tests whose child it ran in.
TELLS = """
import json, os, pytest
from pathlib import Path
import tests.phases.plugin  # as a test of the phases does

def tell(word, pid):
    with Path(__file__).with_name("told.jsonl").open("a") as file:
        file.write(json.dumps([word, pid]) + "\\n")

tell("loaded in", os.getpid())

@pytest.mark.parametrize("number", range(8))
def test_tells(number):
    tell("child of", os.getppid())
"""
# It configures a log when it is loaded, as Django does.
LOGS = """
import logging

logging.getLogger().addHandler(logging.StreamHandler())

def test_logs(capfd):
    logging.getLogger("planted").warning("written")

    assert capfd.readouterr().err == "written\\n"
"""
# What differs from worker to worker, and where it is asked before there are any.
DIFFERENT: Final = {"worker_name", "worker_number", "database_name", "getpid"}
BEFORE: Final = TESTS / "settings.py"


def share(folder: Path, source: str) -> Result:
    """Run planted tests in two workers."""
    phase = Phase("parallel", "planted", 2, (folder,))
    return run(folder, source, phase, plugins="pytest_timeout,xdist.plugin")


def test_tests_are_loaded_once_for_all_workers(tmp_path: Path):
    result = share(tmp_path, TELLS)

    told = [json.loads(line) for line in (tmp_path / "told.jsonl").read_text().splitlines()]
    assert (result.is_good, result.count) == (True, 8)
    [loader] = [pid for word, pid in told if word == "loaded in"]
    assert [pid for word, pid in told if word == "child of"] == 8 * [loader]


def test_another_takes_the_place_of_a_worker_that_dies(tmp_path: Path):
    result = share(tmp_path, TELLS + DIES)

    (failure,) = result.failures
    assert failure.node == "test_planted.py::test_dies"
    assert (result.count, result.is_good) == (9, False)


def test_worker_writes_to_a_log_that_was_opened_on_loading(tmp_path: Path):
    result = share(tmp_path, LOGS)

    assert (result.count, result.failures) == (1, [])


def test_module_that_cannot_be_loaded_is_named_with_its_reason(tmp_path: Path):
    result = share(tmp_path, PASSES + "\nnonsense\n")

    assert {failure.node for failure in result.failures} == {"test_planted.py"}
    assert all("name 'nonsense' is not defined" in failure.reason for failure in result.failures)


def find_calls_on_loading(node: ast.AST) -> Iterator[str]:
    """Yield the names of functions that are called when a module is loaded."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        return
    if isinstance(node, ast.Call):
        yield getattr(node.func, "id", getattr(node.func, "attr", ""))
    for child in ast.iter_child_nodes(node):
        yield from find_calls_on_loading(child)


def test_no_module_asks_on_loading_for_what_differs_from_worker_to_worker() -> None:
    asked = {
        f"{path.relative_to(TESTS)}: {name}"
        for path in TESTS.rglob("*.py")
        if path != BEFORE
        for name in DIFFERENT.intersection(find_calls_on_loading(ast.parse(path.read_text())))
    }

    assert asked == set()


@pytest.mark.parametrize(
    ("source", "calls"),
    [
        ("NAME = f'own_{worker_name()}'", ["worker_name"]),
        ("class Test:\n    pid = os.getpid()", ["getpid"]),
        ("def name():\n    return worker_name()", []),
    ],
)
def test_call_on_loading_is_found(source: str, calls: list[str]) -> None:
    assert list(find_calls_on_loading(ast.parse(source))) == calls
