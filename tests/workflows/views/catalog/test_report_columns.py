"""The columns of an import report: about equally long, in the order of a single column."""

import re

import pytest

from tests.factories.workflows import make_workflow
from tests.support.cast import Person
from tests.workflows.views.catalog.test_import_report import LLM, build_source, url
from tests.workflows.views.conftest import text_of
from workflows.views.catalog.report_columns import Columns, place_parts


@pytest.mark.parametrize(
    ("uses", "settings", "problems", "notes", "first"),
    [
        (8, 2, 2, 2, ""),
        (2, 9, 2, 2, "s"),  # what has no effect is the longest
        (1, 2, 9, 3, "s"),
        (1, 2, 2, 20, "sp"),
        (2, 0, 0, 30, ""),  # the only one stays beside what is used
        (0, 0, 0, 4, ""),
        (0, 3, 0, 4, "s"),
        (3, 0, 0, 0, ""),
    ],
)
def test_parts_fill_the_shorter_column(
    uses: int, settings: int, problems: int, notes: int, first: str
) -> None:
    rows = {"s": settings, "p": problems, "n": notes}
    parts = [(name, [range(count)]) for name, count in rows.items()]

    columns = place_parts([range(uses)], parts)

    shown = "".join(name for name, count in rows.items() if count)
    assert columns == Columns(tuple(first), tuple(shown.removeprefix(first)))


def test_page_of_a_document_with_many_settings_has_them_below_what_it_uses(alice: Person) -> None:
    llm = {**LLM, **{f"own_{number}": number for number in range(1, 9)}}
    broken = {**LLM, "prompt_template": [{"role": "user", "text": "{{#ghost.text#}}"}]}
    workflow = make_workflow(alice, source=build_source(m=llm, b=broken))

    html = text_of(alice.client.get(url("import_report", workflow)))

    first, second = re.split(r'<div class="stack report-column">', html)[1:]
    assert "What it uses" in first
    assert first.count("own_") == 8
    assert 'id="report-problems"' in second
