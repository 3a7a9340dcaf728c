"""Builds the import report of a document from what an installation and a team have."""

from collections.abc import Sequence

from workflows.engine.import_report.finders import (
    FINDERS,
    find_features,
    list_demo_nodes,
    merge,
)
from workflows.engine.import_report.plugins import find_plugins
from workflows.engine.import_report.report import (
    Effect,
    Finding,
    ImportReport,
    Inventory,
    Need,
    Unsupported,
)
from workflows.engine.import_report.unsupported import find_unsupported
from workflows.engine.language.document import Document
from workflows.engine.language.problems import Problem, is_fatal
from workflows.engine.language.validation import validate


_ORDER = {need: index for index, need in enumerate(Need)}
_HARMLESS = (Effect.WORKS, Effect.UNUSED)


def build_report(
    document: Document, inventory: Inventory, problems: Sequence[Problem] | None = None
) -> ImportReport:
    """Return the report. ``problems`` are those of validation, if the caller has them already."""
    if problems is None:
        problems = validate(document, inventory.kinds)
    unsupported = [*find_unsupported(document, inventory)]
    all_findings = [finding for find in FINDERS for finding in find(document, inventory)]
    findings = [finding for finding in all_findings if finding.effect is not Effect.WORKS]
    plugins = [*find_plugins(document, [*findings])]
    findings += (plugin for plugin in plugins if plugin.effect not in _HARMLESS)
    failing = {
        node for finding in findings if finding.effect is Effect.FAILS for node in finding.nodes
    }
    # A setting whose thing is here is carried out, so that it isn't unsupported either.
    reported = {place for finding in [*all_findings, *findings] for place in finding.places}
    findings = merge([*findings, *find_features(unsupported, reported)])
    failing |= {problem.node for problem in problems if problem.node and is_fatal(problem)}
    present = [*all_findings, *plugins]
    return ImportReport(
        node_count=len(document.nodes),
        working_count=sum(node.id not in failing for node in document.nodes),
        findings=tuple(sorted(findings, key=lambda finding: _ORDER[finding.need])),
        present=tuple(merge(finding for finding in present if finding.effect is Effect.WORKS)),
        unused=tuple(merge(plugin for plugin in plugins if plugin.effect is Effect.UNUSED)),
        demo_nodes=tuple(
            node for node in list_demo_nodes(document, inventory) if node not in failing
        ),
        problems=tuple(problems),
        silent=tuple(_find_silent(unsupported, [*all_findings, *findings], problems)),
    )


def _find_silent(
    unsupported: Sequence[Unsupported], findings: Sequence[Finding], problems: Sequence[Problem]
) -> list[Unsupported]:
    """Return the settings that neither a finding nor a problem tells."""
    reported = {place for finding in findings for place in finding.places}
    reported |= {(problem.node or "", problem.field) for problem in problems if problem.field}
    return [setting for setting in unsupported if setting.place not in reported]
