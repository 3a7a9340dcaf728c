"""The page about failures names tests that exist, and leaves no failure without a test."""

import ast
import re
from pathlib import Path

from tests.support.cases import for_each


HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "extend" / "what-a-run-survives.md"
ROWS = re.findall(r"^\| (\d+) \| (.*) \| (.*) \|$", PAGE.read_text(), re.MULTILINE)


def test_page_has_a_row_for_each_of_the_eighteen_failures() -> None:
    assert [int(number) for number, _failure, _tests in ROWS] == list(range(1, 19))


@for_each("number, failure, tests", ROWS, ids=[row[0] for row in ROWS])
def test_tests_of_a_failure_exist(number: str, failure: str, tests: str) -> None:
    named = re.findall(r"`([\w/.]+\.py)::(\w+)`", tests)

    assert named, failure
    for path, name in named:
        tree = ast.parse((HERE / path).resolve().read_text())
        functions = {
            each.name
            for each in ast.walk(tree)
            if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)
        }
        assert name in functions, f"{path} of failure {number} has no {name}"
