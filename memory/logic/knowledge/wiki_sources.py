"""The sources from which pages are written: each is an entry of the pages' namespace, with the text it had last.

Sources are entries so that all rules for entries apply to them: permissions, quotas, revisions, forgetting and erasure.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from memory.core.errors import InvalidInput, Serialization
from memory.core.provider import NamespaceStore
from memory.core.records import Json, MemoryEntry, MemoryQuery, Source, StoreParams
from memory.core.values import MAX_KEY_LENGTH
from memory.logic.entries.origins import (
    UNTRUSTED,
    ContentOrigin,
    get_untrusted_origin,
    parse_origin,
)
from memory.logic.knowledge.page_sources import hash_text
from memory.logic.knowledge.pages import build_slug


SOURCE_CATEGORY: Final = "source"
MAX_SOURCE_LENGTH: Final = 200_000  # characters
_MAX_TITLE: Final = 500
_MAX_URL: Final = 2_000
_KEY_PREFIX: Final = "source:"


class SourceKind(StrEnum):
    CONVERSATION = "conversation"
    TEXT = "text"  # pasted, or written by a workflow
    URL = "url"  # the text of a web page
    RUN = "run"  # the outputs of a run
    DOCUMENT = "document"  # an uploaded file; its text is in the pages alone


@dataclass(frozen=True, slots=True)
class WikiSource:
    """A source. ``person`` is the user whose words it contains, with whom it is erased."""

    id: str
    title: str
    text: str
    kind: SourceKind = SourceKind.TEXT
    url: str = ""
    person: str = ""
    origin: str = ""  # tool or web, if it is untrusted
    entry_id: str = ""
    revision: int = 1
    updated_at: datetime | None = None
    run_id: str = ""
    is_held: bool = False  # waits for a review in any case, as outside text of a run does
    file_id: str = ""  # of a document: its original in the file store
    file_digest: str = ""  # SHA-256 of the original

    @property
    def digest(self) -> str:
        return hash_text(self.text)


def parse_source(value: Json, *, default_person: str = "") -> WikiSource:
    """Parse a source from JSON {id, title, text, kind, url}; raise InvalidInput that names the wrong field.

    Without an id, the URL or the text identifies the source, so that the same one is never recorded twice.
    """
    if not isinstance(value, Mapping):
        raise InvalidInput("source: must be an object with a text.")
    texts = {name: _get_text(value, name) for name in ("id", "title", "text", "url", "person")}
    if not texts["text"].strip():
        raise InvalidInput("source.text: required.")
    for name, limit in (("text", MAX_SOURCE_LENGTH), ("title", _MAX_TITLE), ("url", _MAX_URL)):
        if len(texts[name]) > limit:
            raise InvalidInput(f"source.{name}: at most {limit:,} characters.")
    kind = _parse_kind(value.get("kind"), texts["url"])
    source_id = texts["id"].strip() or _build_id(texts["url"], texts["text"])
    if len(build_source_key(source_id)) > MAX_KEY_LENGTH:
        raise InvalidInput("source.id: too long.")
    origin = parse_origin(value.get("origin"), ContentOrigin.MODEL)
    is_untrusted = origin in UNTRUSTED or kind is SourceKind.URL
    return WikiSource(
        id=source_id,
        title=texts["title"].strip() or texts["url"] or _shorten(texts["text"]),
        text=texts["text"],
        kind=kind,
        url=texts["url"],
        # A web page has no words of the person who names it.
        person=texts["person"] or (default_person if kind is not SourceKind.URL else ""),
        is_held=value.get("hold") is True,
        origin=str(origin if origin in UNTRUSTED else ContentOrigin.WEB) if is_untrusted else "",
    )


def build_source_key(source_id: str) -> str:
    return f"{_KEY_PREFIX}{source_id}"


def build_source_params(
    source: WikiSource,
    namespace: str,
    author: Source = Source(),  # noqa: B008 - a frozen value
) -> StoreParams:
    metadata: dict[str, Json] = {"origin": source.origin} if source.origin else {}
    if source.person:
        metadata["person"] = source.person
    file = {"file_id": source.file_id, "file_digest": source.file_digest} if source.file_id else {}
    return StoreParams(
        namespace,
        build_source_key(source.id),
        value={
            "id": source.id,
            "title": source.title,
            "kind": str(source.kind),
            "url": source.url,
            "text": source.text,
            "digest": source.digest,
            **file,
        },
        metadata=metadata,
        category=SOURCE_CATEGORY,
        source=author,
    )


def is_source(entry: MemoryEntry) -> bool:
    return entry.category == SOURCE_CATEGORY and entry.key.startswith(_KEY_PREFIX)


def read_source(entry: MemoryEntry) -> WikiSource:
    """Return the source in an entry; raise Serialization if it is malformed."""
    try:
        return WikiSource(
            id=entry.value["id"],
            title=entry.value["title"],
            text=entry.value["text"],
            kind=SourceKind(entry.value["kind"]),
            url=entry.value["url"],
            person=str(entry.metadata.get("person", "")),
            origin=get_untrusted_origin(entry.metadata),
            entry_id=entry.id,
            revision=entry.revision,
            updated_at=entry.updated_at,
            run_id=entry.source.run_id,
            file_id=str(entry.value.get("file_id", "")),
            file_digest=str(entry.value.get("file_digest", "")),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise Serialization(f"{entry.key} is not a source: {error!r}.") from None


def find_source(store: NamespaceStore, namespace: str, source_id: str) -> WikiSource | None:
    entries = store.recall(MemoryQuery(namespace, key=build_source_key(source_id)))
    return read_source(entries[0]) if entries and is_source(entries[0]) else None


def list_sources(store: NamespaceStore, namespace: str) -> list[WikiSource]:
    """Return the sources by id. Those in quarantine are not among them."""
    query = MemoryQuery(namespace, filter={"category": SOURCE_CATEGORY}, include_former=True)
    sources = [read_source(entry) for entry in store.recall(query) if is_source(entry)]
    return sorted(sources, key=lambda source: source.id)


def get_digests(sources: Iterable[WikiSource]) -> dict[str, str]:
    return {source.id: source.digest for source in sources}


def find_digests(
    store: NamespaceStore, namespace: str, source_ids: Iterable[str]
) -> list[tuple[str, str]]:
    """Return the ids with the digests of the present texts. Raise InvalidInput for a source that doesn't exist."""
    digests = []
    for source_id in dict.fromkeys(source_ids):
        source = find_source(store, namespace, source_id)
        if source is None:
            raise InvalidInput(f"sources: there is no source {source_id[:100]!r}.")
        digests.append((source_id, source.digest))
    return digests


def _parse_kind(value: Json, url: str) -> SourceKind:
    if not value:
        return SourceKind.URL if url else SourceKind.TEXT
    kinds = [kind for kind in SourceKind if kind is not SourceKind.DOCUMENT]  # those are uploaded
    if value not in kinds:
        raise InvalidInput(f"source.kind: use one of {', '.join(kinds)}.")
    return SourceKind(value)


def _build_id(url: str, text: str) -> str:
    digest = hash_text(url or text)[:12]
    return f"{build_slug(url)[:40]}-{digest}" if url else digest


def _shorten(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= 80 else f"{words[:79].rstrip()}…"


def _get_text(value: Mapping[str, Json], name: str) -> str:
    text = value.get(name)
    if text is None or isinstance(text, str):
        return text or ""
    raise InvalidInput(f"source.{name}: must be a text.")
