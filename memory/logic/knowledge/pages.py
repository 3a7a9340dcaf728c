"""A knowledge page and its serialization; each page is an entry of the store."""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from memory.core.errors import InvalidInput, Serialization
from memory.core.records import Json, MemoryEntry
from memory.logic.entries.origins import get_untrusted_origin


PAGE_CATEGORY = "page"

_MAX_ID_LENGTH = 200
_NO_WORD = re.compile(r"[\W_]+")
_WIKI_LINK = re.compile(r"\[\[([^\[\]|\n]{1,200})(?:\|[^\[\]\n]{0,200})?\]\]")


@dataclass(frozen=True, slots=True)
class Header:
    """The header of the file that a page was imported from, to be exported unchanged.

    ``digest`` is the digest of its values; once the values of the page differ, a new header is written.
    """

    text: str
    digest: str


@dataclass(frozen=True, slots=True)
class PageSource:
    """A source that a page was written from.

    ``digest`` is that of the source's text at that time. ``paragraphs`` are the digests of the paragraphs that say what
    the source says, so that they can be removed when the source is erased. ``heading`` and ``position`` tell where in a
    document the page's text is: below which headings, and which of the document's pages it is, from 1.
    """

    id: str
    digest: str
    paragraphs: tuple[str, ...] = ()
    heading: str = ""
    position: int = 0


@dataclass(frozen=True, slots=True)
class KnowledgePage:
    """A page. ``references`` are ids of other pages; ``checked_at`` is when a member last confirmed it.

    ``compiled_at`` is when it was last written anew from its ``sources``, by a model or by ``rules`` (``compiled_by``).
    """

    id: str
    title: str
    summary: str = ""
    content: str = ""
    tags: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    created_at: datetime | None = None
    updated_at: datetime | None = None
    aliases: tuple[str, ...] = ()
    checked_at: datetime | None = None
    header: Header | None = None
    revision: int = 1
    origin: str = ""  # tool or web, if a part is untrusted
    sources: tuple[PageSource, ...] = ()
    compiled_at: datetime | None = None
    compiled_by: str = ""


def build_page_key(page_id: str) -> str:
    return f"page:{page_id}"


def check_page(page: KnowledgePage) -> None:
    """Raise InvalidInput if the id or the title is invalid, or if the page references itself."""
    if not page.id.strip() or len(page.id) > _MAX_ID_LENGTH or page.id != page.id.strip():
        raise InvalidInput(f"id: 1 to {_MAX_ID_LENGTH} characters without spaces at the ends.")
    if not page.title.strip():
        raise InvalidInput("title: required.")
    if page.id in page.references:
        raise InvalidInput("references: a page can't reference itself.")


def normalize_page(page: KnowledgePage) -> KnowledgePage:
    """Remove repeated and blank items from the lists; the author's order stays."""
    return replace(
        page,
        tags=_deduplicate(page.tags),
        references=_deduplicate(page.references),
        aliases=_deduplicate(alias for alias in page.aliases if alias != page.title),
    )


def to_json(page: KnowledgePage) -> dict[str, Json]:
    value: dict[str, Json] = {
        "id": page.id,
        "title": page.title,
        "summary": page.summary,
        "content": page.content,
        "tags": list(page.tags),
        "references": list(page.references),
        "created_at": _format_time(page.created_at),
        "updated_at": _format_time(page.updated_at),
    }
    if page.aliases:
        value["aliases"] = list(page.aliases)
    if page.checked_at:
        value["checked_at"] = _format_time(page.checked_at)
    if page.header:
        value["header"] = {"text": page.header.text, "digest": page.header.digest}
    if page.sources:
        value["sources"] = list(map(_format_source, page.sources))
    if page.compiled_at:
        value["compiled_at"] = _format_time(page.compiled_at)
        value["compiled_by"] = page.compiled_by
    return value


def from_entry(entry: MemoryEntry) -> KnowledgePage:
    """Return the page in an entry; raise Serialization if it is malformed."""
    return parse_page(entry.key, entry.value, entry.metadata, entry.revision)


def parse_page(key: str, value: Json, metadata: Mapping[str, Json], revision: int) -> KnowledgePage:
    """Parse a page from these fields of its entry; raise Serialization if they are malformed."""
    try:
        header = value.get("header")
        return KnowledgePage(
            id=value["id"],
            title=value["title"],
            summary=value["summary"],
            content=value["content"],
            tags=tuple(value["tags"]),
            references=tuple(value["references"]),
            created_at=_parse_time(value["created_at"]),
            updated_at=_parse_time(value["updated_at"]),
            aliases=tuple(value.get("aliases", ())),
            checked_at=_parse_time(value.get("checked_at")),
            header=Header(header["text"], header["digest"]) if header else None,
            revision=revision,
            origin=get_untrusted_origin(metadata),
            sources=tuple(map(_parse_source, value.get("sources", ()))),
            compiled_at=_parse_time(value.get("compiled_at")),
            compiled_by=value.get("compiled_by", ""),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise Serialization(f"{key} is not a page: {error!r}.") from None


def _format_source(source: PageSource) -> dict[str, Json]:
    value: dict[str, Json] = {
        "id": source.id,
        "digest": source.digest,
        "paragraphs": list(source.paragraphs),
    }
    if source.position:
        value |= {"heading": source.heading, "position": source.position}
    return value


def _parse_source(value: Mapping[str, Json]) -> PageSource:
    return PageSource(
        value["id"],
        value["digest"],
        tuple(value.get("paragraphs", ())),
        value.get("heading", ""),
        value.get("position", 0),
    )


def is_page(entry: MemoryEntry) -> bool:
    return entry.category == PAGE_CATEGORY and entry.key.startswith(build_page_key(""))


def build_slug(title: str) -> str:
    """Build an id or a file name from the title's letters and digits, joined by hyphens."""
    plain = unicodedata.normalize("NFKC", title).casefold()
    return _NO_WORD.sub("-", plain).strip("-")[:80].rstrip("-") or "page"


def list_wiki_links(content: str) -> tuple[str, ...]:
    """List the ids, titles or aliases in links such as ``[[target]]`` and ``[[target|label]]``."""
    return _deduplicate(name.strip() for name in _WIKI_LINK.findall(content))


def _deduplicate(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for text in texts if text.strip()))


def _format_time(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None


def _parse_time(text: Json) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
