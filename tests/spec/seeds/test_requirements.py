"""Each row of the source documents names tests, and they are there and run."""

import ast
from functools import cache
from pathlib import Path

from tests.spec.seeds.requirements import PAGE, ROOT, ROWS, TITLES, Row, rendered
from tests.support.cases import for_each


@cache
def runs_in(path: Path) -> dict[str, bool]:
    """The tests of a module, and whether each is run on any day, not by night alone or never."""
    found = {}
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            marks = " ".join(ast.unparse(one) for one in node.decorator_list)
            found[node.name] = not any(
                f"mark.{word}" in marks.split("parametrize")[0]
                for word in ("skip", "xfail", "nightly")
            )
    return found


@for_each("row", ROWS, ids=lambda row: f"{row.seed} {row.section}: {row.asks}")
def test_row_is_shown_by_tests_that_run(row: Row) -> None:
    assert row.tests
    for named in row.tests:
        module, _, name = named.partition("::")
        assert runs_in(ROOT / "tests" / module).get(name), f"there is no test {named}"


@for_each("row", ROWS, ids=lambda row: f"{row.seed} {row.section}: {row.asks}")
def test_row_is_shown_in_the_running_product(row: Row) -> None:
    assert row.runs_product


def test_every_document_has_rows() -> None:
    assert {row.seed for row in ROWS} == set(TITLES)


def test_page_is_up_to_date() -> None:
    assert PAGE.read_text() == rendered(), "make docs writes it"
