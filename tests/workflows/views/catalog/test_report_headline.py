"""The headline of an import report counts all that keeps the workflow from running as its author meant."""

import pytest
from django.template.loader import render_to_string

from workflows.engine.import_report.report import Effect, Finding, ImportReport, Need
from workflows.engine.language.problems import Problem, Severity


BASE = Finding(Need.DATA_SET, "handbook", Effect.FAILS)
ERROR = Problem("input.required", "enter a value", node="llm")
WARNING = Problem("output.unused", "nobody reads it", severity=Severity.WARNING)


def read_headline(report: ImportReport) -> str:
    html = render_to_string("workflows/import_report/_headline.html", {"report": report})
    return " ".join(html.split())


@pytest.mark.parametrize(
    ("findings", "problems", "headline"),
    [
        ((), (), "All 5 nodes run here"),
        ((), (WARNING,), "All 5 nodes run here"),
        ((BASE,), (), "All 5 nodes open · 1 knowledge base isn't chosen yet"),
        ((BASE, BASE), (), "All 5 nodes open · 2 knowledge bases aren't chosen yet"),
        ((), (ERROR, WARNING), "All 5 nodes open · 1 problem keeps it from starting"),
        ((BASE,), (ERROR, ERROR), "All 5 nodes open · 1 knowledge base isn't chosen yet · 2 problems keep it from starting"),
    ],
)  # fmt: skip
def test_headline_counts_bases_to_choose_and_problems(
    findings: tuple[Finding, ...], problems: tuple[Problem, ...], headline: str
) -> None:
    report = ImportReport(node_count=5, working_count=5, findings=findings, problems=problems)

    assert read_headline(report).replace("&#x27;", "'") == headline
