"""The import report as the page and the commands show it: sections of rows, and the problems of each node."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from workflows.engine.foreign_kinds.placeholders import is_missing_root
from workflows.engine.import_report.plugins import is_from, list_providers
from workflows.engine.import_report.report import Effect, Finding, ImportReport, Need
from workflows.engine.language.problems import Problem
from workflows.llm.config import normalize_name
from workflows.services.models.mappings import join_name
from workflows.templatetags.problem_sentences import translate_message
from workflows.views.catalog.report_words import HEADINGS, HINTS, describe_setting


MAX_LINKS: Final = 3  # to nodes, in one row
MAX_ROWS: Final = 100  # in one section
MAX_PROBLEMS: Final = 200

# The findings say the same.
_REPORTED_CODES: Final = frozenset(
    {
        *("kind.unknown", "tool.connected", "tool.unavailable", "agent.tool", "model.missing"),
        *("code.module", "feature.not_offered", "llm.vision"),
        "knowledge.data_set",
    }
)
Titles = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class NodeLink:
    id: str
    title: str


@dataclass(frozen=True, slots=True)
class Row:
    """Something that came with the document, as the page shows it."""

    finding: Finding
    name: str
    key: str = ""  # of a setting, as the document calls it
    detail: str = ""  # what answers, or the value of a setting
    sentence: str = ""  # what a setting would do, or why a tool can't be used
    plugin: str = ""  # that brings it in the other product
    links: tuple[NodeLink, ...] = ()
    more_count: int = 0  # nodes without a link

    @property
    def is_missing(self) -> bool:
        return self.finding.effect is not Effect.WORKS

    @property
    def is_root(self) -> bool:
        """Return whether it is a node type at which runs start."""
        return is_missing_root(self.finding.name)


@dataclass(frozen=True, slots=True)
class Section:
    need: str
    heading: str
    hint: str
    rows: tuple[Row, ...]
    more_count: int = 0  # findings without a row

    @property
    def missing_count(self) -> int:
        return sum(row.is_missing for row in self.rows)


@dataclass(frozen=True, slots=True)
class NodeProblems:
    """The problems of one node, or of the workflow itself, errors first."""

    node: str
    title: str
    problems: tuple[Problem, ...] = field(default=())


def build_sections(
    report: ImportReport, titles: Titles, knowledge_bases: Mapping[str, str]
) -> list[Section]:
    """Return what came with the document, section by section, what is missing first.

    ``knowledge_bases`` are their names by their namespaces. Features and plug-ins have lists of their own.
    """
    findings = [*report.findings, *report.present]
    plugins = [finding for finding in findings if finding.need is Need.PLUGIN]
    sections = []
    for need, hint in HINTS.items():
        of_need = [finding for finding in findings if finding.need is need]
        rows = tuple(
            replace(
                _build_row(finding, titles, knowledge_bases),
                plugin=_name_plugin(finding, plugins),
            )
            for finding in of_need[:MAX_ROWS]
        )
        is_missing = any(row.is_missing for row in rows)
        if rows:
            text = str(hint) if is_missing else ""
            more_count = len(of_need) - len(rows)
            sections.append(Section(need.value, str(HEADINGS[need]), text, rows, more_count))
    return sections


def build_plugin_rows(report: ImportReport, titles: Titles) -> list[Row]:
    """Return the plug-ins that no row of a model, a tool or a node type names, the unused ones last."""
    findings = [*report.findings, *report.present]
    plugins = [finding for finding in findings if finding.need is Need.PLUGIN]
    named = {_name_plugin(finding, plugins) for finding in findings if finding.need in HINTS}
    rest = [finding for finding in plugins if _format_plugin(finding) not in named]
    return [_build_row(finding, titles, {}) for finding in (*rest, *report.unused)]


def build_setting_rows(report: ImportReport, titles: Titles) -> list[Row]:
    """Return the features and settings without effect; those that read the same are one row."""
    rows: dict[tuple[str, str, str], Finding] = {}
    values: dict[tuple[str, str, str], dict[str, None]] = {}
    for finding in report.list_findings(Need.FEATURE):
        text = describe_setting(finding)
        key = (text.name, text.key, text.sentence)
        values.setdefault(key, {}).update({text.value: None} if text.value else {})
        nodes = (*rows[key].nodes, *finding.nodes) if key in rows else finding.nodes
        rows[key] = replace(finding, nodes=tuple(dict.fromkeys(nodes)))
    return [
        replace(_link(Row(finding, name, key, ", ".join(values[name, key, sentence])), titles),
                sentence=sentence)
        for (name, key, sentence), finding in rows.items()
    ][:MAX_ROWS]  # fmt: skip


def group_problems(
    report: ImportReport, titles: Titles, other_title: str
) -> tuple[list[NodeProblems], int]:
    """Return the problems by node, and how many there are. ``other_title`` stands above those of no node."""
    places = {place for finding in report.findings for place in finding.places}
    problems = [
        problem
        for problem in report.problems
        if problem.code not in _REPORTED_CODES and (problem.node or "", problem.field) not in places
    ]
    groups: dict[str, dict[tuple[str, str | None], Problem]] = {}
    for problem in sorted(problems, key=lambda each: not each.is_error)[:MAX_PROBLEMS]:
        group = groups.setdefault(problem.node or "", {})
        group.setdefault((problem.message, problem.field), problem)
    grouped = [
        NodeProblems(
            node, (titles.get(node) or node) if node else other_title, tuple(group.values())
        )
        for node, group in groups.items()
    ]
    return grouped, len(problems)


def list_links(nodes: Iterable[str], titles: Titles) -> Iterator[NodeLink]:
    return (NodeLink(node, titles.get(node) or node) for node in nodes)


def _build_row(finding: Finding, titles: Titles, knowledge_bases: Mapping[str, str]) -> Row:
    name = _NAMES.get(finding.need, _get_name)(finding)
    if finding.need is Need.TOOL:
        reason = translate_message(finding.detail) or finding.detail
        return _link(Row(finding, name, sentence=reason), titles)
    detail = knowledge_bases.get(finding.detail) or finding.detail
    return _link(Row(finding, name, detail=detail), titles)


def _link(row: Row, titles: Titles) -> Row:
    nodes: Sequence[str] = row.finding.nodes
    links = tuple(list_links(nodes[:MAX_LINKS], titles))
    return replace(row, links=links, more_count=max(0, len(nodes) - MAX_LINKS))


def _get_name(finding: Finding) -> str:
    return finding.name


def _name_model(finding: Finding) -> str:
    return join_name(normalize_name(finding.provider), finding.name)


_NAMES: Final[Mapping[Need, Callable[[Finding], str]]] = {Need.MODEL: _name_model}


def _name_plugin(finding: Finding, plugins: Iterable[Finding]) -> str:
    """Return the plug-in that brings what a finding is about, with its version, or an empty text."""
    providers = list_providers(finding)
    for plugin in plugins:
        if any(is_from(provider, plugin.name) for provider in providers):
            return _format_plugin(plugin)
    return ""


def _format_plugin(plugin: Finding) -> str:
    return f"{plugin.name} {plugin.detail}".strip()
