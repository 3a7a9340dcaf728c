"""Bodies of the knowledge page API and of the history of a conversation."""

from collections.abc import Sequence
from typing import Any, Literal
from uuid import UUID

from pydantic import Base64Bytes, Field

from config.http.openapi import Body, with_example
from memory.core.provider import MAX_QUERY_LENGTH
from memory.core.records import MemoryEntry
from memory.logic.conversations.messages import to_json
from memory.logic.knowledge.page_index import OutdatedReference
from memory.logic.knowledge.page_requests import PageHit, PageWriteResult
from memory.logic.knowledge.pages import KnowledgePage
from memory.schemas.entries import Json, Moment
from memory.services import HistoryView, KnowledgeBase, PageView
from memory.services.conversations.conversation import FoldView
from memory.services.knowledge.bulk_pages import PageEntry
from memory.services.knowledge.pages import MAX_PAGES, MAX_RESULTS


Texts = list[str]


class KnowledgePageOut(Body):
    """A page. ``entry`` is the id of its entry, which the paths of this API use; ``id`` is the id by which other pages
    refer to it.
    """

    entry: UUID
    namespace: str
    id: str
    title: str
    summary: str
    tags: Texts
    references: Texts
    aliases: Texts
    revision: int
    created_at: Moment | None
    updated_at: Moment | None
    checked_at: Moment | None
    content: str


class StaleOut(Body):
    """An outdated reference. ``why``: changed (the referenced page changed later) or vanished (it does not exist)."""

    page: str
    reference: str
    why: str
    since: Moment | None


class LinksOut(Body):
    """Ids of pages: those that the page refers to, existing or not, and those that refer to it."""

    links: Texts
    backlinks: Texts
    stale: list[StaleOut]


class OpenedOut(Body):
    page: KnowledgePageOut
    links: Texts
    backlinks: Texts
    stale: list[StaleOut]
    held_for: Texts = []  # reasons why the new text waits in quarantine; the page is unchanged


class KnowledgeBaseOut(Body):
    """The pages by title. ``links`` are grouped by the id of their page."""

    pages: list[KnowledgePageOut]
    links: dict[str, Texts]
    stale: list[StaleOut]


class FoundOut(Body):
    page: KnowledgePageOut
    score: float
    parts: dict[str, float]


class FoundPagesOut(Body):
    """The matching pages, best first."""

    results: list[FoundOut]
    count: int


class KeptOut(Body):
    """A written page. ``merged_for`` is the reason for merging it into an existing page (title, alias, content), if it
    was merged.

    ``held_for`` has the reasons why it waits in quarantine for a review instead.
    """

    page: KnowledgePageOut
    merged_for: str
    held_for: Texts = []


class PagesQuery(Body):
    namespace: str = Field(max_length=200)


class SearchQuery(Body):
    """Without a namespace, all knowledge bases that the caller may see are searched."""

    namespace: str = Field("", max_length=200)
    query: str = Field(max_length=MAX_QUERY_LENGTH)
    tag: str = Field("", max_length=200)
    limit: int = Field(20, ge=1, le=MAX_RESULTS)
    min_score: float = Field(0.1, ge=0, le=1)


class PageIn(Body):
    """A page to write. Without an id it gets one from its title."""

    id: str = Field("", max_length=200)
    title: str = Field(min_length=1, max_length=500)
    summary: str = Field("", max_length=5_000)
    content: str = ""
    tags: Texts = []
    references: Texts = []
    aliases: Texts = []


class WriteIn(Body):
    """Pages to write. ``merge`` adds to an existing page about the same subject; ``replace`` replaces the page of that
    id or title.
    """

    model_config = with_example(
        namespace="global:default", pages=[{"title": "Opening hours", "content": "Nine to five."}]
    )

    namespace: str = Field(max_length=200)
    pages: list[PageIn] = Field(min_length=1, max_length=MAX_PAGES)
    mode: Literal["merge", "replace"] = "merge"
    reason: str = Field("", max_length=500)


class RewriteIn(Body):
    """The fields to change; missing fields stay. ``If-Match`` names the revision that the edit is based on."""

    model_config = with_example(summary="When we are there.", reason="shorter")

    title: str | None = Field(None, min_length=1, max_length=500)
    summary: str | None = Field(None, max_length=5_000)
    content: str | None = None
    tags: Texts | None = None
    references: Texts | None = None
    aliases: Texts | None = None
    reason: str = Field("", max_length=500)

    def changes(self) -> dict[str, Any]:  # Any: a string or a list of strings
        values = self.dict(exclude_unset=True, exclude={"reason"})
        return {name: value for name, value in values.items() if value is not None}


class PagesImportIn(Body):
    """Pages to import. ``files``: text by name; ``archive``: a ZIP of such files, in base64. ``dry_run`` changes
    nothing.
    """

    model_config = with_example(
        namespace="global:default", files={"opening-hours.md": "# Opening hours"}
    )

    namespace: str = Field(max_length=200)
    files: dict[str, str] = {}
    archive: Base64Bytes | None = None
    reason: str = Field("", max_length=500)
    dry_run: bool = False


class CaughtPageOut(Body):
    """A finding in a page. ``secrets`` are the kinds of redacted secrets; ``held_for`` are the reasons for a quarantine."""

    file: str
    page: str
    secrets: Texts
    held_for: Texts


class ImportedOut(Body):
    """The result of an import. ``pages`` are in use now, ``skipped`` are files that are not pages, and ``caught`` has
    the findings of the content filter in imported pages, quarantined ones included.
    """

    pages: Texts
    skipped: Texts
    caught: list[CaughtPageOut]
    dry_run: bool


class FoldedOut(Body):
    """A folded message; ``content`` is its whole text."""

    id: str
    role: str
    content: str
    at: Moment | None
    tokens_before: int
    tokens_after: int


class FoldOut(Body):
    """A fold. ``reason``: window, capacity, tokens, orphan; ``by``: cut, or the name of the summariser."""

    reason: str
    by: str
    at: Moment | None
    messages: list[FoldedOut]


class FoldedHistoryOut(Body):
    """The messages in the history, the summary of the folded ones, and the folds, newest first."""

    messages: list[dict[str, Json]]
    summary: str
    tokens: int
    folds: list[FoldOut]


def page_out(page: KnowledgePage, entry: MemoryEntry | PageEntry) -> KnowledgePageOut:
    return KnowledgePageOut.from_object(page, entry=UUID(entry.id), namespace=entry.namespace)


def opened_out(view: PageView) -> OpenedOut:
    return OpenedOut.from_object(
        view, page=page_out(view.page, view.entry), stale=_build_outdated(view.outdated)
    )


def links_out(view: PageView) -> LinksOut:
    return LinksOut.from_object(view, stale=_build_outdated(view.outdated))


def knowledge_base_out(knowledge_base: KnowledgeBase) -> KnowledgeBaseOut:
    return KnowledgeBaseOut(
        pages=[page_out(page, knowledge_base.entries[page.id]) for page in knowledge_base.pages],
        links={page: list(targets) for page, targets in knowledge_base.index.links.items()},
        stale=_build_outdated(knowledge_base.index.outdated),
    )


def found_out(hits: Sequence[PageHit]) -> FoundPagesOut:
    results = [
        FoundOut(page=page_out(hit.item.page, hit.entry), score=hit.score, parts=dict(hit.parts))
        for hit in hits
    ]
    return FoundPagesOut(results=results, count=len(results))


def kept_out(result: PageWriteResult) -> KeptOut:
    return KeptOut(
        page=page_out(result.write.page, result.entry),
        merged_for=result.merged_for,
        held_for=list(result.held),
    )


def history_out(view: HistoryView) -> FoldedHistoryOut:
    return FoldedHistoryOut.from_object(
        view, messages=list(map(to_json, view.messages)), folds=list(map(_build_fold, view.folds))
    )


def _build_outdated(marks: Sequence[OutdatedReference]) -> list[StaleOut]:
    return [StaleOut.from_object(mark, page=mark.page_id, why=mark.reason) for mark in marks]


def _build_fold(view: FoldView) -> FoldOut:
    messages = [FoldedOut.from_object(text.line, content=text.content) for text in view.texts]
    return FoldOut.from_object(view.fold, by=view.fold.author, messages=messages)
