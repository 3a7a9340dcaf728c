"""A page before a workflow writes it: no secret in it, no order of a stranger, and what is to be looked at first."""

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
from memory.logic.knowledge.pages import KnowledgePage, key_of, slug


_TEXTS: Final = ("title", "summary", "content")
_LISTS: Final = ("tags", "aliases")
_SECRETS: Final = "redacted"  # in the metadata of what was judged


def judged_page(
    page: KnowledgePage, draft: Mapping[str, Json], otherwise: ContentOrigin = ContentOrigin.MODEL
) -> tuple[KnowledgePage, Sequence[Json]]:
    """The page without secrets, and why it has to wait, if it has to: {reason, detail} each.

    ``otherwise``: whose words they are where the draft doesn't say.
    """
    hold = draft.get("hold") is True
    origin = parse_origin(draft.get("origin"))
    judged_as = parse_origin(draft.get("origin"), otherwise)
    clean, params = _judged(page, judged_as, hold=hold)
    whose = str(origin) if origin in UNTRUSTED else ""
    return replace(clean, origin=whose), params.metadata.get(QUARANTINE_REASONS, ())


@dataclass(frozen=True, slots=True)
class JudgedFile:
    """``secrets``: kinds of what was blotted out; ``reasons`` it has to wait for, {reason, detail} each."""

    page: KnowledgePage
    secrets: tuple[str, ...]
    reasons: Sequence[Json]


def judged_file(data: bytes, *, name: str, now: datetime) -> JudgedFile:
    """A page out of a file, which is a stranger whoever sends it, head and all.

    What passes is the file, byte for byte.
    """
    page = import_page(data, name=name, now=now)
    whole = screen_params(StoreParams("", name, value=data.decode()), ContentOrigin.TOOL).params
    if _SECRETS in whole.metadata:
        page = import_page(whole.value.encode(), name=whole.key, now=now)
    clean, params = _judged(page, ContentOrigin.TOOL)
    if _SECRETS in params.metadata:  # written so that only a reader of heads sees it: not kept
        clean = replace(clean, header=None)
    kinds = (*whole.metadata.get(_SECRETS, ()), *params.metadata.get(_SECRETS, ()))
    reasons = whole.metadata.get(QUARANTINE_REASONS) or params.metadata.get(QUARANTINE_REASONS, ())
    return JudgedFile(clean, tuple(dict.fromkeys(kinds)), reasons)


def page_apart(store: KnowledgeStore, page: KnowledgePage, reasons: Sequence[Json]) -> StoreParams:
    """Approved, it is the page of that title: what stands there by then stays as a revision."""
    title = normalize(page.title)
    twin = next((one for one in store.pages() if normalize(one.title) == title), None)
    named = replace(page, id=page.id or (twin.id if twin else slug(page.title)))
    params = store.params_of(named)
    metadata = {**params.metadata, QUARANTINE_REASONS: list(reasons)}
    held = replace(params, tier=Tier.QUARANTINE, metadata=metadata)
    return hold_entry(key_of(named.id), held)


def _judged(
    page: KnowledgePage, origin: ContentOrigin, *, hold: bool = False
) -> tuple[KnowledgePage, StoreParams]:
    said = {name: getattr(page, name) for name in _TEXTS}
    said |= {name: list(getattr(page, name)) for name in _LISTS}
    params = screen_params(StoreParams("", "", value=said), origin, hold=hold).params
    clean: dict[str, Any] = {
        name: tuple(v) if name in _LISTS else v for name, v in params.value.items()
    }
    return replace(page, **clean), params
