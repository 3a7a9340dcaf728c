"""A page of knowledge, as it is kept: one entry of the provider each."""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from memory.core.errors import InvalidInput, Serialization
from memory.core.records import Json, MemoryEntry
from memory.logic.entries.origins import get_untrusted_origin


@dataclass(frozen=True, slots=True)
class Header:
    """The head of the file a page was imported from, to be written again as it was.

    ``digest`` is of what it said; where the page says something else by now, it has had its day.
    """

    text: str
    digest: str


@dataclass(frozen=True, slots=True)
class KnowledgePage:
    """``references`` are ids of other pages; ``checked_at``: when someone last found it still right."""

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
    origin: str = ""  # tool or web, where strangers wrote some of it


CATEGORY = "page"


def key_of(page_id: str) -> str:
    return f"page:{page_id}"


def check(page: KnowledgePage) -> None:
    if not page.id.strip() or len(page.id) > _LONGEST_ID or page.id != page.id.strip():
        raise InvalidInput(f"id: 1 to {_LONGEST_ID} characters without spaces at the ends.")
    if not page.title.strip():
        raise InvalidInput("title: required.")
    if page.id in page.references:
        raise InvalidInput("references: a page can't reference itself.")


def tidy(page: KnowledgePage) -> KnowledgePage:
    """Lists without repeats and blanks; the order is the author's."""
    return replace(
        page,
        tags=_each_once(page.tags),
        references=_each_once(page.references),
        aliases=_each_once(one for one in page.aliases if one != page.title),
    )


def to_json(page: KnowledgePage) -> dict[str, Json]:
    made: dict[str, Json] = {
        "id": page.id,
        "title": page.title,
        "summary": page.summary,
        "content": page.content,
        "tags": list(page.tags),
        "references": list(page.references),
        "created_at": _written(page.created_at),
        "updated_at": _written(page.updated_at),
    }
    if page.aliases:
        made["aliases"] = list(page.aliases)
    if page.checked_at:
        made["checked_at"] = _written(page.checked_at)
    if page.header:
        made["header"] = {"text": page.header.text, "digest": page.header.digest}
    return made


def from_entry(entry: MemoryEntry) -> KnowledgePage:
    return page_of(entry.key, entry.value, entry.metadata, entry.revision)


def page_of(key: str, value: Json, metadata: Mapping[str, Json], revision: int) -> KnowledgePage:
    """Of what an entry keeps; for thousands of them the rest of it needn't be read."""
    try:
        header = value.get("header")
        return KnowledgePage(
            id=value["id"],
            title=value["title"],
            summary=value["summary"],
            content=value["content"],
            tags=tuple(value["tags"]),
            references=tuple(value["references"]),
            created_at=_read(value["created_at"]),
            updated_at=_read(value["updated_at"]),
            aliases=tuple(value.get("aliases", ())),
            checked_at=_read(value.get("checked_at")),
            header=Header(header["text"], header["digest"]) if header else None,
            revision=revision,
            origin=get_untrusted_origin(metadata),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise Serialization(f"{key} is not a page: {error!r}.") from None


def is_page(entry: MemoryEntry) -> bool:
    return entry.category == CATEGORY and entry.key.startswith(key_of(""))


def slug(title: str) -> str:
    """A name for a file or an id, of letters and digits of any script."""
    plain = unicodedata.normalize("NFKC", title).casefold()
    return _NO_WORD.sub("-", plain).strip("-")[:80].rstrip("-") or "page"


def wiki_links(content: str) -> tuple[str, ...]:
    """What ``[[this]]`` and ``[[this|read as that]]`` name: an id, a title or an alias."""
    return _each_once(one.strip() for one in _WIKI_LINK.findall(content))


_LONGEST_ID = 200
_NO_WORD = re.compile(r"[\W_]+")
_WIKI_LINK = re.compile(r"\[\[([^\[\]|\n]{1,200})(?:\|[^\[\]\n]{0,200})?\]\]")


def _each_once(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one for one in texts if one.strip()))


def _written(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None


def _read(text: Json) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
