"""The content filter for pages, which removes secrets and quarantines untrusted instructions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from memory.core.records import Json, StoreParams, Tier
from memory.logic.entries.duplicates import normalize
from memory.logic.entries.held_entries import hold_entry
from memory.logic.entries.ingress import QUARANTINE_REASONS, screen_params
from memory.logic.entries.origins import UNTRUSTED, ContentOrigin, parse_origin
from memory.logic.knowledge.knowledge_base import KnowledgeStore
from memory.logic.knowledge.page_files import import_page
from memory.logic.knowledge.pages import KnowledgePage, build_page_key, build_slug


_TEXT_FIELDS: Final = ("title", "summary", "content")
_LIST_FIELDS: Final = ("tags", "aliases")
_SECRETS: Final = "redacted"  # in the metadata of screened parameters


def screen_page(
    page: KnowledgePage, draft: Mapping[str, Json], default: ContentOrigin = ContentOrigin.MODEL
) -> tuple[KnowledgePage, Sequence[Json]]:
    """Return the page without secrets, and the reasons for a quarantine, {reason, detail} each.

    The draft may name its origin, which is ``default`` otherwise, and ask for a review with ``hold``.
    """
    origin = parse_origin(draft.get("origin"))
    clean, params = _screen_texts(
        page, parse_origin(draft.get("origin"), default), hold=draft.get("hold") is True
    )
    untrusted_origin = str(origin) if origin in UNTRUSTED else ""
    return replace(clean, origin=untrusted_origin), params.metadata.get(QUARANTINE_REASONS, ())


@dataclass(frozen=True, slots=True)
class ScreenedFile:
    """A page from a file, the kinds of its redacted secrets, and the reasons for a quarantine."""

    page: KnowledgePage
    secrets: tuple[str, ...]
    reasons: Sequence[Json]


def screen_file(data: bytes, *, name: str, now: datetime) -> ScreenedFile:
    """Screen an untrusted file with its header. A file without findings is exported unchanged to the byte."""
    page = import_page(data, name=name, now=now)
    params = StoreParams("", name, value=data.decode())
    screened = screen_params(params, ContentOrigin.TOOL).params
    if _SECRETS in screened.metadata:
        page = import_page(screened.value.encode(), name=screened.key, now=now)
    clean, params = _screen_texts(page, ContentOrigin.TOOL)
    if _SECRETS in params.metadata:  # only the header has it: drop the header
        clean = replace(clean, header=None)
    kinds = (*screened.metadata.get(_SECRETS, ()), *params.metadata.get(_SECRETS, ()))
    reasons = params.metadata.get(QUARANTINE_REASONS, ())
    reasons = screened.metadata.get(QUARANTINE_REASONS) or reasons
    return ScreenedFile(clean, tuple(dict.fromkeys(kinds)), reasons)


def build_quarantined_page(
    store: KnowledgeStore, page: KnowledgePage, reasons: Sequence[Json]
) -> StoreParams:
    """Return the parameters of the quarantined entry, which becomes the page of that title once it is approved."""
    title = normalize(page.title)
    same_ids = [other.id for other in store.list_pages() if normalize(other.title) == title]
    page_id = page.id or next(iter(same_ids), build_slug(page.title))
    params = store.build_params(replace(page, id=page_id))
    metadata = {**params.metadata, QUARANTINE_REASONS: list(reasons)}
    quarantined = replace(params, tier=Tier.QUARANTINE, metadata=metadata)
    return hold_entry(build_page_key(page_id), quarantined)


def _screen_texts(
    page: KnowledgePage, origin: ContentOrigin, *, hold: bool = False
) -> tuple[KnowledgePage, StoreParams]:
    texts = {name: getattr(page, name) for name in _TEXT_FIELDS}
    texts |= {name: list(getattr(page, name)) for name in _LIST_FIELDS}
    params = screen_params(StoreParams("", "", value=texts), origin, hold=hold).params
    lists = {name: tuple(params.value[name]) for name in _LIST_FIELDS}
    return replace(page, **{**params.value, **lists}), params
