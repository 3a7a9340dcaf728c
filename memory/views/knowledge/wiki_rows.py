"""The rows on the pages of a wiki: the sources of a page, the findings of its report, and the lines of its log."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.principals import Principal
from memory.host import RunDescription
from memory.logic.knowledge.wiki_sources import SourceKind, WikiSource
from memory.logic.wiki.lint import LintFinding, LintKind
from memory.logic.wiki.log import LogAction, LogLine
from memory.logic.wiki.staleness import StaleReason
from memory.provenance import load_provenance
from memory.services import KnowledgeBase, LintReport, PageView, WikiOverview
from memory.views.knowledge.presentation import build_page_url


KIND_LABELS: Final[Mapping[str, Promise]] = {
    SourceKind.CONVERSATION: _("Conversation"),
    SourceKind.TEXT: _("Text"),
    SourceKind.URL: _("Web page"),
    SourceKind.RUN: _("Run"),
    SourceKind.DOCUMENT: _("Document"),
}
STALE_LABELS: Final[Mapping[str, Promise]] = {
    StaleReason.CHANGED: _("changed since"),
    StaleReason.GONE: _("forgotten"),
}
FINDING_LABELS: Final[Mapping[str, Promise]] = {
    LintKind.ORPHAN: _("No page links to it"),
    LintKind.BROKEN_LINK: _("Link to a missing page"),
    LintKind.TWIN: _("Two pages about the same"),
    LintKind.CONTRADICTION: _("Contradiction"),
    LintKind.STALE: _("Stale"),
    LintKind.NO_SOURCES: _("No sources"),
    LintKind.UNUSED_SOURCE: _("Source without a page"),
    LintKind.UNUSED_SENTENCE: _("Not in any page"),
}
ACTION_LABELS: Final[Mapping[str, Promise]] = {
    LogAction.INGESTED: _("Source added"),
    LogAction.SOURCE_CHANGED: _("Source changed"),
    LogAction.CREATED: _("Page created"),
    LogAction.CHANGED: _("Page changed"),
    LogAction.COMPILED: _("Page compiled anew"),
    LogAction.LINKED: _("Page linked"),
    LogAction.FORGOTTEN: _("Forgotten"),
    LogAction.RESTORED: _("Restored"),
}


@dataclass(frozen=True, slots=True)
class SourceRow:
    """A source; ``url`` is that of its entry, and empty if it is gone. ``stale`` says why its page is stale."""

    title: str
    url: str
    kind: str | Promise = ""
    stale: str | Promise = ""
    source: WikiSource | None = None
    pages: Sequence[tuple[str, str]] = ()  # title and URL
    heading: str = ""  # where in a document the page's text is
    original_url: str = ""  # of a document


@dataclass(frozen=True, slots=True)
class FindingRow:
    """A finding with its page and its other page, each a title and a URL, and the entry that its remedy changes."""

    label: str | Promise
    finding: LintFinding
    title: str
    url: str
    other_title: str = ""
    other_url: str = ""
    entry_id: str = ""
    reason: str | Promise = ""


@dataclass(frozen=True, slots=True)
class LogRow:
    label: str | Promise
    line: LogLine
    url: str
    actor: str
    run: RunDescription | None


def build_source_rows(view: PageView, original_urls: Mapping[str, str]) -> list[SourceRow]:
    """Build the rows of the sources of a page, also of those that are gone."""
    stale = {
        item.source_id: STALE_LABELS[item.reason]
        for item in view.knowledge_base.stale
        if item.page_id == view.page.id
    }
    sources = {source.id: source for source in view.sources}
    return [
        replace(
            _build_source_row(cited.id, sources, stale),
            heading=cited.heading,
            original_url=original_urls.get(cited.id, ""),
        )
        for cited in view.page.sources
    ]


def build_wiki_sources(overview: WikiOverview) -> list[SourceRow]:
    """Build the rows of all sources with their pages, the newest first."""
    base = overview.knowledge_base
    pages: dict[str, list[tuple[str, str]]] = {}
    for page in base.pages:
        for cited in page.sources:
            pages.setdefault(cited.id, []).append(_name_page(base, page.id))
    newest_first = sorted(
        overview.sources, key=lambda s: (str(s.updated_at or ""), s.id), reverse=True
    )
    return [
        SourceRow(
            source.title,
            reverse("memory:entry", args=[source.entry_id]),
            KIND_LABELS[source.kind],
            source=source,
            pages=pages.get(source.id, ()),
        )
        for source in newest_first
    ]


def build_finding_rows(report: LintReport) -> list[FindingRow]:
    base = report.overview.knowledge_base
    sources = {source.id: source for source in report.overview.sources}
    return [_build_finding_row(finding, base, sources) for finding in report.findings]


def build_log_rows(principal: Principal, lines: Sequence[LogLine]) -> list[LogRow]:
    provenance = load_provenance(
        principal, [line.actor for line in lines], [line.run_id for line in lines]
    )
    return [
        LogRow(
            ACTION_LABELS[line.action],
            line,
            "" if line.action is LogAction.FORGOTTEN else _build_line_url(line),
            "" if line.run_id in provenance.runs else provenance.actors.get(line.actor, ""),
            provenance.runs.get(line.run_id),
        )
        for line in lines
    ]


def _build_source_row(
    source_id: str, sources: Mapping[str, WikiSource], stale: Mapping[str, Promise]
) -> SourceRow:
    source = sources.get(source_id)
    if source is None:
        return SourceRow(source_id, "", stale=stale.get(source_id, ""))
    url = reverse("memory:entry", args=[source.entry_id])
    return SourceRow(source.title, url, KIND_LABELS[source.kind], stale.get(source_id, ""), source)


def _build_finding_row(
    finding: LintFinding, base: KnowledgeBase, sources: Mapping[str, WikiSource]
) -> FindingRow:
    title, url = _name_page(base, finding.page_id) if finding.page_id else ("", "")
    entry = base.entries.get(finding.page_id)
    other_title, other_url = finding.other, ""
    if source := sources.get(finding.other):
        other_title, other_url = source.title, reverse("memory:entry", args=[source.entry_id])
    elif finding.other in base.entries:
        other_title, other_url = _name_page(base, finding.other)
    return FindingRow(
        FINDING_LABELS[finding.kind],
        finding,
        title,
        url,
        other_title,
        other_url,
        entry.id if entry else "",
        STALE_LABELS.get(finding.detail, "") if finding.kind is LintKind.STALE else "",
    )


def _name_page(base: KnowledgeBase, page_id: str) -> tuple[str, str]:
    titles: Iterable[str] = (page.title for page in base.pages if page.id == page_id)
    entry = base.entries.get(page_id)
    return next(iter(titles), page_id), build_page_url(entry.id) if entry else ""


def _build_line_url(line: LogLine) -> str:
    name = "memory:knowledge_page" if line.kind == "page" else "memory:entry"
    return reverse(name, args=[line.entry_id])
