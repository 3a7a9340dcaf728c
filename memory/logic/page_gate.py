"""A page before a workflow writes it: no secret in it, no order of a stranger, and what is to be looked at first."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from memory.core.records import Json, StoreParams, Tier
from memory.logic.apart import held_for
from memory.logic.ingress import HELD_FOR, judge
from memory.logic.knowledge import KnowledgeStore
from memory.logic.near import normalised
from memory.logic.origins import STRANGERS, Origin, origin_of
from memory.logic.pages import KnowledgePage, key_of, slug


_TEXTS: Final = ("title", "summary", "content")
_LISTS: Final = ("tags", "aliases")


def judged_page(
    page: KnowledgePage, draft: Mapping[str, Json], otherwise: Origin = Origin.MODEL
) -> tuple[KnowledgePage, Sequence[Json]]:
    """The page without secrets, and why it has to wait, if it has to: {reason, detail} each.

    ``otherwise``: whose words they are where the draft doesn't say.
    """
    said = {name: getattr(page, name) for name in _TEXTS}
    said |= {name: list(getattr(page, name)) for name in _LISTS}
    hold = draft.get("hold") is True
    origin = origin_of(draft.get("origin"))
    judged_as = origin_of(draft.get("origin"), otherwise)
    params = judge(StoreParams("", "", said), judged_as, hold=hold).params
    clean: dict[str, Any] = {
        name: tuple(v) if name in _LISTS else v for name, v in params.value.items()
    }
    whose = str(origin) if origin in STRANGERS else ""
    return replace(page, **clean, origin=whose), params.metadata.get(HELD_FOR, ())


async def page_apart(
    store: KnowledgeStore, page: KnowledgePage, reasons: Sequence[Json]
) -> StoreParams:
    """Approved, it is the page of that title: what stands there by then stays as a revision."""
    title = normalised(page.title)
    twin = next((one for one in await store.pages() if normalised(one.title) == title), None)
    named = replace(page, id=page.id or (twin.id if twin else slug(page.title)))
    params = store.params_of(named)
    metadata = {**params.metadata, HELD_FOR: list(reasons)}
    held = replace(params, tier=Tier.QUARANTINE, metadata=metadata)
    return held_for(key_of(named.id), held)
