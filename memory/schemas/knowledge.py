"""Bodies of the knowledge page API and of the history of a conversation."""

from collections.abc import Sequence
from typing import Any, Literal
from uuid import UUID

from pydantic import Base64Bytes, Field

from config.http.openapi import Body, with_example
from config.http.pages import PageOut
from memory.core.provider import MAX_QUERY_LENGTH
from memory.core.records import MemoryEntry
from memory.logic.conversations.messages import to_json
from memory.logic.knowledge.page_index import OutdatedReference
from memory.logic.knowledge.page_queries import PageHit
from memory.logic.knowledge.page_requests import PageWriteResult
from memory.logic.knowledge.pages import KnowledgePage
from memory.schemas.entries import Json, Moment
from memory.schemas.namespaces import NamespaceText
from memory.services import HistoryView, KnowledgeBase, PageView
from memory.services.conversations.conversation import FoldView
from memory.services.knowledge.bulk_pages import PageEntry
from memory.services.knowledge.pages import MAX_PAGES


Texts = list[str]


class KnowledgePageOut(Body):
    """A page. The paths of this API use ``entry``, the id of its entry; other pages refer to the page by its ``id``."""

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
    compiled_at: Moment | None
    compiled_by: str  # a model, or ``rules``
    sources: Texts  # ids of the sources that it was written from
    content: str


class OutdatedReferenceOut(Body):
    """An outdated reference of a page. ``why`` is ``changed`` if the referenced page changed later, or else ``vanished``."""

    page: str
    reference: str
    why: str
    since: Moment | None


class LinksOut(Body):
    """The ids of the pages that a page refers to, existing or not, and of the pages that refer to it."""

    links: Texts
    backlinks: Texts
    stale: list[OutdatedReferenceOut]


class PageViewOut(Body):
    page: KnowledgePageOut
    links: Texts
    backlinks: Texts
    stale: list[OutdatedReferenceOut]
    held_for: Texts = []  # reasons why the new text waits in quarantine; the page is unchanged


class KnowledgeBaseOut(PageOut):
    """The pages by title. ``links`` has the ids of referenced pages by the id of the page."""

    items: list[KnowledgePageOut]
    links: dict[str, Texts]
    stale: list[OutdatedReferenceOut]


class PageHitOut(Body):
    page: KnowledgePageOut
    score: float
    parts: dict[str, float]


class WrittenPageOut(Body):
    """A written page. ``merged_for`` is the reason for merging it into an existing page (title, alias or content)."""

    page: KnowledgePageOut
    merged_for: str
    held_for: Texts = []  # reasons why it waits in quarantine for a review instead


class PagesQuery(Body):
    namespace: NamespaceText


class SearchQuery(Body):
    """A search for pages in one namespace or, without it, in all knowledge bases that the caller may see."""

    namespace: str = Field("", max_length=200)
    query: str = Field(max_length=MAX_QUERY_LENGTH)
    tag: str = Field("", max_length=200)
    min_score: float = Field(0.1, ge=0, le=1)


class PageIn(Body):
    """A page to write. Without an id it gets one from its title. ``origin`` says where a program read what it writes."""

    id: str = Field("", max_length=200)
    title: str = Field(min_length=1, max_length=500)
    summary: str = Field("", max_length=5_000)
    content: str = ""
    tags: Texts = []
    references: Texts = []
    aliases: Texts = []
    sources: Texts = []
    origin: Literal["", "web", "tool"] = ""


class WriteIn(Body):
    """Pages to write: ``merge`` adds to an existing page on the subject, ``replace`` replaces that of the id or title."""

    model_config = with_example(
        namespace="global:default", pages=[{"title": "Opening hours", "content": "Nine to five."}]
    )

    namespace: NamespaceText
    pages: list[PageIn] = Field(min_length=1, max_length=MAX_PAGES)
    mode: Literal["merge", "replace"] = "merge"
    reason: str = Field("", max_length=500)


class RewriteIn(Body):
    """The fields to change; omitted fields stay. ``If-Match`` names the revision that the edit is based on."""

    model_config = with_example(summary="When we are there.", reason="shorter")

    title: str | None = Field(None, min_length=1, max_length=500)
    summary: str | None = Field(None, max_length=5_000)
    content: str | None = None
    tags: Texts | None = None
    references: Texts | None = None
    aliases: Texts | None = None
    reason: str = Field("", max_length=500)

    def get_changes(self) -> dict[str, Any]:  # Any: a string or a list of strings
        values = self.dict(exclude_unset=True, exclude={"reason"})
        return {name: value for name, value in values.items() if value is not None}


class PagesImportIn(Body):
    """Pages to import: ``files`` has texts by file name, ``archive`` is a ZIP of such files in base64."""

    model_config = with_example(
        namespace="global:default", files={"opening-hours.md": "# Opening hours"}
    )

    namespace: NamespaceText
    files: dict[str, str] = {}
    archive: Base64Bytes | None = None
    reason: str = Field("", max_length=500)
    dry_run: bool = False


class PageFindingOut(Body):
    """A finding of the content filter: the kinds of redacted ``secrets``, and the reasons for a quarantine."""

    file: str
    page: str
    secrets: Texts
    held_for: Texts


class ImportedOut(Body):
    """The result of an import. ``pages`` are in use now, ``skipped`` files are no pages, ``caught`` has the findings."""

    pages: Texts
    skipped: Texts
    caught: list[PageFindingOut]
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
    """A fold: its reason (window, capacity, tokens or orphan), and ``by``, the name of the summariser or ``cut``."""

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
    return KnowledgePageOut.from_object(
        page,
        entry=UUID(entry.id),
        namespace=entry.namespace,
        sources=[source.id for source in page.sources],
    )


def page_view_out(view: PageView) -> PageViewOut:
    return PageViewOut.from_object(
        view, page=page_out(view.page, view.entry), stale=_build_outdated(view.outdated)
    )


def links_out(view: PageView) -> LinksOut:
    return LinksOut.from_object(view, stale=_build_outdated(view.outdated))


def pages_out(
    knowledge_base: KnowledgeBase, rows: Sequence[KnowledgePage]
) -> list[KnowledgePageOut]:
    return [page_out(page, knowledge_base.entries[page.id]) for page in rows]


def describe_references(
    knowledge_base: KnowledgeBase, rows: Sequence[KnowledgePage]
) -> dict[str, object]:
    """Return the links of these pages, and the references of all pages that are out of date."""
    index, ids = knowledge_base.index, {page.id for page in rows}
    return {
        "links": {page: list(targets) for page, targets in index.links.items() if page in ids},
        "stale": _build_outdated(index.outdated),
    }


def hits_out(hits: Sequence[PageHit]) -> list[PageHitOut]:
    return [
        PageHitOut(page=page_out(hit.item.page, hit.entry), score=hit.score, parts=dict(hit.parts))
        for hit in hits
    ]


def written_page_out(result: PageWriteResult) -> WrittenPageOut:
    return WrittenPageOut(
        page=page_out(result.write.page, result.entry),
        merged_for=result.merged_for,
        held_for=list(result.held_for),
    )


def history_out(view: HistoryView) -> FoldedHistoryOut:
    return FoldedHistoryOut.from_object(
        view, messages=list(map(to_json, view.messages)), folds=list(map(_build_fold, view.folds))
    )


def _build_outdated(marks: Sequence[OutdatedReference]) -> list[OutdatedReferenceOut]:
    return [
        OutdatedReferenceOut.from_object(mark, page=mark.page_id, why=mark.reason) for mark in marks
    ]


def _build_fold(view: FoldView) -> FoldOut:
    messages = [FoldedOut.from_object(text.line, content=text.content) for text in view.texts]
    return FoldOut.from_object(view.fold, by=view.fold.author, messages=messages)
