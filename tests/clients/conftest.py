"""Prints the table of methods × client at the end of `make test-clients`, from what the tests recorded."""

from collections.abc import Iterator, Mapping
from typing import Any


PROPERTY = "client row"


def pytest_terminal_summary(terminalreporter: Any) -> None:
    rows = dict(_list_rows(terminalreporter))
    if not rows:
        return
    methods = list(dict.fromkeys(method for row in rows.values() for method in row))
    width = max(map(len, methods))
    terminalreporter.section("methods × clients of Dify's service API")
    for number, (client, row) in enumerate(rows.items(), start=1):
        score = sum(outcome == "ok" for outcome in row.values())
        terminalreporter.line(f"{number}  {client}: {score} of {len(row)}")
    for method in methods:
        marks = (_mark(row.get(method)) for row in rows.values())
        terminalreporter.line(f"{method:{width}}  {'  '.join(marks)}")


def _list_rows(terminalreporter: Any) -> Iterator[tuple[str, Mapping[str, str]]]:
    for reports in terminalreporter.stats.values():
        for report in reports:
            for name, value in getattr(report, "user_properties", ()):
                if name == PROPERTY and report.when == "call":
                    yield value


def _mark(outcome: str | None) -> str:
    return "·" if outcome is None else "✓" if outcome == "ok" else "✗"
