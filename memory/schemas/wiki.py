"""Bodies of the API of a wiki: sources, stale pages, the report of what is wrong, and the log."""

from typing import Literal
from uuid import UUID

from pydantic import Field

from config.http.openapi import Body, with_example
from config.http.pages import PageOut
from memory.logic.knowledge.wiki_sources import MAX_SOURCE_LENGTH, WikiSource
from memory.logic.wiki.lint import REMEDIES, LintFinding, LintKind
from memory.logic.wiki.log import LogLine
from memory.logic.wiki.staleness import StaleSource
from memory.logic.wiki.wiki import IngestResult
from memory.models import WikiJob
from memory.schemas.entries import Moment
from memory.schemas.knowledge import (
    KnowledgePageOut,
    PageIn,
    PagesQuery,
    WrittenPageOut,
    page_out,
    written_page_out,
)
from memory.schemas.namespaces import NamespaceText
from memory.services import Compilation, LintReport, get_problem
from memory.services.wiki.maintain import MAX_PAGES


Texts = list[str]


class PageSourceOut(Body):
    """A source. ``entry`` is the id of its entry, ``digest`` that of its present text."""

    entry: UUID
    id: str
    title: str
    kind: str
    url: str
    digest: str
    revision: int
    updated_at: Moment | None
    run_id: str
    text: str


class StaleSourceOut(Body):
    """A source for which a page has to be compiled anew; ``why`` is ``changed`` or ``gone``."""

    page: str
    source: str
    why: str


class SourcesOut(PageOut):
    """The sources by id, with the pages that are stale because of one."""

    items: list[PageSourceOut]
    stale: list[StaleSourceOut]


class PageSourceIn(Body):
    """A source. Without an id, its URL or text identifies it. ``person`` is the user whose words it contains."""

    id: str = Field("", max_length=300)
    title: str = Field("", max_length=500)
    text: str = Field(min_length=1, max_length=MAX_SOURCE_LENGTH)
    kind: Literal["conversation", "text", "url", "run", ""] = ""
    url: str = Field("", max_length=2_000)
    person: str = Field("", max_length=200)


class IngestIn(Body):
    """A source, and the pages written from it, which are merged into the pages about their subjects."""

    model_config = with_example(
        namespace="global:default",
        source={"title": "Price list", "text": "A coffee costs two euros."},
        pages=[{"title": "Coffee", "content": "A coffee costs two euros."}],
    )

    namespace: NamespaceText
    source: PageSourceIn
    pages: list[PageIn] = Field([], max_length=MAX_PAGES)
    mode: Literal["merge", "replace"] = "merge"


class IngestedOut(Body):
    """The recorded source. ``is_new`` is false if this text was known; ``held_for`` says why it waits for a review."""

    source: PageSourceOut
    is_new: bool
    held_for: Texts
    pages: list[WrittenPageOut]


class LintQuery(PagesQuery):
    model: bool = False  # whether the team's model looks for contradictions, too


class LintFindingOut(Body):
    """A finding. ``other`` is the other page, the source or the missing name; ``remedy`` is what helps."""

    kind: str
    page: str
    other: str
    detail: str
    remedy: str


class LintOut(Body):
    """The findings by kind. ``model`` looked for contradictions, too, or ``problem`` says why it could not."""

    findings: list[LintFindingOut]
    count: int
    model: str
    problem: str


class LogLineOut(Body):
    at: Moment
    action: str
    kind: str
    id: str
    title: str
    entry: UUID
    revision: int
    sources: Texts
    actor: str
    run_id: str


class CompileIn(Body):
    """The way to compile: with the model that curates the memory, if there is one, or by ``rules``."""

    model_config = with_example(by="rules")

    by: Literal["model", "rules"] = "model"


class CompileStaleIn(CompileIn):
    model_config = with_example(namespace="global:default")

    namespace: NamespaceText


class CompiledOut(Body):
    """A page compiled anew. ``problem`` says why the rules replaced the model."""

    page: KnowledgePageOut
    by: str
    problem: str
    held_for: Texts


class CompiledPageOut(Body):
    """A page that a job compiled. ``problem`` says why the rules replaced the model."""

    entry: UUID
    revision: int
    by: str
    problem: str
    held_for: Texts


class WikiJobOut(Body):
    """A job that asks the model in the background. ``pages`` are those compiled so far.

    ``problem`` says why it failed, or why the rules replaced the model; then it can be retried.
    """

    id: UUID
    task: Literal["compile", "compile_page", "lint"]
    namespace: str
    entry: UUID | None
    status: Literal["waiting", "running", "done", "failed"]
    problem: str
    created_at: Moment
    finished_at: Moment | None
    model: str
    pages: list[CompiledPageOut]
    findings: list[LintFindingOut]


class LinkIn(Body):
    """The id, title or alias of the other page."""

    model_config = with_example(other="Opening hours")

    other: str = Field(min_length=1, max_length=500)


def source_out(source: WikiSource, entry_id: str = "") -> PageSourceOut:
    return PageSourceOut.from_object(
        source, entry=UUID(source.entry_id or entry_id), kind=str(source.kind)
    )


def ingested_out(result: IngestResult) -> IngestedOut:
    return IngestedOut(
        source=source_out(result.source, result.entry.id),
        is_new=result.is_new,
        held_for=list(result.held),
        pages=list(map(written_page_out, result.pages)),
    )


def lint_out(report: LintReport) -> LintOut:
    findings = list(map(_finding_out, report.findings))
    return LintOut.from_object(report, findings=findings, count=len(findings))


def log_line_out(line: LogLine) -> LogLineOut:
    return LogLineOut.from_object(
        line, action=str(line.action), entry=UUID(line.entry_id), sources=list(line.sources)
    )


def compiled_out(compilation: Compilation) -> CompiledOut:
    view = compilation.view
    return CompiledOut.from_object(compilation, page=page_out(view.page, view.entry))


def wiki_job_out(job: WikiJob) -> WikiJobOut:
    result = job.result
    findings = [
        LintFindingOut(
            kind=row["kind"],
            page=row["page_id"],
            other=row["other"],
            detail=row["detail"],
            remedy=str(REMEDIES[LintKind(row["kind"])]),
        )
        for row in result.get("findings", ())
    ]
    return WikiJobOut.from_object(
        job,
        namespace=job.namespace.text,
        entry=job.entry_id,
        problem=get_problem(job),
        model=result.get("model", ""),
        pages=[CompiledPageOut(**page) for page in result.get("pages", ())],
        findings=findings,
    )


def stale_out(stale: StaleSource) -> StaleSourceOut:
    return StaleSourceOut(page=stale.page_id, source=stale.source_id, why=str(stale.reason))


def _finding_out(finding: LintFinding) -> LintFindingOut:
    return LintFindingOut.from_object(finding, page=finding.page_id, remedy=str(finding.remedy))
