"""The content filter for pages: secrets, untrusted instructions, and drafts to be reviewed first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from memory.core.records import Json, StoreParams, Tier
from memory.logic.entries.duplicates import normalize
from memory.logic.entries.held_entries import hold_entry
from memory.logic.entries.ingress import QUARANTINE_REASONS, screen_params
from memory.logic.entries.origins import UNTRUSTED, ContentOrigin, parse_origin
from memory.logic.knowledge.knowledge_base import KnowledgeStore
from memory.logic.knowledge.page_files import import_page
from memory.logic.knowledge.pages import KnowledgePage, build_page_key, build_slug


_TEXTS: Final = ("title", "summary", "content")
_LISTS: Final = ("tags", "aliases")
_SECRETS: Final = "redacted"  # in the metadata of screened parameters


def screen_page(
    page: KnowledgePage, draft: Mapping[str, Json], default: ContentOrigin = ContentOrigin.MODEL
) -> tuple[KnowledgePage, Sequence[Json]]:
    """Return the page without secrets, and the reasons for a quarantine, {reason, detail} each.

    ``default``: the origin if the draft names none.
    """
    hold = draft.get("hold") is True
    origin = parse_origin(draft.get("origin"))
    screening_origin = parse_origin(draft.get("origin"), default)
    clean, params = _screen_texts(page, screening_origin, hold=hold)
    untrusted_origin = str(origin) if origin in UNTRUSTED else ""
    return replace(clean, origin=untrusted_origin), params.metadata.get(QUARANTINE_REASONS, ())


@dataclass(frozen=True, slots=True)
class ScreenedFile:
    """A page from a file, the kinds of its redacted secrets, and the reasons for a quarantine."""

    page: KnowledgePage
    secrets: tuple[str, ...]
    reasons: Sequence[Json]


def screen_file(data: bytes, *, name: str, now: datetime) -> ScreenedFile:
    """Screen a file, header included. It is untrusted, whether a member or a workflow sends it.

    A file without findings stays unchanged to the byte.
    """
    page = import_page(data, name=name, now=now)
    file_params = screen_params(
        StoreParams("", name, value=data.decode()), ContentOrigin.TOOL
    ).params
    if _SECRETS in file_params.metadata:
        page = import_page(file_params.value.encode(), name=file_params.key, now=now)
    clean, params = _screen_texts(page, ContentOrigin.TOOL)
    if _SECRETS in params.metadata:  # only the header has it: drop the header
        clean = replace(clean, header=None)
    kinds = (*file_params.metadata.get(_SECRETS, ()), *params.metadata.get(_SECRETS, ()))
    reasons = file_params.metadata.get(QUARANTINE_REASONS) or params.metadata.get(
        QUARANTINE_REASONS, ()
    )
    return ScreenedFile(clean, tuple(dict.fromkeys(kinds)), reasons)


def build_quarantined_page(
    store: KnowledgeStore, page: KnowledgePage, reasons: Sequence[Json]
) -> StoreParams:
    """Return the quarantined entry; once approved, it becomes the page of that title."""
    title = normalize(page.title)
    existing = next(
        (candidate for candidate in store.list_pages() if normalize(candidate.title) == title), None
    )
    page_with_id = replace(
        page, id=page.id or (existing.id if existing else build_slug(page.title))
    )
    params = store.build_params(page_with_id)
    metadata = {**params.metadata, QUARANTINE_REASONS: list(reasons)}
    quarantined = replace(params, tier=Tier.QUARANTINE, metadata=metadata)
    return hold_entry(build_page_key(page_with_id.id), quarantined)


def _screen_texts(
    page: KnowledgePage, origin: ContentOrigin, *, hold: bool = False
) -> tuple[KnowledgePage, StoreParams]:
    texts = {name: getattr(page, name) for name in _TEXTS}
    texts |= {name: list(getattr(page, name)) for name in _LISTS}
    params = screen_params(StoreParams("", "", value=texts), origin, hold=hold).params
    clean: dict[str, Any] = {
        name: tuple(v) if name in _LISTS else v for name, v in params.value.items()
    }
    return replace(page, **clean), params
