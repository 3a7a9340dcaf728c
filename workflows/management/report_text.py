"""An import report as text and as JSON, for the commands that print it."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from workflows.engine.import_report.report import Effect, Finding, ImportReport, Need
from workflows.engine.language.problems import Problem
from workflows.views.catalog.report_rows import (
    NodeLink,
    Row,
    Titles,
    build_plugin_rows,
    build_sections,
    build_setting_rows,
    group_problems,
)


# What is said of something that is missing, if the need says no more.
_MISSING: Final = {
    Need.MODEL: "not connected",
    Need.TOOL: "missing; a run that reaches it fails",
    Need.DATA_SET: "no knowledge base is chosen; the pages of the workflow are searched",
    Need.NODE_TYPE: "missing; a run that reaches it fails",
    Need.MODULE: "missing; code that imports it fails",
    Need.LANGUAGE: "missing; a run that reaches it fails",
    Need.PLUGIN: "missing",
}
DEMO_HINT: Final = (
    "The offline demo model answers questions from what a node gives it. It writes nothing new: summaries, translations"
    " and decisions on tools need a model."
)


def format_report(
    report: ImportReport, titles: Titles | None = None, notes: Iterable[Problem] = ()
) -> Iterator[str]:
    """Yield the lines of a report: what runs, what came with the document, what has no effect, and the problems.

    ``titles`` are those of the nodes by id, and ``notes`` what the import said of the document.
    """
    titles = titles or {}
    yield from _format_totals(report)
    for section in build_sections(report, titles, {}):
        yield f"{section.heading}:"
        for row in section.rows:
            yield f"  {_format_row(row)}"
        yield from _format_more(section.more_count)
    yield from _format_list("Other plug-ins", map(_format_row, build_plugin_rows(report, titles)))
    settings = build_setting_rows(report, titles)
    yield from _format_list("No effect here", map(_format_setting, settings))
    groups, count = group_problems(report, titles, "the whole workflow")
    lines = (
        f"{group.title}: {'error' if problem.is_error else 'warning'}: {problem.message}"
        for group in groups
        for problem in group.problems
    )
    yield from _format_list(_count(count, "problem"), lines)
    yield from _format_list("From the import", (note.message for note in notes))


def _format_totals(report: ImportReport) -> Iterator[str]:
    yield f"{report.ready_count} of {_count(report.node_count, 'node')} can run"
    if report.demo_count:
        verb = "has" if report.demo_count == 1 else "have"
        yield f"{_count(report.demo_count, 'node')} {verb} only the offline demo model. {DEMO_HINT}"
    if report.failing_count:
        is_one = report.failing_count == 1
        verb, them = ("fails", "it") if is_one else ("fail", "them")
        yield f"{_count(report.failing_count, 'node')} {verb} when a run reaches {them}"


def _format_list(heading: str, lines: Iterable[str]) -> Iterator[str]:
    indented = [f"  {line}" for line in lines]
    if indented:
        yield f"{heading}:"
        yield from indented


def _format_row(row: Row) -> str:
    plugin = f" (plug-in {row.plugin})" if row.plugin else ""
    if not row.plugin and row.finding.need is Need.NODE_TYPE and row.detail:
        plugin = f" ({row.detail})"
    reason = f" ({row.sentence})" if row.sentence else ""
    nodes = _format_nodes(row.links, row.more_count)
    return f"{row.name}{plugin}: {_format_state(row)}{reason}{nodes}"


def _format_state(row: Row) -> str:
    """Return whether a thing is here, and what stands in for it."""
    finding = row.finding
    if finding.effect is Effect.UNUSED:
        return "not used by any node"
    if finding.effect is Effect.REFUSED:
        return "missing; the agent goes on without it"
    if finding.is_demo:
        return "only the offline demo model answers"
    if finding.need is Need.MODEL and row.detail and row.detail != row.name:
        return f"{row.detail} answers"
    if not row.is_missing:
        return f"{row.detail} answers" if finding.need is Need.DATA_SET and row.detail else "here"
    return _MISSING.get(finding.need, "missing")


def _format_setting(row: Row) -> str:
    name = " ".join(filter(None, (row.name, row.key and f"`{row.key}`")))
    value = f" ({row.detail[:80]})" if row.detail else ""
    return f"{name}{value}: {row.sentence}{_format_nodes(row.links, row.more_count)}"


def _format_nodes(links: Iterable[NodeLink], more_count: int) -> str:
    names = ", ".join(link.title for link in links)
    more = f" and {more_count} more" if more_count else ""
    return f" [{names}{more}]" if names else ""


def _format_more(count: int) -> Iterator[str]:
    if count:
        yield f"  and {count} more"


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _serialize_finding(finding: Finding) -> dict[str, Any]:
    return {
        "need": finding.need.value,
        "name": finding.name,
        "provider": finding.provider,
        "effect": finding.effect.value,
        "detail": finding.detail,
        "nodes": list(finding.nodes),
    }


def serialize_report(report: ImportReport) -> dict[str, Any]:
    return {
        "nodes": report.node_count,
        "working": report.working_count,
        "demo_nodes": list(report.demo_nodes),
        "findings": [_serialize_finding(finding) for finding in report.findings],
        "present": [_serialize_finding(finding) for finding in report.present],
        "unused": [_serialize_finding(finding) for finding in report.unused],
        "ignored_in_silence": [
            {"node": setting.node, "setting": setting.path} for setting in report.silent
        ],
    }
