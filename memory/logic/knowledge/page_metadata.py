"""The metadata of a page, by which searches can be filtered, under the names that Dify gives to it."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from memory.core.records import Json
from memory.logic.knowledge.page_files import parse_header
from memory.logic.knowledge.pages import KnowledgePage
from memory.logic.knowledge.wiki_sources import WikiSource


def build_page_metadata(
    page: KnowledgePage, sources: Sequence[WikiSource] = (), uploader: str = ""
) -> dict[str, Json]:
    """Return the values by name: those of the page, and those of the header that its file had.

    ``source`` lists the titles, kinds and addresses of the sources. Dates are seconds since 1970, as Dify has them.
    """
    header = parse_header(page.header.text) if page.header else {}
    titles = [source.title for source in sources] or [page.title]
    named_source = header.get("source")
    source_values = [text for source in sources for text in (source.title, source.kind, source.url)]
    return {
        **header,
        "title": page.title,
        "document_name": [*dict.fromkeys([*titles, page.title])] if sources else page.title,
        "uploader": uploader or header.get("uploader", ""),
        "upload_date": _to_seconds(page.created_at),
        "last_update_date": _to_seconds(page.updated_at),
        "source": [*dict.fromkeys(str(text) for text in (*source_values, named_source) if text)],
        "tags": list(page.tags),
    }


def describe_source(source: WikiSource, page: KnowledgePage) -> Mapping[str, Json]:
    """Return what the page is from; of a document also its original and where in it the page's text is."""
    headings = (reference.heading for reference in page.sources if reference.id == source.id)
    in_document = {"file_id": source.file_id, "heading": next(headings, "")}
    return {
        "title": source.title,
        "kind": str(source.kind),
        "url": source.url,
        **{name: text for name, text in in_document.items() if text},
    }


def _to_seconds(moment: datetime | None) -> int | None:
    return int(moment.timestamp()) if moment else None
